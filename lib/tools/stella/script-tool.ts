/** A Stella manifest as a tool. */
import { resolve } from "node:path";
import { sha256 } from "../../platform/digest.ts";
import type { Origin } from "../../session/event.ts";
import { type Json, type JsonInput, MAX_DEPTH, MAX_VALUES } from "../../session/json.ts";
import { JsonFault, readDocument } from "../../session/json-reader.ts";
import type { Run } from "../../session/launch.ts";
import { capped, readFailure, RESULT_CAP_BYTES, truncation } from "../ending.ts";
import type { Plan, PlanContext, ReadResult, Tool } from "../tool.ts";
import { composeEnvironment } from "./environment.ts";
import type { Manifest } from "./manifest.ts";

/** A result that must be JSON is parsed whole, so more of it is kept than a model gets. */
const WHOLE_BYTES = 8 * 1024 * 1024;

export interface ScriptOrigin {
  readonly origin: Origin;
  /** Of the manifest's bytes. */
  readonly digest: string;
  /** Where a bare program name was found in the workspace root, if it is not on the PATH. */
  readonly bareProgram: string | null;
}

export function scriptTool(manifest: Manifest, { origin, digest, bareProgram }: ScriptOrigin): Tool {
  const { name, description, read_only, speculation_safe, approval } = manifest;
  return {
    name,
    description,
    input_schema: manifest.input.declared,
    origin,
    digest,
    read_only,
    speculation_safe,
    approval,
    check: ({ value, text }) => manifest.input.check(value, text),
    plan: (input, context) => planScript(manifest, bareProgram, input, context),
    read: (run, input) => readScript(manifest, run, input),
  };
}

function planScript(manifest: Manifest, bareProgram: string | null, input: JsonInput, context: PlanContext): Plan {
  const [program, ...rest] = manifest.command;
  const isPath = program.includes("/");
  const resolved = isPath ? resolve(context.workspace, program) : bareProgram ?? program;
  const { env, exports } = composeEnvironment(context.env, manifest.env, input.text);
  return {
    kind: "launch",
    launch: {
      kind: "process",
      argv: [resolved, ...rest],
      cwd: context.workspace,
      env,
      stdin: input.text,
      timeout_ms: manifest.timeout_ms,
      cap_bytes: RESULT_CAP_BYTES,
      ...(manifest.output === null ? {} : { whole_bytes: WHOLE_BYTES }),
    },
    program: resolved,
    exports_made: Object.keys(exports.made),
    ...(exports.withheld.length === 0 ? {} : { exports_withheld: exports.withheld }),
  };
}

function readScript(manifest: Manifest, run: Run, input: JsonInput): ReadResult {
  if (run.outcome.kind !== "exited" || run.outcome.code !== 0) return readFailure(manifest.name, run);
  if (manifest.output !== null) return readPromise(manifest, run);
  if (run.stdout.bytes === 0) {
    // The digest lets different silent calls be told from one call that is repeated without end.
    const digest = `input ${sha256(input.text).slice(0, 8)}`;
    const aside = run.stderr.bytes === 0 ? "" : " What it printed to standard error is not part of a result.";
    const text = `${manifest.name} succeeded (exit code 0) and printed nothing to standard output (${digest}).${aside}`;
    return { result: { is_error: false, text, empty: true }, ...truncation(run) };
  }
  return { result: { is_error: false, text: capped(run.stdout) }, ...truncation(run) };
}

/** With an `[output_schema]`, what is printed must keep it. */
function readPromise(manifest: Manifest, run: Run): ReadResult {
  const broken = (problem: string): ReadResult => {
    const printed = run.stdout.text === "" ? "" : `\n[stdout]\n${capped(run.stdout)}`;
    return { result: { is_error: true, text: `${manifest.name} broke its output_schema:${problem}${printed}` }, ...truncation(run) };
  };
  if (run.stdout.cut) return broken(` it printed ${run.stdout.bytes} bytes, and a result may have ${WHOLE_BYTES}.`);
  let data: Json;
  let exact = true;
  try {
    const number = (token: string) => {
      exact &&= isExact(token);
      return Number(token);
    };
    data = readDocument(run.stdout.text.trim(), { mostDepth: MAX_DEPTH, mostValues: MAX_VALUES, number, uniqueKeys: true }).value as Json;
  } catch (error) {
    if (!(error instanceof JsonFault)) throw error;
    const problem = error.beyondLimits ? "what it printed is" : "it did not print one JSON value:";
    return broken(` ${problem} ${error.message}.`);
  }
  const violations = manifest.output?.check(data, run.stdout.text) ?? [];
  if (violations.length > 0) {
    return broken(violations.map(({ pointer, message }) => `\n- ${pointer === "" ? "(result)" : pointer}: ${message}`).join(""));
  }
  // A number that would come out as another one is in the text only.
  return { result: { is_error: false, text: capped(run.stdout), ...(exact ? { data } : {}) }, ...truncation(run) };
}

/** Whether an integer survives as a number of JavaScript; of a fraction nobody expects more than its nearest double. */
function isExact(token: string): boolean {
  const value = Number(token);
  return Number.isSafeInteger(value) || (Number.isFinite(value) && /[.eE]/.test(token));
}
