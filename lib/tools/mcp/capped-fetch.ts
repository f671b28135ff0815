/** `fetch` with bodies that cannot grow without bound: for servers that are spoken to over HTTP. */

export type Fetch = (url: string | URL, init?: RequestInit) => Promise<Response>;

/**
 * @param most_bytes of a JSON body, or of one event of a stream. More is an error of the body's reader.
 */
export function capFetch(base: Fetch, most_bytes: number): Fetch {
  return async (url, init) => {
    const response = await base(url, init);
    if (response.body === null) return response;
    const isStream = /^\s*text\/event-stream\b/i.test(response.headers.get("content-type") ?? "");
    const body = response.body.pipeThrough(isStream ? capEvents(most_bytes) : capBody(most_bytes));
    const { status, statusText } = response;
    const headers = new Headers(response.headers);
    // The body is decoded already, and its length is another one.
    headers.delete("content-encoding");
    headers.delete("content-length");
    return new Response(body, { status, statusText, headers });
  };
}

function capBody(most_bytes: number): TransformStream<Uint8Array, Uint8Array> {
  let length = 0;
  return new TransformStream({
    transform(chunk, controller) {
      length += chunk.length;
      if (length > most_bytes) throw new RangeError(`The answer is larger than ${most_bytes} bytes`);
      controller.enqueue(chunk);
    },
  });
}

/** The same for each event: what is counted starts anew at every blank line. */
function capEvents(most_bytes: number): TransformStream<Uint8Array, Uint8Array> {
  let length = 0;
  let last = 0;
  return new TransformStream({
    transform(chunk, controller) {
      for (const byte of chunk) {
        // Two line ends of the same kind in a row; `\r\n\r\n` has `\n` `\r` `\n`.
        const isLineEnd = byte === LF || byte === CR;
        const endsEvent = isLineEnd && (last === byte || last === CR_AFTER_LF);
        length = endsEvent ? 0 : length + 1;
        if (length > most_bytes) throw new RangeError(`An event of the answer is larger than ${most_bytes} bytes`);
        last = byte === CR && last === LF ? CR_AFTER_LF : byte;
      }
      controller.enqueue(chunk);
    },
  });
}

const LF = 0x0a;
const CR = 0x0d;
const CR_AFTER_LF = -1;
