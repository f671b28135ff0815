/** What a server may do wrong, by mistake or on purpose. */
import { describe, expect, test } from "bun:test";
import { mkdtemp, readFile, realpath, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fixture, openRoom, stdio, until } from "../../fixtures/mcp/room.ts";

const LIMIT = 30_000;
const QUICK = { backoff: { first: 20, most: 100 } };

async function inFolder(work: (folder: string) => Promise<void>): Promise<void> {
  const folder = await realpath(await mkdtemp(join(tmpdir(), "orrery-test-")));
  try {
    await work(folder);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

describe("a handshake", () => {
  test("survives what a server prints for people", async () => {
    await using opened = await openRoom([fixture("s", "noise")]);
    expect((await opened.call("mcp__s__echo", { a: 1 })).result.text).toBe('echo {"a":1}');
  }, LIMIT);

  test("that fails is told with the server's name, its exit code and the end of its stderr", async () => {
    await using opened = await openRoom([fixture("s", "exit"), fixture("good")]);
    expect(opened.notices.map(({ text }) => text)).toEqual([
      'The MCP server "s" cannot be used, and its tools are not offered: it ended the connection (exit code 3). The end of its stderr:\nfixture exit starts\ncannot open the database: no such file',
    ]);
    expect(opened.names()).toContain("mcp__good__echo");
  }, LIMIT);

  test("that is refused is told in the server's words", async () => {
    await using opened = await openRoom([fixture("s", "refuse")]);
    expect(opened.notices[0]?.text).toContain("the licence has run out");
  }, LIMIT);

  test("that is refused by a server that then says nothing more is told in its words, and soon", async () => {
    await using opened = await openRoom([fixture("s", "refuse-then-mute")], { patience: { connect: 20_000, guess: 200 } });
    expect(opened.notices[0]?.text).toContain("the licence has run out");
    expect(opened.notices[0]?.text).not.toContain("in time");
  }, 15_000);

  test("that is answered with nonsense shows it", async () => {
    await using opened = await openRoom([fixture("s", "nonsense")], { patience: { connect: 20_000, guess: 200 } });
    expect(opened.notices[0]?.text).toContain('no answer of the protocol: {"result":"welcome"}');
  }, 15_000);

  test("takes an older revision, refuses one that nobody knows, and speaks the newer handshake where there is no other", async () => {
    const servers = [fixture("old", "old"), fixture("future", "future"), fixture("modern", "modern")];
    await using opened = await openRoom(servers, { patience: { connect: 20_000 } });
    expect(opened.room.status().map(({ state }) => state)).toEqual(["ready", "waiting", "ready"]);
    expect((await opened.call("mcp__modern__echo", { a: 1 })).result.text).toBe('echo {"a":1}');
  }, LIMIT);

  test("is not tried again with a program that is not there", async () => {
    await using opened = await openRoom([stdio("s", "/no/such/program")], { patience: QUICK });
    expect(opened.notices[0]?.text).toContain("ENOENT");
    await new Promise((resolve) => setTimeout(resolve, 200));
    expect(opened.notices).toHaveLength(1);
  }, LIMIT);

  test("that fails again and again is tried six times and reported once", async () => {
    await using opened = await openRoom([fixture("s", "exit")], { patience: QUICK });
    await until("it was tried six times", () => opened.conversations.opened.length === 6);
    await new Promise((resolve) => setTimeout(resolve, 400));
    expect([opened.conversations.opened.length, opened.notices.length]).toEqual([6, 1]);
  }, LIMIT);
});

describe("a list", () => {
  test("that never comes is a failed handshake", async () => {
    await using opened = await openRoom([fixture("s", "no-list")], { patience: { connect: 2000 } });
    expect(opened.notices[0]?.text).toContain("it did not finish the handshake in time");
    expect(opened.conversations.alive()).toEqual([]);
  }, LIMIT);

  test("in pages is read to its end, and one that goes round in a circle only once", async () => {
    await using opened = await openRoom([fixture("pages", "pages"), fixture("circle", "circle")]);
    expect(opened.room.status().map(({ tools }) => tools)).toEqual([7, 2]);
    expect(opened.notices.map(({ text }) => text)).toEqual([
      expect.stringContaining("leads back to a page that was read already") as never,
    ]);
  }, LIMIT);

  test("of more tools than anybody needs is cut, and that is said", async () => {
    await using opened = await openRoom([fixture("s", "many")]);
    expect(opened.room.status()[0]?.tools).toBe(256);
    expect(opened.notices[0]?.text).toContain("it has more than 256 tools; the rest is left out");
  }, LIMIT);

  test("with broken schemas has the other tools", async () => {
    await using opened = await openRoom([fixture("s", "schemas")]);
    const broken = opened.room.candidates().flatMap((candidate) => candidate.kind === "broken" ? [candidate.reason] : []);
    expect(broken.map((reason) => /"(broken|remote)"|no name|not an object/.exec(reason)?.[0])).toEqual([
      "no name",
      "not an object",
      '"broken"',
      '"remote"',
    ]);
    expect(opened.names()).toHaveLength(11);
    expect((await opened.call("mcp__s__bad-output", {})).result.is_error).toBe(false);
  }, LIMIT);
});

describe("a flood", () => {
  test("of messages ends its own connection and nothing else", async () => {
    await using opened = await openRoom([fixture("s", "flood"), fixture("good")], {
      patience: { backoff: { first: 60_000, most: 60_000 } },
    });
    await until("the flood is noticed", () => opened.notices.some(({ text }) => text.includes("that nobody had asked for")));
    expect((await opened.call("mcp__good__echo", {})).result.is_error).toBe(false);
    await until("it is gone", () => opened.conversations.alive().length === 1);
  }, LIMIT);

  test("is what it says: of messages about progress, 4900 in a moment are none, and 5100 are one", async () => {
    await using opened = await openRoom([fixture("s", "progress")], { patience: { backoff: { first: 60_000, most: 60_000 } } });
    expect((await opened.call("mcp__s__echo", { times: 4900 })).result.text).toBe('echo {"times":4900}');
    await opened.call("mcp__s__echo", { times: 200 });
    await until("the flood is noticed", () => opened.notices.some(({ text }) => text.includes("more than 5000 messages in 10 s")));
  }, LIMIT);

  test("of one line ends the process", async () => {
    await using opened = await openRoom([fixture("s", "flood-line")], { patience: { backoff: { first: 60_000, most: 60_000 } } });
    expect(opened.notices[0]?.text).toContain("longer than 8388608 bytes");
  }, LIMIT);

  test("of text in a result is cut in the middle", async () => {
    await using opened = await openRoom([fixture("s", "big")]);
    const { result, truncated } = await opened.call("mcp__s__echo");
    expect(truncated).toEqual({ stdout_bytes: 400_000, stderr_bytes: 0 });
    expect(Buffer.byteLength(result.text)).toBeLessThan(100_100);
  }, LIMIT);
});

describe("a call", () => {
  test(
    "whose server dies has an unknown outcome, is not sent again, and the next one reaches the next process",
    () =>
      inFolder(async (folder) => {
        const log = join(folder, "log");
        await using opened = await openRoom([fixture("s", "good", log)], { patience: QUICK });
        const { run, result } = await opened.call("mcp__s__die");
        expect(run.outcome).toEqual({ kind: "unknown", cause: "server_lost" });
        expect(result.text).toContain("may or may not have taken effect");
        expect(result.text).toContain("exit code 7");
        expect((await opened.call("mcp__s__echo")).result.is_error).toBe(false);
        expect(await readFile(log, "utf8")).toBe("called die\ncalled echo\n");
        expect(opened.conversations.alive()).toEqual(opened.conversations.opened.slice(1));
        expect(opened.notices.map(({ code }) => code)).toEqual(["mcp_server_lost", "mcp_server_back"]);
      }),
    LIMIT,
  );

  test("that is not answered ends at its deadline, and its server is told", () =>
    inFolder(async (folder) => {
      const log = join(folder, "log");
      await using opened = await openRoom([fixture("s", "good", log)], { patience: { call: 300 } });
      const { run, result } = await opened.call("mcp__s__hang");
      expect([run.outcome, result.is_error]).toEqual([{ kind: "timed_out", after_ms: 300 }, true]);
      expect((await opened.call("mcp__s__echo")).result.is_error).toBe(false);
      expect(await readFile(log, "utf8")).toMatch(/^called hang\ncancelled \d+\ncalled echo\n$/);
    }), LIMIT);

  test("that is cancelled ends at once, and its server is told", () =>
    inFolder(async (folder) => {
      const log = join(folder, "log");
      await using opened = await openRoom([fixture("s", "good", log)]);
      const stop = new AbortController();
      const called = opened.call("mcp__s__hang", {}, stop.signal);
      const logged = async (word: string) => (await readFile(log, "utf8").catch(() => "")).includes(word);
      while (!await logged("called hang")) await new Promise((resolve) => setTimeout(resolve, 5));
      stop.abort();
      expect((await called).run.outcome).toEqual({ kind: "cancelled" });
      expect((await opened.call("mcp__s__echo")).result.is_error).toBe(false);
      expect(await logged("cancelled")).toBe(true);
    }), LIMIT);

  test("that was cancelled before it began is not sent", () =>
    inFolder(async (folder) => {
      const log = join(folder, "log");
      await using opened = await openRoom([fixture("s", "good", log)]);
      expect((await opened.call("mcp__s__echo", {}, AbortSignal.abort())).run.outcome).toEqual({
        kind: "not_started",
        reason: "cannot_start",
      });
      expect(await readFile(log, "utf8").catch(() => "nothing")).toBe("nothing");
    }), LIMIT);

  test("gets its own answer among answers to nobody", async () => {
    await using opened = await openRoom([fixture("s", "wrong-id")]);
    expect((await opened.call("mcp__s__echo")).result.text).toBe("for you");
  }, LIMIT);

  test("that the server refuses, or answers with nonsense, is an error that the model can read", async () => {
    await using opened = await openRoom([fixture("error", "error"), fixture("odd", "no-result")]);
    const [refused, odd] = [await opened.call("mcp__error__echo"), await opened.call("mcp__odd__echo")];
    expect([refused.run.outcome.kind, refused.result]).toEqual(["returned", {
      is_error: true,
      text: "mcp__error__echo was refused by its server: the disk is full",
    }]);
    expect([odd.run.outcome.kind, odd.result.is_error]).toEqual(["returned", true]);
  }, LIMIT);

  test("after the room is closed is not sent", async () => {
    await using opened = await openRoom([fixture("s")]);
    const tool = opened.tool("mcp__s__echo");
    await opened.room.close();
    const run = await tool.plan({ value: {}, text: "{}" }).call(new AbortController().signal);
    expect([run.outcome.kind, run.problem]).toEqual(["not_started", "the session is over"]);
  }, LIMIT);
});

describe("reconnecting", () => {
  test("never has two processes of one server", () =>
    inFolder(async (folder) => {
      await using opened = await openRoom([fixture("s", "good", join(folder, "log"))], { patience: QUICK });
      for (let round = 0; round < 3; round++) {
        await opened.call("mcp__s__die");
        expect(opened.conversations.alive().length).toBeLessThan(2);
        await opened.call("mcp__s__echo");
        expect(opened.conversations.alive()).toHaveLength(1);
      }
      expect(opened.conversations.opened).toHaveLength(4);
    }), LIMIT);

  test("finds a server that died on its own", () =>
    inFolder(async (folder) => {
      await using opened = await openRoom([fixture("s", "once", join(folder, "mark"))], { patience: QUICK });
      await until("it is back", () => opened.notices.some(({ code }) => code === "mcp_server_back"));
      expect((await opened.call("mcp__s__echo")).result.is_error).toBe(false);
    }), LIMIT);
});
