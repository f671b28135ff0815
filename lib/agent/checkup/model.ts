/** Whether there is a model to ask, and whether its endpoint answers. */
import type { Environment } from "../../config/paths.ts";
import { checkEndpoint, type EndpointCheck } from "../../model/endpoint-check.ts";
import { defaultModelName, ModelConfigError } from "../../model/providers.ts";
import { calledName } from "../../platform/called.ts";
import type { AgentOptions } from "../options.ts";
import type { Workshop } from "../workshop.ts";
import type { Finding } from "./finding.ts";

export async function checkModel(options: AgentOptions, env: Environment, workshop: Workshop | null): Promise<readonly Finding[]> {
  const plain = workshop?.policy.configuration.plain;
  const base_url = options.baseUrl ?? (options.model === undefined ? plain?.base_url?.value : undefined);
  try {
    const name = options.model ?? plain?.model?.value ?? defaultModelName(env);
    const endpoint = await checkEndpoint({ name, env, ...(base_url === undefined ? {} : { baseUrl: base_url }) });
    return [describe(name, endpoint)];
  } catch (error) {
    if (!(error instanceof ModelConfigError)) throw error;
    return [{ check: "model", level: "error", text: error.message, remedy: REMEDIES[error.about] }];
  }
}

const REMEDIES: Readonly<Record<ModelConfigError["about"], string>> = {
  name: `Set the key of one provider, or name a model with --model or in the settings (${calledName()} config shows them)`,
  key: "Set that variable to the key as the provider gave it, or name another model with --model",
  base_url: `Give the right one with --base-url, or as base_url in the settings (${calledName()} config shows where it is set)`,
  script: "Correct or replace that file (models.md among the documents says what stands in it), or name another model with --model",
};

function describe(name: string, endpoint: EndpointCheck): Finding {
  switch (endpoint.kind) {
    case "script":
      return { check: "model", level: "ok", text: `${name} can be played` };
    case "answered":
      if (endpoint.listed === false) {
        const text = `${name}: ${endpoint.url} answers, but does not list this model`;
        return {
          check: "model",
          level: "warning",
          text,
          remedy: "Check the name: what stands behind the first slash must be one of those it lists",
        };
      }
      return { check: "model", level: "ok", text: `${name}: ${endpoint.url} answers` };
    case "refused": {
      const remedy = `Put a valid key into ${endpoint.key_variable}`;
      return { check: "model", level: "error", text: `${name}: ${endpoint.url} refuses the key (${endpoint.status})`, remedy };
    }
    case "unclear": {
      const text = `${name}: ${endpoint.url} answers with ${endpoint.status}: whether it takes the key is not known`;
      return { check: "model", level: "note", text, remedy: `Ask it something: ${calledName()} run --model ${name} "hello"` };
    }
    case "unreachable": {
      const remedy = "Check the network, the base URL, and whether the server runs";
      return { check: "model", level: "error", text: `${name}: ${endpoint.url} cannot be reached: ${endpoint.words}`, remedy };
    }
  }
}
