/** TypeScript and JavaScript tool files, as seen from outside the process that loads them (`module.ts` is inside). */
import * as v from "valibot";
import type { HostLaunch, HostModule, Run } from "../../session/launch.ts";
import type { ReadResult } from "../tool.ts";
import { broken, type Description, parseDescription, remedyFor, SentDiagnostic, SPELLING } from "./description.ts";
import type { Language, Place } from "./language.ts";
import { readUnanswered } from "./unanswered.ts";

export const typescript: Language = {
  name: "typescript",
  extensions: [".ts", ".js"],
  sdk: "orrery",
  program: null,
  describe: (file, place, timeout_ms) => launch({ file, ask: "describe" }, "", "{}", place, timeout_ms),
  readDescription,
  call: (file, tool, input, place) => launch({ file, ask: "call" }, tool.name, input.text, place, tool.timeout_ms),
  read,
};

function launch(module: HostModule, tool: string, input: string, { workspace, env }: Place, timeout_ms: number): HostLaunch {
  return { kind: "host", tool, module, input, context: { workspace, env }, timeout_ms };
}

const notices = v.pipe(v.array(SentDiagnostic), v.readonly());
const SentDescription = v.variant("kind", [
  v.object({ kind: v.literal("described"), tools: v.unknown(), notices }),
  v.object({
    kind: v.literal("broken"),
    names: v.array(v.string()),
    diagnostics: notices,
  }),
]);

function readDescription(run: Run): Description {
  const sent = v.safeParse(SentDescription, run.reply?.data);
  if (!sent.success) {
    return broken("describe_failed", `The file's tools could not be read: ${read("it", run).result.text}`, remedyFor(run.outcome));
  }
  return sent.output.kind === "broken" ? sent.output : parseDescription(sent.output.tools, SPELLING, sent.output.notices);
}

function read(tool: string, run: Run): ReadResult {
  if (run.outcome.kind !== "returned" || run.reply === undefined) return readUnanswered(tool, run);
  const { is_error, text, data, whole_bytes } = run.reply;
  return {
    result: { is_error, text, ...(data === undefined ? {} : { data }) },
    ...(whole_bytes === undefined ? {} : { truncated: { stdout_bytes: whole_bytes, stderr_bytes: 0 } }),
  };
}
