import { describe, expect, test } from "bun:test";
import { createColors } from "../../cli/colors.ts";
import { createNarrator, formatMs, shortInput } from "../../cli/narration.ts";
import { Renderer } from "../../cli/render.ts";
import { oneLine, type Out, printable } from "../../cli/terminal.ts";
import type { LiveEvent, SessionEvent, TurnResult } from "../../mod.ts";

const SESSION = "ses_01900000-0000-7000-8000-000000000000";
const CALL = "call_01900000-0000-7000-8000-000000000001";

describe("Renderer", () => {
  test("streams the model's words to a terminal and keeps what happens out of them", () => {
    const { out, err, renderer } = screen({ terminal: true });
    renderer.watch(delta("I will "));
    renderer.watch(delta("look."));
    renderer.watch(reply("I will look.", "read_file", '{"path":"a.txt"}'));
    renderer.watch(ended({ outcome: { kind: "returned" }, result: { is_error: false, text: "secret contents" } }));
    expect(out.text).toBe("I will look.\n");
    expect(visible(err.text)).toContain("read_file a.txt ok · 12 ms");
    expect(err.text).not.toContain("secret contents");
  });

  test("says on a terminal what is worth the text of a reply that broke off, and nothing where there was none", () => {
    const superseded: LiveEvent = { type: "status", session: SESSION, step: 1, attempt: 1, status: "superseded" };
    const { out, err, renderer } = screen({ terminal: true });
    renderer.watch(superseded);
    expect(err.text).toBe("");
    renderer.watch(delta("dead text"));
    renderer.watch(superseded);
    renderer.watch(delta("live text"));
    renderer.watch(reply("live text"));
    expect(out.text).toBe("dead text\nlive text\n");
    expect(visible(err.text)).toContain("broke off: what it said above does not count");
  });

  test("gives a pipe the final answer alone, once, with one line break", () => {
    const { out, renderer } = screen({ terminal: false });
    renderer.watch(delta("First words, "));
    renderer.watch(reply("First words, then a call.", "read_file", "{}"));
    renderer.watch(reply("The answer."));
    expect(out.text).toBe("");
    renderer.finish(COMPLETED, SESSION);
    expect(out.text).toBe("The answer.\n");
  });

  test("shows a reply that came in one piece", () => {
    const { out, renderer } = screen({ terminal: true });
    renderer.watch(reply("All at once."));
    expect(out.text).toBe("All at once.\n");
  });

  test("writes over nothing and colours nothing off a terminal", () => {
    const { err, renderer } = screen({ terminal: false });
    renderer.watch(event({ type: "attempt_started", step: 1, attempt: 1, model: "local/x" }));
    renderer.watch(reply("", "bash", '{"command":"sleep 1"}'));
    renderer.watch(event({ type: "call_started", call: CALL, name: "bash", input_digest: "", worker: "w1" }));
    renderer.watch(ended({ outcome: { kind: "timed_out", after_ms: 1000 }, result: { is_error: true, text: "no\nend" } }));
    expect(err.text).toBe("  bash sleep 1 timed out after 1.0 s · 12 ms\n    no\n    end\n");
  });

  test("shows the first lines of what a call that failed said, as they are laid out", () => {
    const { err, renderer } = screen({ terminal: false });
    renderer.watch(reply("", "build", "{}"));
    const text = "a.ts:3:5\n  let  x = ;\n\t ^\n4\n5\n6\n7\n8\n";
    renderer.watch(ended({ outcome: { kind: "exited", code: 1 }, result: { is_error: true, text } }));
    const lines = ["a.ts:3:5", "  let  x = ;", "         ^", "4", "5", "6", "… 2 more lines"];
    expect(err.text).toBe(`  build exit 1 · 12 ms\n${lines.map((line) => `    ${line}\n`).join("")}`);
  });

  test("says what is running on a line that it takes away again", () => {
    const { err, renderer } = screen({ terminal: true });
    renderer.watch(reply("", "bash", '{"command":"make"}'));
    renderer.watch(event({ type: "call_started", call: CALL, name: "bash", input_digest: "", worker: "w1" }));
    expect(err.text).toContain("running bash make");
    renderer.watch(ended({ outcome: { kind: "exited", code: 0 }, result: { is_error: false, text: "" } }));
    expect(visible(err.text)).toBe("  bash make ok · 12 ms\n");
  });

  test("lets no control character of a model or a tool reach the terminal", () => {
    const { out, err, renderer } = screen({ terminal: true });
    renderer.watch(delta("a\x1b]0;title\x07b"));
    renderer.watch(reply("", "bash", '{"command":"\\u001b[2J"}'));
    renderer.watch(ended({ outcome: { kind: "exited", code: 1 }, result: { is_error: true, text: "\x1b[31mred\x9b2J" } }));
    expect(out.text).not.toContain("\x1b");
    expect(visible(err.text)).not.toMatch(/[\x1b\x9b]/);
  });
});

describe("a narrator", () => {
  const narrate = createNarrator(screen({ terminal: false }).err);
  const facts = (over: Partial<Ended>) => narrate(ended(over))?.split("\n")[0]?.trim().replace(`${CALL} `, "");

  test("has words for every outcome, cut output and processes left behind", () => {
    const result = { is_error: true, text: "" };
    expect(facts({ outcome: { kind: "exited", code: 3 }, result })).toBe("exit 3 · 12 ms");
    expect(facts({ outcome: { kind: "signalled", signal: "SIGSEGV" }, result })).toBe("killed by SIGSEGV · 12 ms");
    expect(facts({ outcome: { kind: "cancelled" }, result })).toBe("cancelled · 12 ms");
    expect(facts({ outcome: { kind: "not_started", reason: "denied" }, result })).toBe("not started: denied · 12 ms");
    expect(facts({ outcome: { kind: "unknown", cause: "runtime_died" }, result })).toBe("outcome unknown: runtime_died · 12 ms");
    expect(facts({ outcome: { kind: "returned" }, result })).toBe("error · 12 ms");
    expect(facts({ truncated: { stdout_bytes: 9, stderr_bytes: 0 }, reaped: [{ pid: 9, command: "sleep" }] }))
      .toBe("ok · 12 ms · output cut · ended 1 left behind");
    expect(facts({ reaped: [{ pid: 9, command: "sleep" }], reaped_omitted: 8 })).toBe("ok · 12 ms · ended 1 left behind · ended 8 more");
  });

  test("tells of a failed attempt with what comes next", () => {
    const error = { kind: "transport" as const, message: "connection reset" };
    expect(narrate(event({ type: "attempt_failed", step: 1, attempt: 1, error, retry_in_ms: 1500 }))).toBe(
      "  model: connection reset · asking again in 1.5 s",
    );
    expect(narrate(event({ type: "attempt_failed", step: 1, attempt: 2, error, retry_in_ms: null }))).toBe("  model: connection reset");
  });
});

describe("text for people", () => {
  test("shortens by whole characters", () => {
    expect(oneLine("a  b\n\tc", 10)).toBe("a b c");
    expect(oneLine("🙂🙂🙂🙂", 3)).toBe("🙂…");
    expect(oneLine("🙂🙂", 4)).toBe("🙂🙂");
  });

  test("is rid of what could change how the rest of it reads", () => {
    expect(printable("a\r\nb\tc\x00")).toBe("a\nb\tc\ufffd");
    expect(printable("rm \u202ea\u2069")).toBe("rm \ufffda\ufffd");
  });

  test("shows the one argument of a call, else what the model wrote", () => {
    expect(shortInput('{"path":"a.txt"}')).toBe("a.txt");
    expect(shortInput('{"path":"a","n":3.0}')).toBe('{"path":"a","n":3.0}');
    expect(shortInput("{")).toBe("{");
    expect(shortInput("null")).toBe("null");
    expect(formatMs(999.6)).toBe("1000 ms");
  });
});

const NONE = { input_tokens: 0, output_tokens: 0 };
const COMPLETED: TurnResult = {
  turn: 1,
  reason: "completed",
  text: "The answer.",
  unanswered: false,
  timed_out: false,
  steps: 2,
  calls: [],
  usage: NONE,
  speculation: { saved_ms: 0, wasted: 0, wasted_ms: 0 },
};
type Ended = Extract<SessionEvent, { type: "call_ended" }>;
type Bodies = SessionEvent extends infer Event ? Event extends SessionEvent ? Omit<Event, "v" | "session" | "seq" | "at"> : never : never;

function event(body: Bodies): SessionEvent {
  return { v: 1, session: SESSION, seq: 1, at: "2026-01-01T00:00:00.000Z", ...body } as SessionEvent;
}

function ended(over: Partial<Ended>): SessionEvent {
  return event({
    type: "call_ended",
    call: CALL,
    outcome: { kind: "exited", code: 0 },
    result: { is_error: false, text: "" },
    duration_ms: 12,
    ...over,
  });
}

function reply(text: string, name?: string, args = ""): SessionEvent {
  const calls = name === undefined ? [] : [{ call: CALL, name, arguments: args }];
  return event({ type: "reply_committed", step: 1, attempt: 1, text, calls, finish: "stop", usage: NONE, model: "local/x" });
}

function delta(text: string): LiveEvent {
  return { type: "text_delta", session: SESSION, step: 1, attempt: 1, text };
}

function screen({ terminal }: { readonly terminal: boolean }) {
  const out = paper(terminal);
  const err = paper(terminal);
  return { out, err, renderer: new Renderer({ out, err, env: {}, held: null }) };
}

function paper(terminal: boolean): Out & { readonly text: string } {
  let text = "";
  return {
    write: (more) => void (text += more),
    isTerminal: terminal,
    canRewrite: terminal,
    columns: 100,
    colors: createColors(terminal),
    flushed: () => Promise.resolve(),
    failure: null,
    isLost: false,
    isUsed: true,
    seal: () => {},
    get text() {
      return text;
    },
  };
}

/** What is left on a screen: no colours, and no line that was written over. */
function visible(text: string): string {
  return text.replace(/\x1b\[\d+m/g, "").split("\n").map((line) => line.split("\r\x1b[K").at(-1)).join("\n");
}
