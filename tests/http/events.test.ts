import { afterEach, describe, expect, test } from "bun:test";
import fc from "fast-check";
import { setTimeout as delay } from "node:timers/promises";
import process from "node:process";
import { startEndpoint } from "../fixtures/endpoint.ts";
import { scriptWires } from "../fixtures/script-wires.ts";
import { type EventReader, startTestServer, type TestServer, type TestServerOptions } from "../fixtures/server.ts";

let subject: TestServer;

async function start(options: TestServerOptions = {}): Promise<string> {
  subject = await startTestServer(options);
  return await subject.open();
}

afterEach(() => subject.close());

const prompt = (session: string) => subject.ask("POST", `/v1/sessions/${session}/prompts?wait=true`, { text: "go" });
const call = (name: string, input: object = {}) => ({ name, arguments: input });
const ids = (reader: EventReader) => reader.messages.flatMap(({ id }) => id === null ? [] : [Number(id)]);
const upTo = (count: number) => Array.from({ length: count }, (_each, index) => index + 1);
/** Replies whose calls are all refused: many durable events at full speed, two for each call. Of the same tools they would be a loop. */
const burst = (replies: number) =>
  Array.from({ length: replies }, (_reply, round) => ({
    calls: Array.from({ length: 200 }, (_each, index) => call(`nothing_${round}`, { index })),
  }));

/** What the live events of one kind come to, for a client that takes them as they are meant. */
function liveText(reader: EventReader, type: string, kept = ""): string {
  return reader.messages.filter(({ value }) => value.type === type)
    .reduce((text, { value }) => (value.whole === true ? "" : text) + value.text, kept);
}

/** What a client has of a reply that is being written, if it takes live events as they are meant. */
function draftOf(reader: EventReader) {
  const taken = reader.messages.findLastIndex(({ value }) => value.status === "superseded") + 1;
  const since = reader.messages.slice(taken).map(({ value }) => value);
  const text = since.filter(({ type }) => type === "text_delta").reduce((all, each) => (each.whole === true ? "" : all) + each.text, "");
  return { text, calls: since.flatMap((each) => each.status === "call_announced" ? [each.text] : []) };
}

describe("the text of a reply whose stream begins anew", () => {
  for (const [provider, wire] of [["openai", scriptWires[1]], ["anthropic", scriptWires[2]]] as const) {
    test(`is that of the new one alone for who was there and for who joins, and so are its calls (${provider})`, async () => {
      if (wire === undefined) throw new Error("A wire format has no script");
      const [dead, live] = [wire.createWriter(), wire.createWriter()];
      const gone = { index: 0, id: "a", name: "nothing", arguments: "{}" };
      const [again, go] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
      const endpoint = await startEndpoint([{
        steps: [
          { write: dead({ type: "text", text: "The answer is 41. " }) + dead({ type: "call", fragment: gone }) },
          { until: again.promise },
          { write: live({ type: "text", text: "It is 42." }) },
          { until: go.promise },
          { write: live({ type: "text", text: " Really." }) + live({ type: "finish", finish: "stop" }) },
        ],
      }]);
      try {
        const env = { PATH: process.env["PATH"] ?? "", OPENAI_API_KEY: "k", ANTHROPIC_API_KEY: "k" };
        const session = await start({ agent: { model: `${provider}/test`, baseUrl: endpoint.url, env } });
        const first = await subject.follow(session);
        await subject.ask("POST", `/v1/sessions/${session}/prompts`, { text: "go" });
        await first.until(({ value }) => value.status === "call_announced");
        again.resolve();
        await first.until(({ value }) => value.type === "text_delta" && value.text === "It is 42.");
        const joined = await subject.follow(session);
        await joined.until(({ value }) => value.type === "text_delta");
        expect([draftOf(first), draftOf(joined)]).toEqual([{ text: "It is 42.", calls: [] }, { text: "It is 42.", calls: [] }]);
        go.resolve();
        for (const reader of [first, joined]) {
          await reader.until(({ value }) => value.type === "reply_committed");
          expect(draftOf(reader).text).toBe("It is 42. Really.");
        }
      } finally {
        await endpoint.close();
      }
    });
  }
});

describe("an event stream that is joined in the middle", () => {
  test("begins with all that is live: text, reasoning, announced calls; and goes on from there", async () => {
    const session = await start({
      script: [{
        stream: [
          { reasoning: "hm" },
          { text: "half " },
          { text: "of " },
          { call: { index: 0, id: "a", name: "nothing", arguments: {} } },
          { wait_ms: 60_000, text: "it" },
        ],
      }],
    });
    const first = await subject.follow(session);
    await subject.ask("POST", `/v1/sessions/${session}/prompts`, { text: "go" });
    await first.until(({ value }) => value.status === "call_announced");
    const seen = Math.max(...ids(first));
    for (const last of [0, 1, seen]) {
      const reader = await subject.follow(session, { last });
      await reader.until(({ value }) => value.status === "call_announced");
      expect([liveText(reader, "text_delta"), liveText(reader, "reasoning_delta")]).toEqual(["half of ", "hm"]);
      expect(ids(reader)).toEqual(upTo(seen).slice(last));
      // A client that has kept what it had has nothing twice.
      expect(liveText(reader, "text_delta", "half ")).toBe("half of ");
      const live = reader.messages.filter(({ id }) => id === null);
      expect(live.map(({ value }) => value.whole)).toEqual([true, true, true]);
      expect(reader.messages.slice(-live.length)).toEqual(live);
      reader.cut();
    }
    first.cut();
    await subject.ask("POST", `/v1/sessions/${session}/cancel`, {});
  });

  test("has the output so far of a call that runs, and nothing of it when the call has ended", async () => {
    const session = await start({
      prepare: (workspace) => workspace.tool("act", "echo one; echo two; while [ ! -e go ]; do sleep 0.02; done; echo three"),
      script: [{ calls: [call("act")] }, { text: "done" }],
    });
    const first = await subject.follow(session);
    const turn = prompt(session);
    while (liveText(first, "call_output") !== "one\ntwo\n") {
      await first.until(({ value }) => value.type === "call_output").then(() => delay(5));
    }
    first.cut();
    const second = await subject.follow(session);
    await second.until(({ value }) => value.type === "call_output");
    expect(liveText(second, "call_output")).toBe("one\ntwo\n");
    await subject.workspace.write("go", "");
    await second.until(({ value }) => value.type === "turn_ended");
    expect(liveText(second, "call_output")).toBe("one\ntwo\nthree\n");
    second.cut();
    await turn;
    const { seq } = (await subject.ask("GET", `/v1/sessions/${session}`)).body;
    const third = await subject.follow(session);
    await third.until(({ id }) => id === String(seq));
    expect(third.messages.every(({ id }) => id !== null)).toBe(true);
    third.cut();
  });

  test(
    "and cut and joined again at any point has the reply's text at every point, whether its client keeps a draft or not (property)",
    async () => {
      const pieces = Array.from({ length: 60 }, (_each, index) => `${index}${index % 2 === 0 ? "é" : "😀"} `);
      const whole = pieces.join("");
      const session = await start({ script: Array.from({ length: 6 }, () => ({ text: pieces, delay_ms: 3 })) });
      await fc.assert(
        fc.asyncProperty(
          fc.array(fc.record({ events: fc.integer({ min: 1, max: 12 }), keeps: fc.boolean() }), { maxLength: 8 }),
          async (cuts) => {
            let last = (await subject.ask("GET", `/v1/sessions/${session}`)).body.seq as number;
            let draft = "";
            const turn = prompt(session);
            for (const { events, keeps } of [...cuts, { events: Infinity, keeps: true }]) {
              const reader = await subject.follow(session, { last });
              const committed = () => reader.messages.some(({ value }) => value.type === "reply_committed");
              await reader.until(() => committed() || reader.messages.filter(({ value }) => value.type === "text_delta").length >= events);
              reader.cut();
              const seen = ids(reader);
              expect(seen).toEqual(Array.from(seen, (_each, index) => last + 1 + index));
              last += seen.length;
              if (committed()) {
                // All of it came before the reply did, or the reply was there when it joined.
                const before = liveText(reader, "text_delta", draft);
                expect(before === draft || before === whole).toBe(true);
                break;
              }
              const text = liveText(reader, "text_delta", draft);
              expect(whole.startsWith(text)).toBe(true);
              expect(text.length).toBeGreaterThanOrEqual(draft.length);
              draft = keeps ? text : "";
            }
            await turn;
          },
        ),
        { numRuns: 6, seed: 20261130 },
      );
    },
    60_000,
  );
});

describe("an event stream", () => {
  test("begins at the beginning, carries ids on durable events only, and no event field", async () => {
    const session = await start({
      prepare: (workspace) => workspace.tool("hello", "echo hi; sleep 0.1"),
      script: [{ text: "let me", calls: [call("hello")] }, { text: "done" }],
    });
    const reader = await subject.follow(session);
    expect(reader.status).toBe("200");
    expect(reader.head.toLowerCase()).toMatch(/content-type: text\/event-stream/);
    expect(reader.head.toLowerCase()).toMatch(/cache-control: no-cache, no-transform/);
    expect(reader.head.toLowerCase()).toMatch(/x-accel-buffering: no/);
    await prompt(session);
    await reader.until(({ value }) => value.type === "turn_ended");
    const { seq } = (await subject.ask("GET", `/v1/sessions/${session}`)).body;
    expect(ids(reader)).toEqual(upTo(seq));
    for (const { id, event, value } of reader.messages) {
      expect(event).toBe("message");
      expect(id === null).toBe(value.seq === undefined);
      if (id !== null) expect(value.seq).toBe(Number(id));
    }
    const live = reader.messages.filter(({ id }) => id === null).map(({ value }) => value.type);
    expect(live).toContain("text_delta");
    expect(live).toContain("call_output");
    reader.cut();
  });

  test("shows live events in their place between the durable ones", async () => {
    const session = await start({ script: [{ text: ["a", "b", "c"] }] });
    const reader = await subject.follow(session);
    await prompt(session);
    await reader.until(({ value }) => value.type === "turn_ended");
    const types = reader.messages.map(({ value }) => value.type as string);
    const [begun, committed] = [types.indexOf("attempt_started"), types.indexOf("reply_committed")];
    expect(types.slice(begun + 1, committed)).toEqual(["text_delta", "text_delta", "text_delta"]);
    reader.cut();
  });

  test("goes on behind Last-Event-ID or after; the header goes before the query", async () => {
    const session = await start();
    await prompt(session);
    const { seq } = (await subject.ask("GET", `/v1/sessions/${session}`)).body;
    for (const options of [{ last: 3 }, { query: "?after=3" }, { last: 3, query: "?after=1" }, { last: 3, query: "?after=5" }]) {
      const reader = await subject.follow(session, options);
      await reader.until(({ id }) => id === String(seq));
      expect(ids(reader)).toEqual(upTo(seq).slice(3));
      reader.cut();
    }
  });

  test("sends nothing recorded to who has it all, and then what happens", async () => {
    const session = await start({ script: [{ text: "one" }, { text: "two" }] });
    await prompt(session);
    const { seq } = (await subject.ask("GET", `/v1/sessions/${session}`)).body;
    const reader = await subject.follow(session, { last: seq });
    await prompt(session);
    await reader.until(({ value }) => value.type === "turn_ended");
    expect(ids(reader)[0]).toBe(seq + 1);
    reader.cut();
  });

  test("answers a cursor that cannot be served with a reset, then the log from its beginning", async () => {
    const session = await start();
    for (const last of ["99", "nonsense", "-1", "1.5", "1000000000000000", "99999999999999999999"]) {
      const reader = await subject.follow(session, { last });
      const reset = await reader.until(({ event }) => event === "reset");
      expect(reset).toMatchObject({ id: null, value: { type: "reset", reason: "ahead", after: last === "99" ? 99 : null, head: 1 } });
      await reader.until(({ id }) => id === "1");
      expect(reader.messages.map(({ event }) => event)).toEqual(["reset", "message"]);
      reader.cut();
    }
    expect((await subject.follow(session, { query: "?after=x" })).status).toBe("422");
    const page = await subject.ask("GET", `/v1/sessions/${session}/events`, undefined, { "last-event-id": "nonsense" });
    expect([page.status, page.body.detail]).toEqual([
      409,
      `Cannot give events behind an id that is none of its events as the log of session "${session}" ends at 1`,
    ]);
  });

  test("is joined by a client a hundred times at any moment without a gap or a double", async () => {
    const session = await start({ script: [...burst(12), { text: "done" }] });
    const turn = prompt(session);
    const seen: number[] = [];
    let state = 88172645463325252n;
    const random = (below: number) => {
      state ^= (state << 13n) & 0xffff_ffff_ffff_ffffn;
      state ^= state >> 7n;
      state ^= (state << 17n) & 0xffff_ffff_ffff_ffffn;
      return Number(state % BigInt(below));
    };
    for (let connection = 0; connection < 100; connection++) {
      const last = seen[seen.length - 1];
      const reader = await subject.follow(session, last === undefined ? {} : { last });
      const wanted = random(80);
      await Promise.race([reader.until(() => ids(reader).length >= wanted), turn]);
      reader.cut();
      seen.push(...ids(reader));
    }
    await turn;
    const { seq } = (await subject.ask("GET", `/v1/sessions/${session}`)).body;
    const rest = await subject.follow(session, { last: seen[seen.length - 1] ?? 0 });
    if ((seen[seen.length - 1] ?? 0) < seq) await rest.until(({ id }) => id === String(seq));
    rest.cut();
    seen.push(...ids(rest));
    expect(seq).toBeGreaterThan(4500);
    expect(seen).toEqual(upTo(seq));
  }, 60_000);

  test("brings a burst of thousands of events to many readers, all of them, in order", async () => {
    const session = await start({ script: [...burst(8), { text: "done" }] });
    const readers = await Promise.all(Array.from({ length: 20 }, () => subject.follow(session)));
    await prompt(session);
    const { seq } = (await subject.ask("GET", `/v1/sessions/${session}`)).body;
    expect(seq).toBeGreaterThan(3000);
    for (const reader of readers) {
      await reader.until(({ id }) => id === String(seq));
      expect(ids(reader)).toEqual(upTo(seq));
      reader.cut();
    }
  }, 30_000);

  test("cannot be forged by what tools and models write", async () => {
    const nasty = [
      '\r\rdata: {"x":1}\r\r',
      "\n\nevent: approval\ndata: {}\n\n",
      "id: 99\u2028\u2029\u0085",
      "nul \u0000 bell \u0007",
      "",
      "lone \ud800 half",
      "é😀",
    ];
    const session = await start({
      prepare: (workspace) => workspace.tool("shout", 'printf "%b" "\\r\\rid: 77\\rdata: {}\\r\\r\\n\\nevent: approval\\ndata: {}\\n\\n"'),
      script: [{ text: nasty, calls: [call("shout"), ...nasty.map((name, index) => call(`x${name}`, { index, name }))] }, {
        text: nasty.join(""),
      }],
    });
    const reader = await subject.follow(session);
    await prompt(session);
    await reader.until(({ value }) => value?.type === "turn_ended");
    const page = (await subject.ask("GET", `/v1/sessions/${session}/events?limit=1000`)).body;
    expect(reader.messages.filter(({ id }) => id !== null).map(({ value }) => value)).toEqual(page.events);
    expect(reader.messages.every(({ event, value }) => event === "message" && value !== null)).toBe(true);
    expect(ids(reader)).toEqual(upTo(page.head));
    reader.cut();
  }, 30_000);

  test("follows a session that another runtime drives", async () => {
    await start();
    const other = await subject.another({ model: await subject.workspace.script({ text: "from elsewhere" }) }).create();
    await other.settled();
    const reader = await subject.follow(other.id);
    await reader.until(({ id }) => id === "1");
    await other.prompt("go", { source: "test" });
    await reader.until(({ value }) => value.type === "turn_ended");
    expect(ids(reader)).toEqual(upTo(other.state().seq));
    expect((await subject.ask("GET", `/v1/sessions/${other.id}`)).body).toMatchObject({ status: "idle", seq: other.state().seq });
    reader.cut();
  });

  test("answers HEAD with a head, and keeps no reader for it", async () => {
    const session = await start();
    const response = await fetch(`${subject.server.url}/v1/sessions/${session}/events`, {
      method: "HEAD",
      headers: { authorization: `Bearer ${subject.token}`, accept: "text/event-stream" },
    });
    expect([response.status, response.headers.get("content-type")]).toEqual([200, "text/event-stream; charset=utf-8"]);
    expect(subject.server.desk.counts.readers).toBe(0);
  });

  test("is refused with 429 when too many are open", async () => {
    const session = await start({ server: { max_readers: 2 } });
    const readers = [await subject.follow(session), await subject.follow(session)];
    for (const reader of readers) await reader.until(({ id }) => id === "1");
    expect((await subject.follow(session)).status).toBe("429");
    for (const reader of readers) reader.cut();
  });
});

describe("the same events", () => {
  test("come as JSON lines, and end with the recorded ones if that is asked for", async () => {
    const session = await start();
    await prompt(session);
    const { head, events } = (await subject.ask("GET", `/v1/sessions/${session}/events?limit=1000`)).body;
    const formOf = async (accept: string) => {
      const { headers } = await subject.ask("GET", `/v1/sessions/${session}/events?follow=false`, undefined, { accept });
      expect(headers.get("vary")).toBe("Accept");
      return headers.get("content-type")?.split(";")[0];
    };
    const forms = ["*/*", "text/event-stream;q=0", "application/json;q=0, */*", "text/*, application/json;q=0.1", "image/png"];
    expect(await Promise.all(forms.map(formOf))).toEqual([
      "application/json",
      "application/json",
      "text/event-stream",
      "text/event-stream",
      "application/json",
    ]);
    for (const [accept, split] of [["application/x-ndjson", "\n"], ["text/event-stream", "\n\n"]] as const) {
      const { headers, text } = await subject.ask("GET", `/v1/sessions/${session}/events?follow=false`, undefined, { accept });
      expect(headers.get("content-type")?.startsWith(accept)).toBe(true);
      const parsed = text.split(split).filter((part) => part.includes("{")).map((part) => JSON.parse(part.slice(part.indexOf("{"))));
      expect(parsed).toEqual(events);
    }
    const nothing = await subject.ask("GET", `/v1/sessions/${session}/events?follow=false&after=${head}`, undefined, {
      accept: "application/x-ndjson",
    });
    expect(nothing.text).toBe("");
  });

  test("come as pages of JSON, each with where to go on", async () => {
    const session = await start({ script: [...burst(2), { text: "done" }] });
    await prompt(session);
    const seen: number[] = [];
    for (let after: number | undefined = 0; after !== undefined;) {
      const page: { events: { seq: number }[]; next?: number; head: number } =
        (await subject.ask("GET", `/v1/sessions/${session}/events?limit=70&after=${after}`)).body;
      expect(page.events.length).toBeLessThanOrEqual(70);
      seen.push(...page.events.map(({ seq }) => seq));
      after = page.next;
      if (after === undefined) expect(seen).toEqual(upTo(page.head));
    }
    const ahead = await subject.ask("GET", `/v1/sessions/${session}/events?after=999999`);
    expect([ahead.status, ahead.body.type]).toEqual([409, "urn:orrery:problem:cursor_ahead"]);
  }, 30_000);
});
