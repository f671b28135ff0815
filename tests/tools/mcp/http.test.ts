import { describe, expect, test } from "bun:test";
import { capFetch } from "../../../lib/tools/mcp/capped-fetch.ts";
import { type HttpManner, startHttpServer } from "../../fixtures/mcp/http-server.ts";
import { http, openRoom, type TestRoomOptions, until } from "../../fixtures/mcp/room.ts";

const LIMIT = 20_000;

async function over(manner: HttpManner, options: TestRoomOptions = {}) {
  const server = await startHttpServer(manner);
  const opened = await openRoom([http("web", server.url, { Authorization: "Bearer ${TOKEN}" })], { env: { TOKEN: "t0ken" }, ...options });
  return {
    server,
    opened,
    [Symbol.asyncDispose]: async () => {
      await opened[Symbol.asyncDispose]();
      await server[Symbol.asyncDispose]();
    },
  };
}

describe("a server over HTTP", () => {
  test("is called with its headers, its session and the revision that was agreed on", async () => {
    await using setting = await over("json");
    const { opened, server } = setting;
    expect((await opened.call("mcp__web__echo", { a: 1 })).result.text).toBe('{"a":1}');
    const call = server.seen.find(({ method }) => method === "tools/call");
    expect(call?.headers).toMatchObject({
      authorization: "Bearer t0ken",
      "mcp-session-id": "session-1",
      "mcp-protocol-version": "2025-11-25",
    });
  }, LIMIT);

  test("may answer with a stream of events", async () => {
    await using setting = await over("events");
    expect((await setting.opened.call("mcp__web__echo", { a: 1 })).result.text).toBe('{"a":1}');
  }, LIMIT);

  test("gets the digits that the model wrote", async () => {
    await using setting = await over("json");
    const input = { value: { n: 3 }, text: '{"n":3.0}' };
    await setting.opened.tool("mcp__web__echo").plan(input).call(new AbortController().signal);
    expect(setting.server.seen.find(({ method }) => method === "tools/call")?.body).toContain('"arguments":{"n":3.0}');
  }, LIMIT);

  test("is told when its session is over", async () => {
    await using setting = await over("json");
    await setting.opened.room.close();
    expect(setting.server.seen.map(({ http: verb }) => verb)).toContain("DELETE");
  }, LIMIT);

  test("that turns us away is named, and left alone", async () => {
    await using setting = await over("unauthorized", { patience: { backoff: { first: 10, most: 10 } } });
    expect(setting.opened.notices.map(({ text }) => text)).toEqual([
      expect.stringContaining('The MCP server "web" cannot be used') as never,
    ]);
    await new Promise((resolve) => setTimeout(resolve, 200));
    expect(setting.server.seen.filter(({ method }) => method === "initialize")).toHaveLength(1);
  }, LIMIT);

  test("that cannot be used is told with its status, what that means and what it said", async () => {
    const noticeOf = async (manner: HttpManner) => {
      await using setting = await over(manner, { patience: { backoff: { first: 60_000, most: 60_000 } } });
      const text = setting.opened.notices[0]?.text ?? "";
      expect(text).not.toMatch(/CLIENT_HTTP|POSTing|redirectPolicy/);
      return text.slice(text.indexOf(": ") + 2);
    };
    expect(await noticeOf("unauthorized")).toBe(
      'the server answered with status 401, as it wants credentials: give them in headers, such as Authorization = "Bearer ${TOKEN}", and set that variable. It said: who are you?',
    );
    expect(await noticeOf("forbidden")).toContain("status 403, as the credentials that it got may not use it");
    expect(await noticeOf("fault")).toBe("the server answered with status 500, a fault of its own or of a gateway before it. It said: abc");
    expect(await noticeOf("redirects")).toContain("status 307, a redirect, which is not followed");
    expect(await noticeOf("redirects")).toContain("http://localhost:9/elsewhere");
    expect(await noticeOf("page")).toContain("neither JSON nor a stream of events");
  }, LIMIT);

  test("cannot send us elsewhere", async () => {
    await using setting = await over("redirects", { patience: { backoff: { first: 60_000, most: 60_000 } } });
    expect(setting.opened.room.status()[0]?.state).toBe("waiting");
    expect(setting.opened.notices[0]?.text).toContain("redirect");
  }, LIMIT);

  test("that is not there does not keep the room", async () => {
    const gone = await startHttpServer("json");
    await gone[Symbol.asyncDispose]();
    await using opened = await openRoom([http("web", gone.url)], { patience: { backoff: { first: 60_000, most: 60_000 } } });
    expect(opened.notices).toHaveLength(1);
  }, LIMIT);
});

describe("a call over HTTP", () => {
  const outcomeOf = async (manner: HttpManner, options?: TestRoomOptions) => {
    await using setting = await over("json", options);
    setting.server.manner = manner;
    const { run, result } = await setting.opened.call("mcp__web__echo", { a: 1 });
    const sent = setting.server.seen.filter(({ method }) => method === "tools/call").length;
    return { outcome: run.outcome, text: result.text, sent };
  };

  test("whose answer breaks off has an unknown outcome, at once", async () => {
    const { outcome, sent } = await outcomeOf("breaks-off");
    expect([outcome, sent]).toEqual([{ kind: "unknown", cause: "server_lost" }, 1]);
  }, LIMIT);

  test("that a gateway loses has an unknown outcome and is not sent again", async () => {
    const { outcome, sent } = await outcomeOf("fails");
    expect([outcome, sent]).toEqual([{ kind: "unknown", cause: "server_lost" }, 1]);
  }, LIMIT);

  test("whose answer is larger than a message may be has an unknown outcome", async () => {
    expect((await outcomeOf("huge")).outcome).toEqual({ kind: "unknown", cause: "server_lost" });
    expect((await outcomeOf("huge-event")).outcome).toEqual({ kind: "unknown", cause: "server_lost" });
  }, LIMIT);

  test("to a session that the server forgot was not started, and the next one opens another", async () => {
    await using setting = await over("json", { patience: { backoff: { first: 10, most: 50 } } });
    setting.server.manner = "forgets";
    expect((await setting.opened.call("mcp__web__echo")).run.outcome).toEqual({ kind: "not_started", reason: "cannot_start" });
    setting.server.manner = "json";
    expect((await setting.opened.call("mcp__web__echo")).result.is_error).toBe(false);
    const calls = setting.server.seen.filter(({ method }) => method === "tools/call");
    expect(calls.map(({ headers }) => headers["mcp-session-id"])).toEqual(["session-1", "session-2"]);
  }, LIMIT);

  test("that is not answered in time holds no connection", async () => {
    await using setting = await over("json", { patience: { call: 300 } });
    setting.server.manner = "silent";
    expect((await setting.opened.call("mcp__web__echo")).run.outcome).toEqual({ kind: "timed_out", after_ms: 300 });
    await until("the connection is let go", () => setting.server.waiting() === 0);
  }, LIMIT);
});

describe("capFetch()", () => {
  const read = (type: string, text: string, most: number) =>
    capFetch(() => Promise.resolve(new Response(text, { headers: { "content-type": type } })), most)("http://x").then((response) =>
      response.text()
    );

  test("lets a body through that is as large as it may be, and no larger", async () => {
    expect(await read("application/json", "12345", 5)).toBe("12345");
    expect(await read("application/json", "123456", 5).then(() => "whole", String)).toContain("larger than 5 bytes");
  });

  test("counts a stream by its events, whatever ends their lines", async () => {
    for (const end of ["\n\n", "\r\r", "\r\n\r\n"]) {
      const stream = `data: 1${end}`.repeat(100);
      expect(await read("text/event-stream; charset=utf-8", stream, 12)).toBe(stream);
      expect(await read("text/event-stream", `data: 1234567890${end}`, 12).then(() => "whole", String)).toContain("larger than 12 bytes");
    }
  });
});
