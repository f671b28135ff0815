/** Whether processes can be started and ended as promised: one call of a harmless built-in, by the way every call goes. */
import process from "node:process";
import { createSupervisor } from "../../supervisor/supervisor.ts";
import { newCallId, newRuntimeId } from "../ids.ts";
import type { Finding } from "./finding.ts";

const CALL_MS = 20_000;

export async function checkWorker(workspace: string): Promise<readonly Finding[]> {
  const supervisor = createSupervisor({ runtime: newRuntimeId() });
  try {
    const { outcome, problem, duration_ms } = await supervisor.run({
      session: "ses_doctor",
      call: newCallId(),
      launch: { kind: "host", tool: "get_environment", input: "{}", context: { workspace, env: {} }, timeout_ms: CALL_MS },
      signal: new AbortController().signal,
    });
    if (outcome.kind !== "returned") {
      const text = `A built-in tool does not run: ${problem ?? JSON.stringify(outcome)}`;
      const remedy =
        "Look at the limits for this user (ulimit -a), at free memory, and whether this executable may be started from where it is";
      return [{ check: "worker", level: "error", text, remedy }];
    }
    return [
      { check: "worker", level: "ok", text: `The worker runs tools: a first call took ${Math.round(duration_ms)} ms` },
      ...supervisor.unpromised().map((text): Finding => ({ check: "worker", level: "warning", text, remedy: remedyFor() })),
    ];
  } finally {
    await supervisor.close();
  }
}

function remedyFor(): string {
  return process.pid === 1
    ? "Start the container with an init of its own (docker run --init)"
    : "Run it in a container, which is a boundary that holds; guarantees.md among the documents says what is promised where";
}
