/** Carries out launches of TypeScript tool files with a host in small, in a process of its own on the host we run on. */
import { spawn } from "node:child_process";
import { join } from "node:path";
import process from "node:process";
import { denoModules } from "../../../lib/platform/self.ts";
import { type JsonObject, toInput } from "../../../lib/session/json.ts";
import { type HostReply, type Launch, NOTHING_CAPTURED, type Run } from "../../../lib/session/launch.ts";
import type { Description } from "../../../lib/tools/sdk/description.ts";
import type { Place } from "../../../lib/tools/sdk/language.ts";
import { typescript } from "../../../lib/tools/sdk/module-tool.ts";
import type { WireMessage } from "../../../lib/tools/sdk/wire.ts";
import type { ReadResult } from "../../../lib/tools/tool.ts";
import { fixtures } from "./run-launch.ts";

export async function describeModuleFile(file: string, place: Place): Promise<Description> {
  return typescript.readDescription((await host(typescript.describe(file, place, 20_000))).run);
}

export interface ModuleCall extends ReadResult {
  readonly messages: readonly WireMessage[];
}

export async function callModule(file: string, name: string, input: JsonObject, place: Place): Promise<ModuleCall> {
  const description = {
    name,
    description: "",
    parameters: {},
    read_only: false,
    speculation_safe: false,
    approval: "never",
    timeout_ms: 20_000,
  } as const;
  const { run, messages } = await host(typescript.call(file, description, toInput(input), place));
  return { ...typescript.read(name, run), messages };
}

async function host(launch: Launch): Promise<{ readonly run: Run; readonly messages: readonly WireMessage[] }> {
  if (launch.kind !== "host") throw new TypeError("Cannot run a process launch here");
  const { module, tool, input, context } = launch;
  const lines = await converse(JSON.stringify({ module, tool, input: JSON.parse(input), context }));
  const spoken = lines.map((line) => JSON.parse(line) as { readonly message?: WireMessage; readonly reply?: HostReply });
  const reply = spoken.at(-1)?.reply;
  if (reply === undefined) throw new Error(`The host gave no reply: ${lines.join("\n")}`);
  const run: Run = { outcome: { kind: "returned" }, stdout: NOTHING_CAPTURED, stderr: NOTHING_CAPTURED, reply, duration_ms: 1, reaped: [] };
  return { run, messages: spoken.flatMap(({ message }) => message === undefined ? [] : [message]) };
}

async function converse(request: string): Promise<readonly string[]> {
  const program = join(fixtures, "module-host.ts");
  const deno = ["run", "-A", "--no-check", ...denoModules(true), program];
  const { HOME = "/", DENO_DIR, XDG_CACHE_HOME } = process.env;
  const env = {
    PATH: process.env["PATH"] ?? "",
    HOME,
    LEFT_OVER: "1",
    ...(DENO_DIR === undefined ? {} : { DENO_DIR }),
    ...(XDG_CACHE_HOME === undefined ? {} : { XDG_CACHE_HOME }),
  };
  const child = spawn(process.execPath, "Deno" in globalThis ? deno : ["--no-install", program], { cwd: "/", env, stdio: "pipe" });
  let stdout = "";
  let stderr = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => stdout += text);
  child.stderr.setEncoding("utf8").on("data", (text: string) => stderr += text);
  child.stdin.end(request);
  const { promise, resolve } = Promise.withResolvers<void>();
  child.on("close", () => resolve());
  await promise;
  if (stdout === "") throw new Error(`The host said nothing: ${stderr}`);
  return stdout.trimEnd().split("\n");
}
