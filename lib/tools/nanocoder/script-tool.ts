/** A Markdown file's definition as a tool. */
import type { Origin } from "../../session/event.ts";
import type { JsonInput } from "../../session/json.ts";
import { RESULT_CAP_BYTES } from "../ending.ts";
import type { Plan, PlanContext, Tool } from "../tool.ts";
import { checkArguments, completeArguments, toJsonSchema, valuesOf } from "./arguments.ts";
import type { Definition } from "./definition.ts";
import { onDisk, type Places, resolveDirectory } from "./directory.ts";
import { composeEnvironment, expandVariables, inheritedBy } from "./environment.ts";
import { MAX_SCRIPT_BYTES, renderTemplate } from "./render.ts";
import { readRun } from "./result.ts";

export interface ScriptOrigin {
  readonly origin: Origin;
  /** Of the file's bytes. */
  readonly digest: string;
  readonly places?: Places;
}

export function scriptTool(definition: Definition, { origin, digest, places = onDisk }: ScriptOrigin): Tool {
  const { name, description, parameters, read_only, approval } = definition;
  return {
    name,
    description,
    input_schema: toJsonSchema(parameters),
    origin,
    digest,
    read_only,
    speculation_safe: false,
    approval,
    check: (input) => checkArguments(parameters, input),
    complete: (input) => completeArguments(parameters, input),
    plan: (input, context) => planScript(definition, places, input, context),
    read: readRun,
  };
}

function planScript(definition: Definition, places: Places, input: JsonInput, context: PlanContext): Plan {
  const { pieces, parameters, cwd, env, shell, timeout_ms } = definition;
  const script = renderTemplate(pieces, valuesOf(completeArguments(parameters, input)));
  if (script.kind === "refused") return { kind: "unable", problem: script.problem };
  const size = Buffer.byteLength(script.text);
  if (size > MAX_SCRIPT_BYTES) {
    return {
      kind: "unable",
      problem: `Custom tool failed to start: its script has ${size} bytes with these values, and may have ${MAX_SCRIPT_BYTES}`,
    };
  }
  const folder = cwd === null ? null : expandVariables(cwd, inheritedBy(context.env));
  const directory = resolveDirectory(folder, context.workspace, places);
  if (directory.kind === "refused") return { kind: "unable", problem: directory.problem };
  return {
    kind: "launch",
    launch: {
      kind: "process",
      argv: [`/bin/${shell}`, "-c", script.text],
      cwd: directory.path,
      env: composeEnvironment(context.env, env),
      stdin: null,
      timeout_ms,
      cap_bytes: RESULT_CAP_BYTES,
    },
  };
}
