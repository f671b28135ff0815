import { afterEach, describe, expect, test } from "bun:test";
import type { Socket } from "node:net";
import { brotliCompressSync, constants, deflateSync, gzipSync } from "node:zlib";
import { type Answer, fetchKeepingAll } from "../../lib/platform/keeping-fetch.ts";
import { readNetworkFault } from "../../lib/platform/network-fault.ts";
import { chunkOf, headOf, type RawServer, startRawServer } from "../fixtures/raw-server.ts";

const open: RawServer[] = [];
afterEach(async () => {
  for (const server of open.splice(0)) await server.close();
});

async function serve(answer: (socket: Socket, head: string) => void): Promise<RawServer> {
  const server = await startRawServer(answer);
  open.push(server);
  return server;
}

const post = (server: RawServer, signal?: AbortSignal): Promise<Answer> =>
  fetchKeepingAll(server.url, {
    method: "POST",
    headers: { "x-word": "här" },
    body: '{"é":1}',
    redirect: "manual",
    ...(signal === undefined ? {} : { signal }),
  });

/** All that comes, and how it ended. */
async function read({ body }: Answer): Promise<{ readonly bytes: Uint8Array; readonly failure: unknown }> {
  const chunks: Uint8Array[] = [];
  try {
    for await (const chunk of body ?? []) chunks.push(chunk);
    return { bytes: Buffer.concat(chunks), failure: null };
  } catch (failure) {
    return { bytes: Buffer.concat(chunks), failure };
  }
}

function readerOf({ body }: Answer): ReadableStreamDefaultReader<Uint8Array> {
  if (body === null) throw new Error("the answer has no body");
  return body.getReader();
}

const encodings: Readonly<Record<string, (text: string) => Uint8Array>> = {
  identity: (text) => Buffer.from(text),
  gzip: (text) => gzipSync(text),
  deflate: (text) => deflateSync(text),
  br: (text) => brotliCompressSync(text, { params: { [constants.BROTLI_PARAM_QUALITY]: 1 } }),
};

describe("an answer", () => {
  test("is asked for with the whole body and its headers", async () => {
    let seen = "";
    const server = await serve((socket, head) => {
      seen = head;
      socket.end("HTTP/1.1 429 Slow\r\nRetry-After: 2\r\nX-Two: a\r\nX-Two: b\r\nContent-Length: 2\r\n\r\nno");
    });
    const answer = await fetchKeepingAll(server.url, { method: "POST", headers: { "x-word": "w" }, body: '{"é":1}' });
    expect(seen.toLowerCase()).toMatch(/^post \/ http\/1\.1\r\n(?=[^]*x-word: w\r\n)/);
    expect([answer.ok, answer.status, answer.headers.get("retry-after"), answer.headers.get("x-two")]).toEqual([false, 429, "2", "a, b"]);
    expect(Buffer.from((await read(answer)).bytes).toString()).toBe("no");
  });

  test("that redirects is not followed", async () => {
    const server = await serve((socket) => void socket.end("HTTP/1.1 307 Go\r\nLocation: /other\r\nContent-Length: 0\r\n\r\n"));
    const answer = await post(server);
    expect([answer.status, answer.headers.get("location"), server.requests]).toEqual([307, "/other", 1]);
    expect((await read(answer)).bytes.length).toBe(0);
  });

  test("comes whole in every coding, also far more of it than waits to be read", async () => {
    const text = Array.from({ length: 800_000 }, (_, index) => `line ${index}\n`).join("");
    for (const [encoding, encode] of Object.entries(encodings)) {
      const bytes = encode(text);
      const server = await serve((socket) => {
        socket.write(headOf(`Content-Encoding: ${encoding}`, `Content-Length: ${bytes.length}`));
        socket.end(bytes);
      });
      const got = await read(await post(server));
      expect([encoding, got.failure, Buffer.from(got.bytes).toString() === text]).toEqual([encoding, null, true]);
    }
  });

  test("that breaks is given as far as it came, whoever reads it how late, and then the failure", async () => {
    for (const [encoding, encode] of Object.entries(encodings)) {
      const head = headOf("Transfer-Encoding: chunked", `Content-Encoding: ${encoding}`);
      const server = await serve((socket) => void socket.end(Buffer.concat([Buffer.from(head), chunkOf(encode("all of it"))])));
      const answer = await post(server);
      await new Promise((resolve) => setTimeout(resolve, 20));
      const { bytes, failure } = await read(answer);
      expect([encoding, Buffer.from(bytes).toString()]).toEqual([encoding, "all of it"]);
      expect([failure instanceof Error, readNetworkFault(failure).connected]).toEqual([true, true]);
    }
  });

  test("that is not in the coding it claims fails", async () => {
    const server = await serve((socket) => void socket.end(headOf("Content-Encoding: gzip", "Content-Length: 5") + "plain"));
    const failure = await post(server).then(async (answer) => (await read(answer)).failure, (error: unknown) => error);
    expect(failure).toBeInstanceOf(Error);
  });
});

describe("a request", () => {
  test("without an answer says whether there was a connection", async () => {
    const server = await serve((socket) => void socket.destroy());
    const faultOf = (work: Promise<unknown>) => work.then(() => null, (error: unknown) => readNetworkFault(error).connected);
    expect(await faultOf(post(server))).toBe(true);
    await server.close();
    expect(await faultOf(post(server))).toBe(false);
    open.splice(0);
  });

  test("ends with its signal, before the answer and within it", async () => {
    const gone: Promise<void>[] = [];
    const server = await serve((socket, head) => {
      gone.push(new Promise((resolve) => socket.on("close", () => resolve())));
      if (!head.includes("silent")) socket.write(headOf("Transfer-Encoding: chunked") + "1\r\na\r\n");
    });
    const before = new AbortController();
    const waiting = fetchKeepingAll(`${server.url}/silent`, { method: "POST", body: "{}", signal: before.signal });
    while (server.requests === 0) await new Promise((resolve) => setTimeout(resolve, 1));
    before.abort(new Error("enough"));
    expect(await waiting.then(() => "answered", (error: Error) => error.message)).toContain("enough");
    const within = new AbortController();
    const answer = await post(server, within.signal);
    const reader = readerOf(answer);
    expect((await reader.read()).value?.length).toBe(1);
    const next = reader.read().then(() => "more", () => "failed");
    within.abort(new Error("enough"));
    expect(await next).toBe("failed");
    await Promise.all(gone);
  });

  test("ends when nobody wants its answer", async () => {
    const gone = Promise.withResolvers<void>();
    const server = await serve((socket) => {
      socket.on("close", () => gone.resolve());
      socket.write(headOf("Transfer-Encoding: chunked") + "1\r\na\r\n");
    });
    const reader = readerOf(await post(server));
    await reader.read();
    const next = reader.read();
    await reader.cancel();
    expect((await next).done).toBe(true);
    await gone.promise;
  });
});
