/** [main thread] The built-ins as tools. */
import { sha256 } from "../../platform/digest.ts";
import type { Run } from "../../session/launch.ts";
import { illFormedPlaces } from "../../session/well-formed.ts";
import { capped, readFailure, section, truncation } from "../ending.ts";
import { lazyOwnSchema } from "../own-schema.ts";
import type { ChildBrief, Plan, PlanContext, ReadResult, Tool, Violation } from "../tool.ts";
import type { JsonInput } from "../../session/json.ts";
import { CATALOG, type CatalogRow } from "./catalog.ts";
import type { BuiltinDefinition } from "./definition.ts";

/** A file tool that takes longer than this is stuck in the file system. */
const HOST_TIMEOUT_MS = 60_000;

/** Every built-in that exists. */
export function builtinTools(): readonly Tool[] {
  return CATALOG.flatMap((row) => row.definition === undefined ? [] : [toTool(row, row.definition)]);
}

function toTool(row: CatalogRow, definition: BuiltinDefinition): Tool {
  const schema = lazyOwnSchema(definition.input_schema);
  const { name, read_only, speculation_safe, approval } = row;
  return {
    name,
    description: definition.description,
    input_schema: schema.declared,
    origin: { system: "builtin", scope: "builtin" },
    digest: sha256(JSON.stringify([name, definition.description, definition.input_schema])),
    read_only,
    speculation_safe,
    approval,
    check: (input) => [...schema.check(input.value, input.text), ...halfCharacters(input)],
    plan: (input, context) => {
      if (definition.kind === "process") return { kind: "launch", launch: definition.plan(input, context) };
      const brief = definition.kind === "child" ? definition.brief(input.value, context) : null;
      if (definition.kind === "child" && brief !== null) return planChild(name, definition, brief, input, context);
      const { workspace, env, state, secret_files } = context;
      const needed = Object.fromEntries((definition.needs ?? []).map((projection) => [projection, state[projection]]));
      return {
        kind: "launch",
        launch: {
          kind: "host",
          tool: name,
          input: input.text,
          context: { workspace, env, state: needed, ...(secret_files === undefined ? {} : { secret_files }) },
          timeout_ms: HOST_TIMEOUT_MS,
        },
      };
    },
    read: (run) => definition.kind === "process" ? readProcess(name, run) : readReply(name, run),
  };
}

/** Whatever a built-in is given goes to the system as UTF-8, which would silently be another text than the one allowed. */
function halfCharacters({ value, text }: JsonInput): readonly Violation[] {
  return illFormedPlaces(text, value).map(({ pointer, what }) => ({
    pointer,
    message: `This ${what} has half of a surrogate pair, which UTF-8 cannot hold; write the whole character`,
  }));
}

type ChildDefinition = Extract<BuiltinDefinition, { kind: "child" }>;

function planChild(name: string, definition: ChildDefinition, brief: ChildBrief, input: JsonInput, context: PlanContext): Plan {
  const { children } = context;
  if (children === undefined) {
    return { kind: "unable", problem: `${name} was not run: a session that works for another cannot hand work on.` };
  }
  return {
    kind: "remote",
    worker: "child",
    call: async (now, stop = now) => {
      const { run, session } = await children.run(brief, now, stop);
      if (run.reply === undefined || session === null) return run;
      const changes = definition.conclude?.(input.value, context, session) ?? [];
      return { ...run, reply: { ...run.reply, data: { session }, ...(changes.length === 0 ? {} : { changes }) } };
    },
  };
}

function readReply(name: string, run: Run): ReadResult {
  if (run.outcome.kind !== "returned" || run.reply === undefined) return readFailure(name, run);
  const { is_error, text, data, changes } = run.reply;
  return { result: { is_error, text, ...(data === undefined ? {} : { data }) }, ...(changes === undefined ? {} : { changes }) };
}

/** Unlike a script's, a command's stderr is always shown: compilers warn there, and a failure often has half of its reason on each. */
function readProcess(name: string, run: Run): ReadResult {
  if (run.outcome.kind !== "exited") return readFailure(name, run);
  const { code } = run.outcome;
  const stdout = capped(run.stdout);
  const stderr = section("stderr", capped(run.stderr));
  const quiet = stdout === "" && stderr === "";
  if (code !== 0) {
    const head = `${name} failed with exit code ${code}.${quiet ? " It printed nothing." : ""}`;
    const text = [head, section("stdout", stdout), stderr].filter((part) => part !== "").join("\n");
    return { result: { is_error: true, text }, ...truncation(run) };
  }
  if (quiet) return { result: { is_error: false, text: "The command succeeded (exit code 0) and printed nothing.", empty: true } };
  return { result: { is_error: false, text: [stdout, stderr].filter((part) => part !== "").join("\n") }, ...truncation(run) };
}
