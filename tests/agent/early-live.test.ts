/** What a tool prints and says in an early run: told of the call that takes the run over, as if that had begun only now. */
import { describe, expect, test } from "bun:test";
import { Buffer } from "node:buffer";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { FeedEvent } from "../../lib/agent/feed.ts";
import { EarlyTalk, type Said } from "../../lib/agent/early-talk.ts";
import { chatReply, type EndpointReply, type EndpointStep, startEndpoint } from "../fixtures/endpoint.ts";
import { arrive, callChunk, EarlyGround, END } from "./early-ground.ts";

const ground = new EarlyGround();
const SAFE = "read_only = true\nspeculation_safe = true";

const PYTHON = `from stella_sdk import tool

@tool(read_only=True, speculation_safe=True)
async def speak(n: int) -> dict:
    """Speak."""
    await agent.send_status("thinking", "about it")
    print("printed")
    return {"n": n}
`;
const TYPESCRIPT = `import { tool } from "orrery";
import * as v from "valibot";

export const speak = tool({
  name: "speak",
  description: "Speak.",
  read_only: true,
  speculation_safe: true,
  parameters: v.object({ n: v.number() }),
  execute({ n }, { status }) {
    status("thinking", "about it");
    console.log("printed");
    return { n };
  },
});
`;

/** What is told of calls: starts, ends, and what comes between them. */
async function told(
  replies: (waits: { until(type: FeedEvent["type"]): EndpointStep }) => readonly EndpointReply[],
  speculation: boolean,
  then: (event: FeedEvent) => void = () => undefined,
): Promise<readonly string[]> {
  const seen = new Map<string, PromiseWithResolvers<void>>();
  const waitFor = (type: string) => {
    const wait = seen.get(type) ?? Promise.withResolvers<void>();
    seen.set(type, wait);
    return wait;
  };
  const endpoint = await startEndpoint(replies({ until: (type) => speculation ? { until: waitFor(type).promise } : { wait_ms: 0 } }));
  try {
    const { session } = await ground.open([], { model: "local/test", baseUrl: endpoint.url, speculation });
    const lines: string[] = [];
    const calls: string[] = [];
    session.watch((event) => {
      waitFor(event.type).resolve();
      lines.push(...lineOf(event, calls));
      then(event);
    });
    expect((await session.prompt("go", { source: "test" })).reason).toBe("completed");
    return lines;
  } finally {
    await endpoint.close();
  }
}

function lineOf(event: FeedEvent, calls: string[]): readonly string[] {
  if (event.type === "call_started" && "call" in event) calls.push(event.call as string);
  if (!("call" in event) || typeof event.call !== "string" || !calls.includes(event.call)) {
    return event.type === "call_output" ? ["of no call"] : [];
  }
  if ("seq" in event) return event.type === "call_started" || event.type === "call_ended" ? [event.type] : [];
  if (event.type === "call_output") return [`${event.whole === true ? "instead: " : ""}${event.stream}: ${event.text.trim()}`];
  return event.type === "status" ? [`${event.status}: ${event.text}`] : [];
}

const asks = (name: string, wait: EndpointStep, input: object = { n: 1 }): readonly EndpointReply[] => [
  { steps: [callChunk(name, input), wait, END] },
  chatReply({ text: "done" }),
];

describe("a watcher is told what an adopted run printed and said", () => {
  const tools: Readonly<Record<string, () => Promise<unknown>>> = {
    "a script": () => ground.workspace.tool("speak", "echo out; echo err >&2", SAFE),
    "a tool in Python": () => ground.workspace.write(".orrery/tools/speak.py", PYTHON),
    "a tool in TypeScript": () => ground.workspace.write(".orrery/tools/speak.ts", TYPESCRIPT),
  };
  for (const [kind, write] of Object.entries(tools)) {
    test(`by ${kind}, between the call's start and its end, as without speculation`, async () => {
      await write();
      const replies = ({ until }: { until(type: FeedEvent["type"]): EndpointStep }) => asks("speak", until("speculation_ended"));
      const early = await told(replies, true);
      const plain = await told(replies, false);
      expect(early.toSorted()).toEqual(plain.toSorted());
      expect([early[0], early.at(-1), early.length > 2]).toEqual(["call_started", "call_ended", true]);
    }, 30_000);
  }

  test("and then what it goes on to print, while it does", async () => {
    // It ends only after somebody was told of its first line.
    await ground.workspace.tool("speak", "echo first; until [ -e go ]; do sleep 0.02; done; echo second", `${SAFE}\ntimeout_ms = 20000`);
    const lines = await told(({ until }) => asks("speak", until("speculation_spawned")), true, (event) => {
      if (event.type === "call_output") writeFileSync(join(ground.workspace.path, "go"), "");
    });
    expect(lines).toEqual(["call_started", "stdout: first", "stdout: second", "call_ended"]);
  }, 30_000);
});

describe("of a run that is thrown away", () => {
  test("nothing is told", async () => {
    await ground.workspace.tool("speak", "echo dead", SAFE);
    const lines = await told(({ until }) => [
      { steps: [callChunk("speak", { n: 1 }), until("speculation_ended"), { drop: true }] },
      chatReply({ text: "never mind" }),
    ], true);
    expect(lines).toEqual([]);
  });

  test("nothing is told if it failed before its call took it over", async () => {
    await ground.workspace.tool("speak", "if mkdir tried 2>/dev/null; then echo dead; exit 1; fi; echo live", SAFE);
    const lines = await told(({ until }) => asks("speak", until("speculation_ended")), true);
    expect(lines).toEqual(["call_started", "stdout: live", "call_ended"]);
  });

  test("what was told is taken back if it failed after that, and its call runs itself", async () => {
    const script = "if ! mkdir tried 2>/dev/null; then echo live; exit; fi; echo dead; until [ -e go ]; do sleep 0.02; done; exit 1";
    await ground.workspace.tool("speak", script, `${SAFE}\ntimeout_ms = 20000`);
    const lines = await told(({ until }) => asks("speak", until("speculation_spawned")), true, (event) => {
      if (event.type === "call_output") writeFileSync(join(ground.workspace.path, "go"), "");
    });
    expect(lines).toEqual(["call_started", "stdout: dead", "instead: stdout: ", "stdout: live", "call_ended"]);
  }, 30_000);
});

test("a call whose run fails once the turn is to stop does not run itself, and has an end", async () => {
  const script = "echo run >> runs; echo dead; until [ -e go ]; do sleep 0.02; done; exit 1";
  await ground.workspace.tool("speak", script, `${SAFE}\ntimeout_ms = 20000`);
  const stop = new AbortController();
  const { session } = await ground.open([{ stream: [arrive(0, "speak", { n: 1 })] }]);
  session.watch((event) => {
    if (event.type !== "call_output") return;
    stop.abort({ reason: "cancelled", detail: "test" });
    writeFileSync(join(ground.workspace.path, "go"), "");
  });
  const { reason, calls } = await session.prompt("go", { source: "test", stop: stop.signal });
  expect([reason, calls]).toMatchObject(["cancelled", [{ is_error: true, outcome: { kind: "not_started", reason: "cancelled" } }]]);
  expect([ground.runsOf("runs"), session.state().speculation.open]).toEqual([1, []]);
}, 30_000);

describe("what is held of a run", () => {
  const printed = (text: string, stream: "stdout" | "stderr" = "stdout"): Said => ({ kind: "printed", stream, text });
  const sent = (text: string): Said => ({ kind: "sent", message: { text } });
  function heard(...said: readonly Said[]): readonly Said[] {
    const talk = new EarlyTalk();
    for (const each of said) talk.say(each);
    const all: Said[] = [];
    talk.tellTo((each) => all.push(each));
    return all;
  }

  test("keeps its order; pieces of one stream are joined", () => {
    const said = [printed("a"), printed("b"), sent("m"), printed("c"), printed("d", "stderr")];
    expect(heard(...said)).toEqual([printed("ab"), sent("m"), printed("c"), printed("d", "stderr")]);
  });

  test("is bounded however much is sent: the first messages and the newest", () => {
    const many = Array.from({ length: 100_000 }, (_none, index) => sent(`${index} ${"x".repeat(1000)}`));
    const kept = heard(...many);
    expect(kept[0]).toEqual(many[0] as Said);
    expect(kept.at(-1)).toEqual(many.at(-1) as Said);
    expect(JSON.stringify(kept).length).toBeLessThan(256 * 1024);
    expect(heard(...Array.from({ length: 100_000 }, () => sent(""))).length).toBeLessThan(4000);
  });

  test("is bounded however long it prints: the end, and how much is missing before it", () => {
    const lines = Array.from({ length: 20_000 }, (_none, index) => printed(`${index} 🎉\n`, index % 2 === 0 ? "stdout" : "stderr"));
    const one = Array.from({ length: 20_000 }, (_none, index) => printed(`${index} 🎉\n`));
    for (const all of [lines, one]) {
      const kept = heard(sent("m"), ...all);
      const texts = kept.flatMap((said) => said.kind === "printed" ? [said.text] : []);
      const [, omitted = "", first = ""] = /^\[… (\d+) bytes not shown live …\]\n([^]*)$/.exec(texts[0] ?? "") ?? [];
      const text = first + texts.slice(1).join("");
      const whole = all.map((said) => said.kind === "printed" ? said.text : "").join("");
      expect(whole.endsWith(text)).toBe(true);
      expect(text.isWellFormed()).toBe(true);
      expect(Buffer.byteLength(text) + Number(omitted)).toBe(Buffer.byteLength(whole));
      expect(kept.length * 64 + text.length).toBeLessThan(100_000);
      expect(kept).toContainEqual(sent("m"));
    }
    expect(JSON.stringify(heard(printed("x".repeat(50_000))))).not.toContain("not shown");
  });

  test("is told once, and what comes after it as it comes", () => {
    const talk = new EarlyTalk();
    const all: Said[] = [];
    talk.say(printed("a"));
    talk.tellTo((said) => all.push(said));
    talk.say(printed("b"));
    expect(all).toEqual([printed("a"), printed("b")]);
  });
});
