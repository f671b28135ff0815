/** An early run whose call ends in another way than by taking it over: it is ended there and then, before anything may change. */
import { describe, expect, test } from "bun:test";
import { appendFileSync } from "node:fs";
import type { AgentOptions } from "../../lib/agent/options.ts";
import type { Session } from "../../lib/agent/session.ts";
import type { SessionEvent } from "../../lib/session/event.ts";
import { chatReply } from "../fixtures/endpoint.ts";
import { callChunks, EarlyGround, END } from "./early-ground.ts";

const ground = new EarlyGround();
const SAFE = "read_only = true\nspeculation_safe = true";

const SLOW_TYPESCRIPT = `import { tool } from "orrery";
import * as v from "valibot";

export const slow = tool({
  name: "slow",
  description: "Slow.",
  read_only: true,
  speculation_safe: true,
  parameters: v.object({ n: v.optional(v.number()) }),
  execute: () => new Promise((resolve) => setTimeout(resolve, 60_000)),
});
`;
const SLOW_PYTHON = `import time
from stella_sdk import tool

@tool(read_only=True, speculation_safe=True)
def slow(n: int = 0) -> dict:
    """Slow."""
    time.sleep(60)
    return {}
`;

/** What became of the early run, and of the call that changes something, in the order of the log. */
function story(events: readonly SessionEvent[]): readonly string[] {
  return events.flatMap((event) => {
    if (event.type === "speculation_ended") return ["early run ended"];
    if (event.type === "speculation_discarded") return [["discarded", event.reason, event.cause ?? []].flat().join(" ")];
    return event.type === "call_started" ? [`${event.name} started`] : [];
  });
}

/** Asks for a slow read and for a change behind it; while the read runs early, `meanwhile` happens. */
async function play(meanwhile: (session: Session) => unknown, options: Partial<AgentOptions> = {}): Promise<readonly SessionEvent[]> {
  const { events } = await ground.playHeld(
    (told) => told.type === "speculation_spawned",
    (held) => [{ steps: [callChunks(["slow", {}], ["add", { n: 1 }]), held, END] }, chatReply({ text: "done" })],
    meanwhile,
    options,
  );
  return events;
}

describe("an early run whose call is not run is gone before a change starts", () => {
  const script = "trap '' TERM; while :; do sleep 0.05; done";

  test("if a person refuses it, as the mode has changed since", async () => {
    await ground.workspace.tool("slow", script, `${SAFE}\napproval = "destructive"`);
    const events = await play((session) => session.changeMode("normal", "test"), {
      mode: "auto-accept",
      approver: () => Promise.resolve({ decision: "deny", by: "test" }),
    });
    expect(story(events)).toEqual(["early run ended", "discarded cancelled refused", "add started"]);
    expect(ground.runsOf("added")).toBe(1);
  }, 30_000);

  test("if nobody can be asked, as the mode has changed since", async () => {
    await ground.workspace.tool("slow", script, `${SAFE}\napproval = "destructive"`);
    const events = await play((session) => session.changeMode("normal", "test"), { mode: "auto-accept" });
    expect(story(events)).toEqual(["early run ended", "discarded cancelled refused", "add started"]);
  }, 30_000);

  for (const [file, source] of Object.entries({ "slow.ts": SLOW_TYPESCRIPT, "slow.py": SLOW_PYTHON })) {
    test(`if the file of its tool (${file}) has changed since`, async () => {
      const path = await ground.workspace.write(`.orrery/tools/${file}`, source);
      const events = await play(() => appendFileSync(path, "\n"));
      expect(story(events)).toEqual(["early run ended", "discarded stale", "add started"]);
    }, 30_000);
  }
});

test("refused reads hold no place that another read waits for", async () => {
  await ground.workspace.tool("slow", "trap '' TERM; while :; do sleep 0.05; done", `${SAFE}\napproval = "destructive"`);
  let left = 8;
  const slow = Array.from({ length: 8 }, (_none, n) => ["slow", { n }] as const);
  const { events } = await ground.playHeld(
    (told) => told.type === "speculation_spawned" && --left === 0,
    (held) => [{ steps: [callChunks(...slow, ["look", { n: 1 }]), held, END] }, chatReply({ text: "done" })],
    (session) => session.changeMode("normal", "test"),
    { mode: "auto-accept" },
  );
  expect(story(events).filter((line) => line.startsWith("discarded"))).toEqual(
    Array.from({ length: 8 }, () => "discarded cancelled refused"),
  );
  const ends: string[] = events.flatMap((event) => event.type === "call_ended" ? [event.outcome.kind] : []);
  expect(ends).toEqual([...Array.from({ length: 8 }, () => "not_started"), "exited"]);
}, 30_000);
