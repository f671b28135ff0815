/**
 * A `fetch` that gives all that came before its connection broke. Bun's own (1.4.5) drops what arrived together with the
 * break, and Deno's (2.9.6) what it has not decompressed: of a server that closes right behind its last byte, before the
 * end that HTTP wants there, the end of a reply is never seen. To load `node:http` costs a start 5 ms, so it is for those
 * who have lost something.
 *
 * K1  What has arrived is given before the failure, in order.
 * K2  No redirect is followed, and no connection is used twice.
 */
import { Buffer } from "node:buffer";
import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import { fetchByRule, proxyFor } from "./proxy.ts";

/** What is used of a `Response`. */
export interface Answer {
  readonly ok: boolean;
  readonly status: number;
  readonly headers: Headers;
  readonly body: ReadableStream<Uint8Array> | null;
}

/** Only `fetch` itself knows the way through a proxy. */
export async function fetchKeepingAll(url: string, init: RequestInit): Promise<Answer> {
  if (proxyFor(url)?.used === true) return await fetchByRule(url, init);
  const { request: start } = url.startsWith("https:") ? await import("node:https") : await import("node:http");
  const zlib = await import("node:zlib");
  const { method = "GET", signal = null } = init;
  const body = Buffer.from(init.body as string);
  const headers = { ...init.headers as Readonly<Record<string, string>>, "content-length": String(body.length) };
  return await new Promise((resolve, reject) => {
    const request = start(url, { method, headers, agent: false });
    const abort = () => void request.destroy(signal?.reason as Error);
    signal?.addEventListener("abort", abort, { once: true });
    // In the same moment: what comes before somebody listens would be lost with the connection.
    request.on("response", (message) => resolve(toAnswer(message, decoderFor(message.headers["content-encoding"], zlib))));
    request.on("error", reject);
    request.on("close", () => {
      signal?.removeEventListener("abort", abort);
      reject(new Error("ECONNRESET: the connection was closed before there was an answer"));
    });
    request.end(body);
    if (signal?.aborted === true) abort();
  });
}

function toAnswer(message: IncomingMessage, decoder: Duplex | null): Answer {
  const status = message.statusCode ?? 0;
  return { ok: status >= 200 && status < 300, status, headers: headersOf(message), body: bodyOf(message, decoder) };
}

function headersOf({ rawHeaders }: IncomingMessage): Headers {
  const headers = new Headers();
  for (let at = 0; at + 1 < rawHeaders.length; at += 2) headers.append(rawHeaders[at] ?? "", rawHeaders[at + 1] ?? "");
  return headers;
}

/** As much as waits to be read before the server has to. */
const MOST_WAITING = 4 * 1024 * 1024;

/** A stream that fails forgets what was not read yet, so that one is only told of a failure when it has all. */
function bodyOf(message: IncomingMessage, decoder: Duplex | null): ReadableStream<Uint8Array> {
  const waiting: Uint8Array[] = [];
  let size = 0;
  let end: { readonly error: Error | null } | null = null;
  let wake = () => {};
  let isLeft = false;
  const finish = (error: Error | null) => {
    end ??= { error };
    wake();
  };
  (decoder ?? message).on("data", (chunk: Uint8Array) => {
    waiting.push(chunk);
    size += chunk.length;
    if (size > MOST_WAITING) message.pause();
    wake();
  });
  watchEnd(message, decoder, finish);
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      while (waiting.length === 0 && end === null) await new Promise<void>((resolve) => wake = resolve);
      if (isLeft) return;
      const chunk = waiting.shift();
      if (chunk !== undefined) {
        size -= chunk.length;
        if (size <= MOST_WAITING) message.resume();
        return controller.enqueue(chunk);
      }
      if (end?.error instanceof Error) controller.error(end.error);
      else controller.close();
    },
    cancel() {
      isLeft = true;
      message.destroy();
    },
  }, { highWaterMark: 0 });
}

/** `finish` is called once everything that came is given. */
function watchEnd(message: IncomingMessage, decoder: Duplex | null, finish: (error: Error | null) => void): void {
  let broke: Error | null = null;
  const done = () => decoder === null ? finish(broke) : decoder.end();
  decoder?.on("end", () => finish(broke)).on("error", (error) => finish(broke ?? error));
  if (decoder !== null) message.on("data", (chunk: Uint8Array) => decoder.write(chunk));
  message.on("end", done);
  message.on("error", (error) => {
    broke ??= error;
    done();
  });
  message.on("close", () => {
    if (!message.complete) broke ??= new Error("ECONNRESET: the connection was closed before the answer was complete");
    done();
  });
}

/** Compressed although nobody asked for it. Of what is cut, what can be read counts. */
function decoderFor(encoding: string | undefined, zlib: typeof import("node:zlib")): Duplex | null {
  const { constants, createBrotliDecompress, createGunzip, createInflate } = zlib;
  const toTheCut = { finishFlush: constants.Z_SYNC_FLUSH };
  switch (encoding?.trim().toLowerCase()) {
    case "gzip":
    case "x-gzip":
      return createGunzip(toTheCut);
    case "deflate":
      return createInflate(toTheCut);
    case "br":
      return createBrotliDecompress({ finishFlush: constants.BROTLI_OPERATION_FLUSH });
    default:
      return null;
  }
}
