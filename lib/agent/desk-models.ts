/** Which models clients may name: those of providers. What is a file here is played only where whoever opened the runtime named it. */
import { checkPlainName, ModelConfigError, parseModelName } from "../model/providers.ts";
import type { Agent } from "./agent.ts";
import { DeskRefusal } from "./desk-refusal.ts";

/** The answer is the same whatever is in a file, and whether there is one. @throws {DeskRefusal} @throws {ConfigError} */
export async function checkModelName(agent: Agent, name: string, workspace: string): Promise<void> {
  try {
    checkPlainName(name);
  } catch (error) {
    throw toModelRefusal(error);
  }
  if (namesProvider(name)) return;
  const { policy } = await agent.workshop(workspace);
  if (policy.configuration.plain.model?.value === name) return;
  throw unacceptable(`Cannot use model "${name}" here: name one as PROVIDER/MODEL, of a provider that is known`);
}

/** What is wrong with a model, as what is wrong with the client's choice of it. */
export function toModelRefusal(error: unknown): unknown {
  return error instanceof ModelConfigError ? unacceptable(error.message, error) : error;
}

function namesProvider(model: string): boolean {
  try {
    return parseModelName(model).kind === "endpoint";
  } catch (error) {
    if (error instanceof ModelConfigError) return false;
    throw error;
  }
}

function unacceptable(message: string, cause?: ModelConfigError): DeskRefusal {
  return new DeskRefusal("unacceptable", message, { field: "model", cause });
}
