import { afterEach, describe, expect, test } from "bun:test";
import { connect, type Socket } from "node:net";
import type { Answer } from "../../lib/http/exchange.ts";
import { LIMITS, listen, type Listener, type ListenLimits } from "../../lib/http/listen.ts";
import { gonePeers, watchPeers } from "../../lib/http/peers.ts";
import { sharedBody } from "../../lib/http/sending.ts";
import { Unsent } from "../../lib/http/unsent.ts";

let listener: Listener | null = null;
let sockets: Socket[] = [];

afterEach(async () => {
  for (const socket of sockets) socket.destroy();
  sockets = [];
  await listener?.close(0);
  listener = null;
});

interface Asked {
  readonly socket: Socket;
  readonly text: () => string;
  readonly closed: Promise<void>;
  /** Resolves when this was received; rejects if the connection ends before. */
  until(part: string): Promise<void>;
}

async function serve(answer: Answer, limits: Partial<ListenLimits> = {}): Promise<void> {
  listener = await listen(answer, { host: "127.0.0.1", port: 0, limits });
}

async function ask(request: string): Promise<Asked> {
  const socket = connect(listener?.port ?? 0, "127.0.0.1");
  sockets.push(socket);
  let text = "";
  socket.on("error", () => undefined).on("data", (bytes: Uint8Array) => void (text += new TextDecoder().decode(bytes)));
  const closed = new Promise<void>((resolve) => void socket.once("close", () => resolve()));
  await new Promise<void>((resolve) => void socket.once("connect", () => resolve()).once("close", () => resolve()));
  socket.write(request);
  const until = (part: string) =>
    new Promise<void>((resolve, reject) => {
      const look = () => {
        if (!text.includes(part)) return;
        socket.off("data", look);
        resolve();
      };
      socket.on("data", look);
      closed.then(() => reject(new Error(`closed after: ${text}`)));
      look();
    });
  return { socket, text: () => text, closed, until };
}

const refuse = () => new Response("refused", { status: 401 });
const problemIn = (text: string) =>
  JSON.parse(text.slice(text.indexOf("\r\n\r\n") + 4)) as { type: string; request_id: string; status: number };

test("its limits (a pin)", () => {
  expect(LIMITS).toEqual({
    head_ms: 5000,
    request_ms: 60_000,
    idle_ms: 30_000,
    check_ms: 1000,
    head_bytes: 16_384,
    connections: 2048,
    linger_bytes: 16_777_216,
    linger_ms: 2000,
    stall_ms: 20_000,
    unsent_bytes: 268_435_456,
    unsent_ms: 1000,
    peers_ms: 5000,
  });
});

describe("a body that nobody wants", () => {
  const POST = "POST /x HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999\r\n\r\n";

  test("is taken only so far, and its client reads the answer", async () => {
    await serve(refuse, { linger_bytes: 1024 * 1024, linger_ms: 30_000 });
    const asked = await ask(POST);
    await asked.until("refused");
    let sent = 0;
    const piece = new Uint8Array(256 * 1024);
    const feed = () => {
      while (sent < 1e9 && !asked.socket.destroyed && asked.socket.write(piece)) sent += piece.length;
    };
    asked.socket.on("drain", feed);
    feed();
    await asked.closed;
    // What the two kernels hold between them comes on top.
    expect(sent).toBeLessThan(64 * 1024 * 1024);
    expect(asked.text().toLowerCase()).toContain("connection: close");
  }, 30_000);

  test("is waited for only so long", async () => {
    await serve(refuse, { linger_ms: 50 });
    const asked = await ask(POST);
    await asked.until("refused");
    await asked.closed;
  });

  test("that is small leaves its connection in use", async () => {
    await serve(async (request) => new Response(await request.text()));
    const asked = await ask("POST /x HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\none");
    await asked.until("one");
    asked.socket.write("POST /x HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\ntwo");
    await asked.until("two");
  });
});

describe("what is no request", () => {
  const cases: Readonly<Record<string, readonly [string, number, string]>> = {
    "garbage": ["garbage\r\n\r\n", 400, "bad_request"],
    "a head that is too large": [`GET / HTTP/1.1\r\nHost: x\r\nX: ${"a".repeat(20_000)}\r\n\r\n`, 431, "headers_too_large"],
  };
  for (const [name, [request, status, code]] of Object.entries(cases)) {
    test(`is answered with a problem: ${name}`, async () => {
      await serve(() => new Response("ok"));
      const asked = await ask(request);
      await asked.until("request_id");
      expect(asked.text()).toContain(`HTTP/1.1 ${status} `);
      expect(asked.text().toLowerCase()).toContain("application/problem+json");
      expect(asked.text().toLowerCase()).toContain("x-content-type-options: nosniff");
      expect(problemIn(asked.text())).toMatchObject({ type: `urn:orrery:problem:${code}`, status, request_id: expect.any(String) });
    });
  }
});

test("what is no request is answered behind the answers that are on their way on its connection", async () => {
  await serve(async (request) => {
    await new Promise((resolve) => setTimeout(resolve, 200));
    return new Response(`asked ${await request.text()}`);
  });
  const asked = await ask("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nonegarbage\r\n\r\nmore\r\n\r\n");
  await asked.closed;
  expect(asked.text().match(/HTTP\/1\.1 \d+/g)).toEqual(["HTTP/1.1 200", "HTTP/1.1 400"]);
  expect(asked.text()).toContain("asked one");
});

describe("what wants more than an answer", () => {
  const seen: string[] = [];
  const look = (request: Request, connection: { request(): { method: string; target: string } }) => {
    const { method, target } = connection.request();
    seen.push(`${method} ${target} ${request.headers.get("expect") ?? "nothing"}`);
    return new Response("no", { status: 405 });
  };

  test("gets the one that the app has: an expectation that nobody knows, and a tunnel", async () => {
    await serve(look);
    const expecting = await ask("POST / HTTP/1.1\r\nHost: x\r\nExpect: foo\r\nContent-Length: 2\r\n\r\n{}");
    await expecting.until("no");
    for (const target of ["example.com:443", "/"]) {
      const tunnel = await ask(`CONNECT ${target} HTTP/1.1\r\nHost: x\r\n\r\nbytes of the tunnel`);
      await tunnel.closed;
      expect(tunnel.text()).toMatch(/^HTTP\/1\.1 405 [\s\S]*connection: close\r\n\r\nno$/);
    }
    expect(seen).toEqual(["POST / foo", "CONNECT example.com:443 nothing", "CONNECT / nothing"]);
  });
});

describe("a connection", () => {
  test("that does not send its head in time is told so and closed, by the limits that hold", async () => {
    await serve(() => new Response("ok"));
    const asked = await ask("GET / HTTP/1.1\r\nHost: x\r\n");
    await asked.closed;
    expect(asked.text()).toMatch(/^HTTP\/1\.1 408 /);
    expect(problemIn(asked.text())).toMatchObject({ type: "urn:orrery:problem:request_too_slow", status: 408 });
  }, 30_000);

  test("that does not send its body in time is closed", async () => {
    await serve(async (request) => new Response(await request.text()), { head_ms: 100, request_ms: 200, check_ms: 50 });
    const asked = await ask("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nfive");
    await asked.closed;
  }, 10_000);

  test("that asks nothing more is closed after a while", async () => {
    await serve(() => new Response("ok"), { idle_ms: 100, check_ms: 50 });
    const asked = await ask("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
    await asked.until("ok");
    await asked.closed;
  }, 10_000);

  test("beyond the last one is closed", async () => {
    await serve((request) => new Response(request.headers.get("x-say") ?? "ok"), { connections: 2 });
    const [first, second] = [await ask("GET / HTTP/1.1\r\nHost: x\r\n\r\n"), await ask("GET / HTTP/1.1\r\nHost: x\r\n\r\n")];
    await Promise.all([first.until("ok"), second.until("ok")]);
    const third = await ask("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
    await third.closed;
    expect(third.text()).toBe("");
    second.socket.write("GET / HTTP/1.1\r\nHost: x\r\nX-Say: again\r\n\r\n");
    await second.until("again");
  }, 10_000);
});

/** More than the kernel takes for both ends. */
const LARGE = 24 * 1024 * 1024;
const GET = "GET / HTTP/1.1\r\nHost: x\r\n\r\n";

describe("an answer that is not taken", () => {
  /** Asks and reads only the beginning of what comes. */
  async function askAndStop(request = GET): Promise<Asked> {
    const asked = await ask(request);
    await asked.until("200");
    asked.socket.pause();
    return asked;
  }

  const large = {
    "that is held for its client": () => new Response("x".repeat(LARGE)),
    "that others are given too": () => {
      const headers = { "content-length": String(LARGE) };
      return new Response(sharedBody(new Uint8Array(LARGE).fill(120)), { headers });
    },
  };
  for (const [which, answer] of Object.entries(large)) {
    test(`has its connection ended: one ${which}`, async () => {
      await serve(answer, { stall_ms: 300 });
      const asked = await askAndStop();
      // Ends when every answer is out, or after longer than this test may take.
      await listener?.close(600_000);
      asked.socket.resume();
      await asked.closed;
      expect(asked.text().length).toBeLessThan(LARGE);
    }, 20_000);

    test(`is sent whole to who takes it slowly: one ${which}`, async () => {
      await serve(answer, { stall_ms: 1500 });
      const asked = await ask(GET);
      let taken = 0;
      asked.socket.on("data", (bytes: Uint8Array) => {
        taken += bytes.length;
        asked.socket.pause();
        setTimeout(() => asked.socket.resume(), bytes.length / 5000);
      });
      while (taken < LARGE) await new Promise((resolve) => setTimeout(resolve, 20));
      asked.socket.write(GET.replace("GET", "HEAD"));
      await asked.until("x".repeat(20) + "HTTP/1.1 200");
      expect(asked.text().toLowerCase()).toContain(`content-length: ${LARGE}\r\n`);
    }, 30_000);
  }

  test("is not what waits behind an answer that is still being made", async () => {
    const answers = [
      () => new Promise<Response>((resolve) => setTimeout(() => resolve(new Response("first")), 1000)),
      () => new Response(`${"x".repeat(1_000_000)}second`),
    ];
    await serve(() => answers.shift()?.() ?? refuse(), { stall_ms: 200 });
    const asked = await ask(GET + GET);
    await asked.until("second");
    expect(asked.text()).toContain("first");
  }, 20_000);

  test("costs the connection that took nothing for the longest time, once all of them hold too much", async () => {
    await serve(large["that is held for its client"], { stall_ms: 600_000, unsent_bytes: LARGE * 1.5, unsent_ms: 50 });
    const first = await askAndStop();
    await new Promise((resolve) => setTimeout(resolve, 100));
    const second = await askAndStop();
    await new Promise((resolve) => setTimeout(resolve, 500));
    const closing = listener?.close(600_000);
    second.socket.resume();
    await closing;
    await second.closed;
    first.socket.resume();
    await first.closed;
    expect(second.text().length).toBeGreaterThan(LARGE);
    expect(first.text().length).toBeLessThan(LARGE);
  }, 30_000);

  test("is kept for those who took something just now", async () => {
    const gone: string[] = [];
    const unsent = new Unsent(100, 60_000);
    const held = [unsent.hold(90, () => gone.push("a")), unsent.hold(90, () => gone.push("b"))];
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(gone).toEqual([]);
    for (const each of held) each.release();
    const others = new Unsent(100, 0);
    const oldest = others.hold(60, () => gone.push("a"));
    await new Promise((resolve) => setTimeout(resolve, 5));
    others.hold(40, () => gone.push("b"));
    await new Promise((resolve) => setTimeout(resolve, 5));
    oldest.taken();
    others.hold(10, () => gone.push("c"));
    expect(gone).toEqual(["b"]);
  });
});

describe("a peer that is gone", () => {
  const HEAD = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode";
  const row = (local: string, remote: string, tries: string) =>
    `   1: ${local} ${remote} 01 00000003:00000000 01:00000A1B ${tries}     0        0 1 2 0 20 4 30 10 -1`;

  test("is the one of our connections that has not acknowledged anything for many tries", () => {
    const table = [
      HEAD,
      row("0100007F:1F90", "0200630A:C001", "00000006"),
      row("0100007F:1F90", "0200630A:C002", "00000005"),
      row("0100007F:1F91", "0200630A:C003", "00000009"),
      row("0000000000000000FFFF00000100007F:1F90", "0000000000000000FFFF00000200630A:C004", "0000000A"),
      row("B80D0120000000000000000001000000:1F90", "B80D0120000000000000000002000000:C005", "00000007"),
      "",
    ].join("\n");
    expect([...gonePeers(table, 8080)]).toEqual(["10.99.0.2 49153", "10.99.0.2 49156", "2001:db8::2 49157"]);
  });

  test("has its stream ended, and no other", async () => {
    let tries = 0;
    const ended: string[] = [];
    const peer = (remoteAddress: string, remotePort: number) =>
      ({ remoteAddress, remotePort, destroy: () => void ended.push(remoteAddress) }) as unknown as Socket;
    const looked = Promise.withResolvers<void>();
    const watch = watchPeers(5, () => {
      if (++tries === 4) looked.resolve();
      return Promise.resolve([HEAD, row("0100007F:1F90", "0200630A:C001", tries < 3 ? "00000001" : "00000008")].join("\n"));
    });
    watch.watch(peer("::ffff:10.99.0.3", 0xc001));
    const forget = watch.watch(peer("::ffff:10.99.0.2", 0xc001));
    watch.start(8080);
    await looked.promise;
    forget();
    watch.stop();
    expect(new Set(ended)).toEqual(new Set(["::ffff:10.99.0.2"]));
  });
});
