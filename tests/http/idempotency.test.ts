import { describe, expect, test } from "bun:test";
import { Hono } from "hono";
import type { AppEnv } from "../../lib/http/env.ts";
import { type KeyLimits, KEYS, replayByKey } from "../../lib/http/idempotency.ts";
import { problemResponse, toProblem } from "../../lib/http/problem.ts";

/** An app that counts what it does, and refuses what is blank. What is sent is the `text` of a body. */
function counting(limits: Partial<KeyLimits> = {}) {
  let done = 0;
  const app = new Hono<AppEnv>();
  app.onError((error, c) => problemResponse(toProblem(error), c));
  app.use(async (c, next) => {
    c.set("body", await c.req.json());
    await next();
  }, replayByKey(() => false, { ...KEYS, ...limits }));
  app.post("/do/:what?", (c) => {
    const { text } = c.get("body") as { text: string };
    return text === "" ? c.text("refused", 422) : c.text(`${++done} ${text}`);
  });
  const sendTo = async (path: string, key: string, body: string) => {
    const response = await app.request(path, { method: "POST", headers: { "idempotency-key": key }, body });
    return response.ok ? await response.text() : response.status;
  };
  const send = (key: string, text: string) => sendTo("/do", key, JSON.stringify({ text }));
  return { send, sendTo };
}

describe("a key", () => {
  test("that only a refused request had may be used for another", async () => {
    const { send } = counting();
    expect(await send("k", "")).toBe(422);
    expect(await send("k", "good")).toBe("1 good");
    expect(await send("k", "good")).toBe("1 good");
    expect(await send("k", "other")).toBe(422);
  });

  test("is not forgotten for the sake of requests that were refused", async () => {
    const { send } = counting({ keys: 3 });
    expect(await send("k", "good")).toBe("1 good");
    for (let count = 0; count < 10; count++) await send(`refused-${count}`, "");
    expect(await send("k", "good")).toBe("1 good");
  });

  test("makes one request of all that ask for the same, however they are written and want to be answered", async () => {
    const { sendTo } = counting();
    expect(await sendTo("/do", "k", '{"text":"good","other":1}')).toBe("1 good");
    for (const body of ['{ "other": 1.0, "text": "g\\u006fod" }', '{"text":"good","if_busy":"queue","other":1}']) {
      expect(await sendTo("/do?wait=true", "k", body)).toBe("1 good");
    }
    expect(await sendTo("/do", "k", '{"text":"good"}')).toBe(422);
    expect(await sendTo("/do/it", "k", '{"text":"good"}')).toBe("2 good");
  });

  test("is known as long, and as many are, as the limits say", async () => {
    const { send } = counting({ keys: 3 });
    for (const key of ["a", "b", "c", "d"]) await send(key, "x");
    expect(await send("b", "x")).toBe("2 x");
    expect(await send("a", "x")).toBe("5 x");
    const brief = counting({ ms: 0 });
    expect([await brief.send("k", "x"), await brief.send("k", "x")]).toEqual(["1 x", "2 x"]);
    const small = counting({ size: 10 });
    for (const key of ["a", "b"]) await small.send(key, "123456");
    expect([await small.send("b", "123456"), await small.send("a", "123456")]).toEqual(["2 123456", "3 123456"]);
  });

  test("has its limits (a pin)", () => expect(KEYS).toEqual({ keys: 1000, size: 33_554_432, ms: 86_400_000 }));
});
