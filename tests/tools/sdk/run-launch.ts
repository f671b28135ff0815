/** Carries out a process launch in the plainest way, so that these tests are about the SDK and not about the supervisor. */
import { Buffer } from "node:buffer";
import { spawn } from "node:child_process";
import { join } from "node:path";
import process from "node:process";
import { cutBytes } from "../../../lib/session/excerpt.ts";
import * as v from "valibot";
import { readMessageLine } from "../../../lib/supervisor/messages.ts";
import { toInput } from "../../../lib/session/json.ts";
import type { JsonObject } from "../../../lib/session/json.ts";
import type { Captured, Launch, Run } from "../../../lib/session/launch.ts";
import type { Place } from "../../../lib/tools/sdk/language.ts";
import { python } from "../../../lib/tools/sdk/python-tool.ts";
import type { ReadResult } from "../../../lib/tools/tool.ts";
import { WireMessage } from "../../../lib/tools/sdk/wire.ts";

export const fixtures = join(import.meta.dirname, "../../fixtures/sdk");

/** A place where the fakes of the fixtures can be imported. */
export function placeOf(env: Readonly<Record<string, string>> = {}): Place {
  const { PATH = "", HOME = "/" } = process.env;
  return { workspace: fixtures, env: { PATH, HOME, PYTHONPATH: join(fixtures, "fakes"), PYTHONDONTWRITEBYTECODE: "1", ...env } };
}

export async function runLaunch(launch: Launch): Promise<Run> {
  if (launch.kind !== "process") throw new TypeError("Cannot run a host launch here");
  const [program = "", ...args] = launch.argv;
  const began = performance.now();
  const child = spawn(program, args, { cwd: launch.cwd, env: { ...launch.env }, stdio: "pipe" });
  const output = { stdout: [] as Buffer[], stderr: [] as Buffer[] };
  child.stdout.on("data", (chunk: Buffer) => output.stdout.push(chunk));
  child.stderr.on("data", (chunk: Buffer) => output.stderr.push(chunk));
  child.stdin.on("error", () => {}); // It may end without reading.
  child.stdin.end(launch.stdin ?? "");
  let late = false;
  const timer = setTimeout(() => {
    late = true;
    child.kill("SIGKILL");
  }, launch.timeout_ms);
  const { promise, resolve } = Promise.withResolvers<Run["outcome"]>();
  child.on("error", () => resolve({ kind: "not_started", reason: "cannot_start" }));
  child.on("close", (code, signal) => {
    if (late) resolve({ kind: "timed_out", after_ms: launch.timeout_ms });
    else resolve(code === null ? { kind: "signalled", signal: String(signal) } : { kind: "exited", code });
  });
  const outcome = await promise;
  clearTimeout(timer);
  const captured = (chunks: readonly Buffer[]): Captured => {
    const bytes = Buffer.concat([...chunks]);
    return cutBytes(bytes, bytes, bytes.length, launch.cap_bytes);
  };
  return { outcome, stdout: captured(output.stdout), stderr: captured(output.stderr), duration_ms: performance.now() - began, reaped: [] };
}

export interface PythonCall extends ReadResult {
  readonly run: Run;
  readonly messages: readonly WireMessage[];
}

/** Calls a tool of a Python fixture. */
export function callPython(
  file: string,
  name: string,
  input: JsonObject | string,
  env: Readonly<Record<string, string>> = {},
  timeout_ms = 30_000,
): Promise<PythonCall> {
  return callPythonAt(join(fixtures, file), name, input, env, timeout_ms);
}

export async function callPythonAt(
  path: string,
  name: string,
  input: JsonObject | string,
  env: Readonly<Record<string, string>> = {},
  timeout_ms = 30_000,
): Promise<PythonCall> {
  const description = {
    name,
    description: "",
    parameters: {},
    read_only: false,
    speculation_safe: false,
    approval: "never",
    timeout_ms,
  } as const;
  const given = typeof input === "string" ? { value: {}, text: input } : toInput(input);
  const run = await runLaunch(python.call(path, description, given, placeOf(env)));
  const said = run.stdout.text.split("\n").map(readMessageLine).filter((message) => v.is(WireMessage, message));
  return { ...python.read(name, run), run, messages: said };
}
