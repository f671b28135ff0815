import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { readDecision } from "../../lib/gate/hook-decision.ts";
import type { Run } from "../../lib/session/launch.ts";
import type { Outcome } from "../../lib/session/outcome.ts";

function ended(outcome: Outcome, stdout = "", stderr = "", more: Partial<Run> = {}): Run {
  const capture = (text: string) => ({ text, bytes: text.length, cut: false });
  return { outcome, stdout: capture(stdout), stderr: capture(stderr), duration_ms: 1, reaped: [], ...more };
}
const printed = (stdout: string) => readDecision(ended({ kind: "exited", code: 0 }, stdout));
const failed = (stdout: string, stderr = "") => readDecision(ended({ kind: "exited", code: 1 }, stdout, stderr));

describe("readDecision() of a hook that exits with 0", () => {
  test("reads each decision word", () => {
    expect(printed('{"action":"allow"}')).toEqual({ kind: "passed", text: "" });
    expect(printed('{"action":"deny","reason":"no","evidence":["x"]}')).toEqual({ kind: "denied", reason: "no" });
    expect(printed('{"action":"require_approval","reason":"big"}')).toEqual({ kind: "wants_approval", reason: "big" });
    expect(printed('{"action":"modify","payload":{"input":{"b":1,"a":2}}}')).toEqual({
      kind: "modified",
      input: { value: { a: 2, b: 1 }, text: '{"a":2,"b":1}' },
    });
    expect(printed('{"action":"modify","payload":{}}')).toEqual({ kind: "modified_nothing" });
  });

  test("keeps the digits of a changed input", () => {
    const decision = printed('{"action":"modify","payload":{"input":{"n":9007199254740993,"x":3.0}}}');
    expect(decision.kind === "modified" ? decision.input.text : "").toBe('{"n":9007199254740993,"x":3.0}');
  });

  test("finds a decision behind other output", () => {
    const denied = { kind: "denied", reason: "no" } as const;
    expect(printed('loading\n{"level":"info"}\n{"action":"deny","reason":"no"}\n\n')).toEqual(denied);
    expect(printed('loading…\n{\n  "action": "deny",\n  "reason": "no"\n}\n')).toEqual(denied);
    expect(printed('{"action":"allow"}\n{\n  "action": "deny",\n  "reason": "no"\n}')).toEqual(denied);
    expect(printed('log\n  {\n "action":"deny",\n "reason":"no"\n  }\n')).toEqual(denied);
    expect(printed('\t{"action":"deny","reason":"no"}')).toEqual(denied);
    expect(printed('{oops\n{"a":"}{"}\n  {"action":"deny","reason":"no"}')).toMatchObject({ kind: "failed", cause: "malformed" });
    expect(printed('{"level":"info"}\n{"x":"{"}\n {"action":"allow"}')).toEqual({ kind: "passed", text: "" });
  });

  test("does not lose an objection that something else was printed behind", () => {
    const deny = '{"action":"deny","reason":"no"}';
    for (
      const text of [
        `${deny}\n{"x":1}`,
        `${deny}\n{"action":"allow"}`,
        `  ${deny}\nbye`,
        `[\n  ${deny}\n]`,
        `[\n  ${deny},\n  {}\n]`,
        `log\n {${deny}`,
      ]
    ) {
      expect([text, printed(text)]).toEqual([text, expect.objectContaining({ kind: "failed", cause: "malformed" })]);
    }
    expect(printed('{"action":"require_approval","reason":"r"}\n{"action":"allow"}').kind).toBe("failed");
    expect(printed('{"action":"modify","payload":{"input":{}}}\nok').kind).toBe("failed");
  });

  test("takes everything else for talk", () => {
    for (
      const text of [
        "",
        "all fine",
        '{"decision":"deny"}',
        '["action"]',
        '"action"',
        "[1,\n2]",
        "a\n{}\n",
        "{}\ndone",
        "  {\n    int x;\n  }",
      ]
    ) {
      expect([text, printed(text).kind]).toEqual([text, "passed"]);
    }
  });

  test("does not take a decision that cannot be read for consent", () => {
    const broken = [
      '{"action":"stop"}',
      '{"action":null}',
      '{"action":"deny"}',
      '{"action":"deny","reason":5}',
      '{"action":"require_approval"}',
      '{"action":"modify","payload":{"input":[1]}}',
      '{"action":"modify","payload":{"input":null}}',
      '{"action":"modify","payload":{"input":7}}',
      '{"action":"modify","payload":3}',
      '{"action":"deny","reason":"x"',
      '{"action":"deny","reason":"x"}\ndone',
      '{"action":"allow"}{"action":"deny","reason":"x"}',
      'log\n{\n "action": "deny",\n',
    ];
    for (const text of broken) {
      expect([text, printed(text)]).toEqual([text, expect.objectContaining({ kind: "failed", cause: "malformed" })]);
    }
  });

  test("does not pass a hook of whose output the end was cut out", () => {
    const run = ended({ kind: "exited", code: 0 });
    for (const text of ["x", 'x\n{"action":"allow"}']) {
      expect(readDecision({ ...run, stdout: { text, bytes: 9_000_000, cut: true } })).toMatchObject({ kind: "failed", cause: "malformed" });
    }
  });

  test("comes to an end with output of any shape", () => {
    const shapes = ["{\n", " {\n", "{}\n", '{"a":1}\n', '"{\n', "\\{\n"];
    for (const shape of shapes) expect(["passed", "failed"]).toContain(printed(shape.repeat(400_000)).kind);
  });
});

describe("readDecision() of any other end", () => {
  test("is an objection for an exit status, in the hook's own words", () => {
    expect(failed("", "no\n")).toEqual({ kind: "denied", reason: "no" });
    expect(failed("from stdout", "  \n")).toEqual({ kind: "denied", reason: "from stdout" });
    expect(failed("out", "err")).toEqual({ kind: "denied", reason: "err" });
    expect(failed("")).toEqual({ kind: "denied", reason: null });
    expect(failed('{"action":"allow"}')).toEqual({ kind: "denied", reason: '{"action":"allow"}' });
  });

  test("bounds those words and makes them well-formed", () => {
    const long = failed("", `start${"é\ud800".repeat(1_000_000)}end`);
    const reason = long.kind === "denied" ? long.reason ?? "" : "";
    expect([reason.isWellFormed(), reason.length < 4100, reason.startsWith("start"), reason.endsWith("end")]).toEqual([
      true,
      true,
      true,
      true,
    ]);
  });

  test("tells apart what kept it from a verdict", () => {
    const causes = ([
      [ended({ kind: "timed_out", after_ms: 500 }), "timed out after 500 ms"],
      [ended({ kind: "signalled", signal: "SIGSEGV" }), "killed by SIGSEGV"],
      [ended({ kind: "not_started", reason: "cannot_start" }, "", "", { problem: "ENOENT" }), "could not start: ENOENT"],
      [ended({ kind: "exited", code: 127 }, "", "bash: ./guard.sh: No such file"), "could not start (exit status 127): bash: ./guard.sh"],
      [ended({ kind: "cancelled" }), "cancelled"],
      [ended({ kind: "not_started", reason: "cancelled" }), "was cancelled before it could start"],
      [ended({ kind: "unknown", cause: "worker_died" }), "worker_died"],
      [ended({ kind: "returned" }), "did not run as a process"],
    ] as const).map(([run, words]) => {
      const decision = readDecision(run);
      return decision.kind === "failed" && decision.message.includes(words) ? decision.cause : `${decision.kind}: ${words}`;
    });
    expect(causes).toEqual(["timed_out", "killed", "could_not_start", "could_not_start", "cancelled", "cancelled", "lost", "lost"]);
  });

  test("never passes, whatever was printed", () => {
    const outcome = fc.constantFrom<Outcome>(
      { kind: "exited", code: 1 },
      { kind: "exited", code: 255 },
      { kind: "timed_out", after_ms: 1 },
      { kind: "signalled", signal: "SIGKILL" },
      { kind: "cancelled" },
    );
    const output = fc.oneof(fc.string(), fc.constantFrom('{"action":"allow"}', '{"action":"modify","payload":{"input":{}}}'));
    fc.assert(
      fc.property(
        outcome,
        output,
        output,
        (end, stdout, stderr) => ["denied", "failed"].includes(readDecision(ended(end, stdout, stderr)).kind),
      ),
      { seed: 49, numRuns: 500 },
    );
  });
});
