/**
 * Loops, limits, floods and signals through the whole program: whatever a model or a tool does, the turn ends, says why,
 * and the session can be gone on with. Promises P5 and P9; cases 12, 87 and 90.
 */
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { isKnown, parseEvent, type SessionEvent } from "../../lib/session/event.ts";
import { isAlive } from "../fixtures/alive.ts";
import { chatReply, type FixtureEndpoint, httpError, type RecordedRequest, startEndpoint } from "../fixtures/endpoint.ts";
import { newSession, opened } from "../fixtures/journal/events.ts";
import { endServing, startServing } from "../fixtures/serving.ts";
import { createWorkspace, type TestWorkspace } from "../fixtures/workspace.ts";
import { type Ended, ended, runOrrery, signal, signalHeard, startOrrery } from "../host/orrery.ts";

let workspace: TestWorkspace;
let endpoint: FixtureEndpoint | null;

beforeEach(async () => {
  workspace = await createWorkspace();
  endpoint = null;
});

afterEach(async () => {
  await endServing();
  await endpoint?.close();
  await workspace.remove();
});

const call = (name: string, input: object | string = {}) => ({ name, arguments: input });
const start = () => ({ cwd: workspace.path, home: workspace.home });
const times = <T>(count: number, each: (index: number) => T) => Array.from({ length: count }, (_none, index) => each(index));

interface Report {
  readonly status: string;
  readonly reason?: string;
  readonly steps: number;
  readonly session: string;
  readonly text: string;
  readonly calls: readonly { readonly name: string; readonly is_error: boolean }[];
}

async function run(model: string, ...flags: string[]): Promise<{ readonly ending: Ended; readonly report: Report }> {
  const args = ["run", "--trust-workspace", "--mode", "yolo", "--model", model, "--output-format", "json", ...flags, "go"];
  const ending = await runOrrery(args, start());
  return { ending, report: JSON.parse(ending.stdout) as Report };
}

async function eventsOf(session: string): Promise<readonly SessionEvent[]> {
  const { stdout } = await runOrrery(["sessions", "events", session], start());
  return stdout.split("\n").filter((line) => line !== "").map((line) => parseEvent(JSON.parse(line))).filter(isKnown);
}

describe("a model that repeats itself (case 87)", () => {
  const patterns: Readonly<Record<string, readonly object[]>> = {
    "one call": [call("noop")],
    "one call with its keys shuffled": [call("noop", '{"a":1,"b":2}'), call("noop", '{ "b": 2, "a": 1 }')],
    "two calls in turn": [call("noop", { n: 1 }), call("noop", { n: 2 })],
    "a call of a tool that there is not": [call("nothing")],
    "a call with malformed arguments": [call("noop", "{")],
  };
  for (const [what, pattern] of Object.entries(patterns)) {
    test(`with ${what}: is told so once, then stopped on purpose with exit code 3`, async () => {
      await workspace.tool("noop", "echo noop");
      const model = await workspace.script(...times(40, (index) => ({ calls: [pattern[index % pattern.length]] })));
      const { ending, report } = await run(model);
      expect([ending.code, report.status]).toEqual([3, "stopped"]);
      expect(report.reason).toContain("repeated calls");
      expect(report.steps).toBeLessThan(12);
      const events = await eventsOf(report.session);
      expect(events.filter((event) => event.type === "prompted" && event.source === "repeat_guard")).toHaveLength(1);
      expect(events.at(-1)).toMatchObject({ type: "turn_ended", reason: "stopped", detail: report.reason });
    }, 30_000);
  }

  test("with malformed arguments that grow: likewise", async () => {
    await workspace.tool("noop", "echo noop");
    const model = await workspace.script(...times(20, (index) => ({ calls: [call("noop", `{"comm${"x".repeat(index)}`)] })));
    const { ending, report } = await run(model);
    expect([ending.code, report.status, report.reason]).toEqual([3, "stopped", expect.stringContaining("refused again and again")]);
    expect(report.steps).toBeLessThan(12);
  }, 30_000);

  test("with a tool that waits itself before it answers: is left alone", async () => {
    await workspace.tool("poll", "sleep 1; echo pending");
    const model = await workspace.script(...times(6, () => ({ calls: [call("poll")] })), { text: "I have waited." });
    const { ending, report } = await run(model);
    expect([ending.code, report.status]).toEqual([0, "completed"]);
    const events = await eventsOf(report.session);
    expect(events.some((event) => event.type === "prompted" && event.source === "repeat_guard")).toBe(false);
  }, 30_000);

  test("with calls that are refused: likewise", async () => {
    await workspace.tool("careful", "echo ran >> effects", 'approval = "always"');
    const model = await workspace.script(...times(20, () => ({ calls: [call("careful")] })));
    const args = ["run", "--trust-workspace", "--mode", "normal", "--model", model, "--output-format", "json", "go"];
    const { code, stdout } = await runOrrery(args, start());
    expect([code, (JSON.parse(stdout) as Report).status]).toEqual([3, "stopped"]);
    expect(existsSync(join(workspace.path, "effects"))).toBe(false);
  }, 30_000);

  test("after a resume: what was repeated before counts", async () => {
    await workspace.tool("noop", "sleep 0.3; echo noop");
    const model = await workspace.script(...times(20, () => ({ calls: [call("noop")] })));
    const args = ["run", "--trust-workspace", "--model", model, "--output-format", "stream-json", "go"];
    const runtime = startOrrery(args, start());
    const end = ended(runtime);
    let [text, ends] = ["", 0];
    runtime.stdout?.on("data", (chunk: string) => {
      text += chunk;
      ends = text.split('"type":"call_ended"').length - 1;
      if (ends >= 2) signal(runtime, "SIGKILL");
    });
    await end;
    const session = /"session":"(ses_[^"]+)"/.exec(text)?.[1] ?? "";
    expect((await runOrrery(["sessions", "resume", session, "--trust-workspace"], start())).code).toBe(3);
    const counted = (await eventsOf(session)).filter((event) => event.type === "call_ended" && event.outcome.kind === "exited");
    // Whether the kill met a third call or the moment before it: what was cut off neither counts nor starts the count anew.
    expect(counted).toHaveLength(4);
  }, 30_000);

  test("in a session that works for another: that one is stopped, and the other is told why", async () => {
    await workspace.tool("noop", "echo noop", "read_only = true");
    endpoint = await startEndpoint(({ body }) => {
      const isParent = JSON.stringify(body["messages"]).includes("go to work");
      const delegated = JSON.stringify(body["messages"]).includes("did not finish");
      if (!isParent) return chatReply({ calls: [call("noop")] });
      return chatReply(delegated ? { text: "I see." } : { calls: [call("delegate", { description: "look", prompt: "Look." })] });
    });
    const args = ["run", "--trust-workspace", "--model", "local/m", "--base-url", endpoint.url, "--output-format", "json", "go to work"];
    const { code, stdout } = await runOrrery(args, start());
    expect([code, JSON.parse(stdout)]).toMatchObject([0, {
      status: "completed",
      text: "I see.",
      calls: [{ name: "delegate", is_error: true }],
    }]);
  }, 30_000);

  test("over HTTP: likewise", async () => {
    await workspace.tool("noop", "echo noop");
    const model = await workspace.script(...times(20, () => ({ calls: [call("noop")] })));
    const server = await startServing(workspace, ["--trust-workspace", "--mode", "yolo", "--model", model]);
    const { session } = await server.client.create({});
    const seen = await Array.fromAsync(server.client.run(session, "go"));
    expect(seen.findLast((event) => event.type === "turn_ended")).toMatchObject({ reason: "stopped" });
  }, 30_000);

  test("is not what polls until the answer changes, nor what asks many things that have one answer", async () => {
    await workspace.tool("poll", "echo x >> n; wc -l < n");
    await workspace.tool("same", "echo same");
    const model = await workspace.script(
      ...times(14, () => ({ calls: [call("poll")] })),
      ...times(14, (index) => ({ calls: [call("same", { index })] })),
      { text: "done" },
    );
    const { ending, report } = await run(model);
    expect([ending.code, report.status, report.calls.length]).toEqual([0, "completed", 28]);
  }, 30_000);
});

describe("a limit that is reached", () => {
  test("of steps stops on purpose with 3, of the wall clock with 124, and both say so", async () => {
    await workspace.tool("count", 'echo "$STELLA_INPUT_N"');
    await workspace.tool("slow", "echo $$ > pid; exec sleep 300");
    const steps = await run(await workspace.script(...times(9, (n) => ({ calls: [call("count", { n })] }))), "--max-steps", "4");
    expect([steps.ending.code, steps.report]).toMatchObject([3, { status: "stopped", steps: 4, reason: "step cap of 4 reached" }]);
    const clock = await run(await workspace.script({ calls: [call("slow")] }), "--timeout", "2");
    expect([clock.ending.code, clock.report]).toMatchObject([124, { status: "stopped", reason: "wall clock of 2 s reached" }]);
    expect(isAlive(Number(readFileSync(join(workspace.path, "pid"), "utf8")))).toBe(false);
  }, 30_000);
});

/** Refuses what is above its window, as a provider would. */
async function smallWindow(
  reply: (request: RecordedRequest, results: number) => Parameters<typeof chatReply>[0],
): Promise<FixtureEndpoint> {
  return await startEndpoint((request) => {
    if (tokens(request) > 20_000) {
      return httpError(400, {
        error: { code: "context_length_exceeded", message: "This model's maximum context length is 20000 tokens." },
      });
    }
    const messages = request.body["messages"] as readonly { readonly role: string }[];
    return chatReply(reply(request, messages.filter((message) => message.role === "tool").length));
  });
}

function tokens({ body }: RecordedRequest): number {
  return JSON.stringify(body).length / 4;
}

/** The session goes on within three requests, and what is asked again is never longer. */
function checkShorter(requests: readonly RecordedRequest[]): void {
  let refused = 0;
  for (const [index, request] of requests.entries()) {
    const before = requests[index - 1];
    if (refused > 0 && before !== undefined) expect(tokens(request)).toBeLessThan(tokens(before));
    refused = tokens(request) > 20_000 ? refused + 1 : 0;
    expect(refused).toBeLessThan(3);
    // A provider's error is never part of the conversation.
    expect(JSON.stringify(request.body)).not.toContain("maximum context length");
  }
}

describe("a conversation that is too long for the model (case 90)", () => {
  const local = (each: FixtureEndpoint) => ["--model", "local/m", "--base-url", each.url, "--output-format", "json"];

  test("as a tool printed ten megabytes: goes on with less of it", async () => {
    await workspace.tool("flood", "yes abcdefghijklmnop | head -c 10000000");
    endpoint = await smallWindow((_request, results) => results === 0 ? { calls: [call("flood")] } : { text: "enough" });
    const { code, stdout } = await runOrrery(["run", "--trust-workspace", ...local(endpoint), "go"], start());
    expect([code, (JSON.parse(stdout) as Report).text]).toEqual([0, "enough"]);
    checkShorter(endpoint.requests);
  }, 30_000);

  test("as forty results are of 60 KiB each: goes on with less of them, and calls keep their results", async () => {
    await workspace.tool("big", 'yes "$STELLA_INPUT_N abcdefghijk" | head -c 61440');
    endpoint = await smallWindow((_request, results) => results < 40 ? { calls: [call("big", { n: results })] } : { text: "enough" });
    const { code, stdout } = await runOrrery(["run", "--trust-workspace", ...local(endpoint), "go"], start());
    expect([code, (JSON.parse(stdout) as Report).text]).toEqual([0, "enough"]);
    checkShorter(endpoint.requests);
    const last = endpoint.requests.at(-1)?.body["messages"] as readonly {
      readonly role: string;
      readonly tool_calls?: readonly unknown[];
    }[];
    expect(last.filter((message) => message.role === "tool")).toHaveLength(40);
    expect(last.filter((message) => message.tool_calls !== undefined)).toHaveLength(40);
  }, 60_000);

  test("as the model writes large files: goes on with less of what it wrote", async () => {
    await workspace.tool("put", "echo ok");
    endpoint = await smallWindow((_request, results) =>
      results < 12 ? { calls: [call("put", { path: `f${results}`, content: "x".repeat(16_000) })] } : { text: "enough" }
    );
    const { code, stdout } = await runOrrery(["run", "--trust-workspace", ...local(endpoint), "go"], start());
    expect([code, (JSON.parse(stdout) as Report).text]).toEqual([0, "enough"]);
    checkShorter(endpoint.requests);
  }, 60_000);

  test("as it makes hundreds of small calls: goes on without the oldest, and says so", async () => {
    await workspace.tool("tick", 'echo "$STELLA_INPUT_N ${STELLA_INPUT_NOTE}"');
    let made = 0;
    endpoint = await smallWindow(() =>
      made++ < 60 ? { calls: times(8, (n) => call("tick", { n: made * 8 + n, note: "n".repeat(40) })) } : { text: "enough" }
    );
    const { code, stdout } = await runOrrery(["run", "--trust-workspace", ...local(endpoint), "go"], start());
    expect([code, (JSON.parse(stdout) as Report).text]).toEqual([0, "enough"]);
    checkShorter(endpoint.requests);
    expect(JSON.stringify(endpoint.requests.at(-1)?.body)).toContain("Left out, as the conversation is longer");
  }, 60_000);

  test("as its prompt is: is asked with the beginning and the end of it", async () => {
    endpoint = await smallWindow(() => ({ text: "enough" }));
    const input = `first ${"p".repeat(112_000)} last`;
    const { code, stdout } = await runOrrery(["run", ...local(endpoint), "-"], { ...start(), input });
    expect([code, (JSON.parse(stdout) as Report).text]).toEqual([0, "enough"]);
    checkShorter(endpoint.requests);
    expect(JSON.stringify(endpoint.requests.at(-1)?.body)).toMatch(/first p+.*bytes omitted.*p+ last/);
  }, 30_000);

  test("whatever it is sent: is not sent the same again, and the run says why it ends", async () => {
    endpoint = await startEndpoint(() =>
      httpError(400, { error: { code: "context_length_exceeded", message: "The maximum context length is 1." } })
    );
    const { code, stdout } = await runOrrery(["run", ...local(endpoint), "go"], start());
    expect([code, (JSON.parse(stdout) as Report).reason]).toEqual([1, expect.stringContaining("cannot be made shorter")]);
    expect(endpoint.requests).toHaveLength(1);
  }, 30_000);

  test("as its log has a result of five megabytes: is resumed with less of it", async () => {
    const session = newSession();
    const id = `call_${session.slice(4)}`;
    const at = "2026-11-01T00:00:00.000Z";
    const usage = { input_tokens: 1, output_tokens: 1 };
    const bodies = [
      { ...opened(session), workspace: workspace.path, model: "local/m" },
      { type: "prompted", turn: 1, text: "go", source: "cli" },
      { type: "step_started", turn: 1, step: 1 },
      { type: "attempt_started", step: 1, attempt: 1, model: "local/m" },
      {
        type: "reply_committed",
        step: 1,
        attempt: 1,
        text: "",
        calls: [{ call: id, name: "big", arguments: "{}" }],
        finish: "tool_calls",
        usage,
        model: "m",
      },
      { type: "call_allowed", call: id, input: {}, by: "policy" },
      { type: "call_started", call: id, name: "big", input_digest: "0", worker: "w1" },
      {
        type: "call_ended",
        call: id,
        outcome: { kind: "exited", code: 0 },
        result: { is_error: false, text: "x".repeat(5_000_000) },
        duration_ms: 1,
      },
    ];
    const lines = bodies.map((body, index) => `${JSON.stringify({ v: 1, session, seq: index + 1, at, ...body })}\n`).join("");
    expect((await runOrrery(["sessions", "import", "-"], { ...start(), input: lines })).code).toBe(0);
    endpoint = await smallWindow(() => ({ text: "enough" }));
    const { code, stdout } = await runOrrery(["sessions", "resume", session, ...local(endpoint)], start());
    expect([code, (JSON.parse(stdout) as Report).text]).toEqual([0, "enough"]);
    checkShorter(endpoint.requests);
  }, 30_000);
});

describe("a tool at full speed", () => {
  test("keeps neither its own deadline from coming nor the server from answering on its health meanwhile", async () => {
    await workspace.tool("flood", "yes & yes 1>&2 & yes", "timeout_ms = 3000");
    const model = await workspace.script({ calls: [call("flood")] }, { text: "done" });
    const server = await startServing(workspace, ["--trust-workspace", "--mode", "yolo", "--model", model]);
    const { session } = await server.client.create({});
    const turn = Array.fromAsync(server.client.run(session, "go"));
    let answers = 0;
    let running = true;
    void turn.finally(() => running = false);
    await sleep(500);
    while (running) {
      expect((await fetch(`${server.url}/healthz`)).status).toBe(200);
      if (running) answers++;
      await sleep(50);
    }
    const seen = await turn;
    const end = seen.find((event) => event.type === "call_ended");
    expect(end).toMatchObject({ outcome: { kind: "timed_out", after_ms: 3000 } });
    // One that waits for the end of the flood is the only one.
    expect(answers).toBeGreaterThan(3);
    // What it prints is shown in parts, and not all of it.
    const shown = seen.flatMap((event) => event.type === "call_output" ? [event.text.length] : []);
    expect(shown.reduce((sum, length) => sum + length, 0)).toBeLessThan(200_000);
  }, 30_000);
});

describe("a run that is told to end in the middle of a call", () => {
  for (const [signals, outcome] of [[1, { kind: "exited", code: 0 }], [2, { kind: "cancelled" }]] as const) {
    test(
      `by SIGTERM, ${signals === 1 ? "once: lets the call finish" : "twice: ends the call"}, exits with 143, and the next prompt goes on`,
      async () => {
        await workspace.tool("slow", "echo $$ > pid; until [ -e go ]; do sleep 0.02; done; echo end");
        const model = await workspace.script({ calls: [call("slow"), call("slow")] }, { text: "next" });
        const runtime = startOrrery(["run", "--trust-workspace", "--model", model, "--output-format", "json", "go"], start());
        const end = ended(runtime);
        const path = join(workspace.path, "pid");
        while (!existsSync(path) || readFileSync(path, "utf8") === "") await sleep(10);
        await signalHeard(runtime, "SIGTERM");
        if (signals === 1) await workspace.write("go", "");
        else signal(runtime, "SIGTERM");
        const { code, stdout } = await end;
        const { session } = JSON.parse(stdout) as Report;
        expect(code).toBe(143);
        expect(isAlive(Number(readFileSync(path, "utf8")))).toBe(false);
        const ends = (await eventsOf(session)).flatMap((event) => event.type === "call_ended" ? [event.outcome] : []);
        expect(ends).toEqual([outcome, { kind: "not_started", reason: "cancelled" }]);
        const next = await runOrrery(["run", "--session", session, "--model", model, "on"], start());
        expect([next.code, next.stdout]).toEqual([0, "next\n"]);
      },
      30_000,
    );
  }
});
