/**
 * Tools of a program that embeds Orrery. One that is exported by a module is called like a tool file: in a process of its
 * own. A closure can only run where it is, and says so by `inProcess`: such a call is recorded, gated and timed like any
 * other, but nothing can end it (promises P4 and P5 are not given for it).
 */
import { fileURLToPath } from "node:url";
import type { Origin } from "../../session/event.ts";
import type { JsonInput } from "../../session/json.ts";
import { type HostReply, NOTHING_CAPTURED, type Run } from "../../session/launch.ts";
import { sha256 } from "../../platform/digest.ts";
import { hasErrors } from "../diagnostic.ts";
import type { Plan, ReadResult, Tool } from "../tool.ts";
import type { Candidate } from "../toolbox.ts";
import { compileTool } from "./compile-tool.ts";
import { type Tool as SdkTool, toolNamed } from "./define.ts";
import { describeTool } from "./describe-tool.ts";
import { parseDescription, SPELLING, type ToolDescription } from "./description.ts";
import { invokeTool } from "./invoke.ts";
import { typescript } from "./module-tool.ts";
import { speaker } from "./speaker.ts";
import { toToolContext } from "./tool-context.ts";
import type { WireMessage } from "./wire.ts";

/** @throws {TypeError} if the tool cannot be offered. */
export function describeEmbedded(tool: SdkTool): ToolDescription {
  const refuse = (problem: string) => new TypeError(`Cannot register ${toolNamed(tool.name)} as ${problem}`);
  if (!tool.inProcess && tool.module === undefined) {
    throw refuse(
      "it is neither exported by a module nor runs in this process: give it module: import.meta.url if importing that file is harmless, " +
        "else inProcess: true",
    );
  }
  if (tool.inProcess && tool.module !== undefined) throw refuse("it has both module and inProcess: leave one of them out");
  if (tool.module !== undefined && !tool.module.startsWith("file:")) {
    throw refuse(`its module is "${tool.module}", and only a file can be loaded in another process: give it inProcess: true`);
  }
  const parsed = parseDescription([describeTool(tool)], SPELLING);
  const [description] = parsed.kind === "described" ? parsed.tools : [];
  if (description !== undefined) return description;
  throw refuse(parsed.kind === "broken" ? parsed.diagnostics.map(({ message }) => message).join("; ") : "it has no description");
}

/** In order. @throws {TypeError} if one cannot be offered, or two have one name. */
export async function embedTools(tools: readonly SdkTool[]): Promise<readonly Candidate[]> {
  const candidates = await Promise.all(tools.map(embedTool));
  const twin = tools.find(({ name }, index) => tools.findIndex((other) => other.name === name) < index);
  if (twin !== undefined) throw new TypeError(`Cannot register two tools named "${twin.name}": give one of them another name`);
  return candidates;
}

async function embedTool(tool: SdkTool): Promise<Candidate> {
  const description = describeEmbedded(tool);
  const path = tool.module === undefined ? undefined : fileURLToPath(tool.module);
  const origin: Origin = { system: "sdk", scope: "session", ...(path === undefined ? {} : { path }) };
  const { schema, diagnostics } = await compileTool(description);
  if (schema === undefined || hasErrors(diagnostics)) {
    throw new TypeError(`Cannot register the tool "${tool.name}": ${diagnostics.map(({ message }) => message).join("; ")}`);
  }
  const { name, read_only, speculation_safe, approval } = description;
  const embedded: Tool = {
    name,
    description: description.description,
    input_schema: schema.declared,
    origin,
    digest: sha256(JSON.stringify(description)),
    read_only,
    speculation_safe,
    approval,
    ...(path === undefined ? { in_process: true } : {}),
    check: ({ value, text }) => schema.check(value, text),
    plan: (input, context): Plan =>
      path === undefined
        ? {
          kind: "remote",
          worker: "in-process",
          call: (now, _stop, tell) => callInProcess(tool, description.timeout_ms, input, now, tell),
        }
        : { kind: "launch", launch: typescript.call(path, description, input, context), program: path },
    read: (run) => path === undefined ? readInProcess(name, run) : typescript.read(name, run),
  };
  return { kind: "tool", tool: embedded, family: "other" };
}

/** Of a call that nothing can end, the model must not believe that it was ended. */
function readInProcess(name: string, run: Run): ReadResult {
  const { outcome } = run;
  if (outcome.kind !== "timed_out" && outcome.kind !== "cancelled") return typescript.read(name, run);
  const what = outcome.kind === "timed_out" ? `timed out after ${outcome.after_ms} ms` : "was cancelled";
  const text = `${name} ${what} and was told to stop. It runs inside the program that offers it, so nothing could end it: ` +
    "it may still be at work, and may yet take effect.";
  return { result: { is_error: true, text } };
}

/** Never rejects. What goes on after its deadline, or after it was cancelled, is nobody's any more. */
async function callInProcess(
  tool: SdkTool,
  timeout_ms: number,
  { value }: JsonInput,
  now: AbortSignal,
  tell: ((message: WireMessage) => void) | undefined,
): Promise<Run> {
  const began = performance.now();
  const toRun = (end: Pick<Run, "outcome" | "reply">): Run => ({
    ...end,
    stdout: NOTHING_CAPTURED,
    stderr: NOTHING_CAPTURED,
    duration_ms: performance.now() - began,
    reaped: [],
  });
  if (now.aborted) return toRun({ outcome: { kind: "not_started", reason: "cancelled" } });
  const stop = new AbortController();
  const { promise, resolve } = Promise.withResolvers<Pick<Run, "outcome" | "reply">>();
  const end = (outcome: Run["outcome"], reply?: HostReply) => resolve({ outcome, ...(reply === undefined ? {} : { reply }) });
  const timer = setTimeout(() => end({ kind: "timed_out", after_ms: timeout_ms }), timeout_ms);
  const cancel = () => end({ kind: "cancelled" });
  now.addEventListener("abort", cancel, { once: true });
  const send = (message: WireMessage) => tell?.(message);
  const context = toToolContext(stop, send);
  void speaker.run({ say: send }, () => invokeTool(tool, value, context, (stack) => console.error(stack)))
    .then((reply) => end({ kind: "returned" }, reply));
  const ending = await promise;
  clearTimeout(timer);
  now.removeEventListener("abort", cancel);
  stop.abort();
  return toRun(ending);
}
