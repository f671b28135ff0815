/**
 * How text that is too long is cut, in one place for the whole product: the beginning and the end stay, the middle
 * goes, and a line between them says how many bytes are missing. Limits are in bytes of UTF-8.
 */

export interface Excerpt {
  /** Well-formed; at most the limit, the marker's line included. On a limit under `ROOMY` bytes that line comes on top. */
  readonly text: string;
  /** Size of the whole in bytes. */
  readonly bytes: number;
  readonly cut: boolean;
}

/** From here on a limit has room for the marker. */
const ROOMY = 1000;

/** The share of the limit that the beginning gets; the end, where errors are, gets the rest. */
const HEAD_SHARE = 0.4;

/** How a limit is divided between the beginning and the end. */
export function divideCap(cap_bytes: number): { readonly head: number; readonly tail: number } {
  const head = Math.floor(cap_bytes * HEAD_SHARE);
  return { head, tail: cap_bytes - head };
}

/** Text of at most `cap_bytes`, cut in the middle at character borders if it is longer. */
export function cutMiddle(text: string, cap_bytes: number): Excerpt {
  const whole = new TextEncoder().encode(text);
  return cutBytes(whole, whole, whole.length, cap_bytes);
}

/**
 * The same for bytes of which only the beginning and the end were kept. `first` and `last` are the whole, if it is no
 * longer than `cap_bytes`; else the first and the last bytes, at least as many as `divideCap` says.
 * A byte that is not UTF-8 becomes U+FFFD, which is three bytes long: the limit holds for the result.
 */
export function cutBytes(first: Uint8Array, last: Uint8Array, total: number, cap_bytes: number): Excerpt {
  if (total <= cap_bytes) {
    const text = decode(first);
    if (first.length <= cap_bytes / 3 || sizeOf(text) <= cap_bytes) return { text, bytes: total, cut: false };
  }
  const limits = divideCap(cap_bytes < ROOMY ? cap_bytes : cap_bytes - sizeOf(`\n${omissionMarker(total)}\n`));
  const head = first.subarray(0, longestHead(first, limits.head));
  const tail = last.subarray(last.length - longestTail(last, limits.tail));
  const missing = total - head.length - tail.length;
  return { text: joinAround(decode(head), missing, decode(tail)), bytes: total, cut: true };
}

/** The line that stands for what is missing. */
export function omissionMarker(missing_bytes: number): string {
  return `[… ${missing_bytes} bytes omitted …]`;
}

/** The same where only those who watch miss it: what the result has of it is another matter. */
export function liveOmissionMarker(missing_bytes: number): string {
  return `[… ${missing_bytes} bytes not shown live …]`;
}

function joinAround(head: string, missing: number, tail: string): string {
  const before = head === "" || head.endsWith("\n") ? head : `${head}\n`;
  return `${before}${omissionMarker(missing)}\n${tail}`;
}

/** Bytes from the start, ending at a character border, that decode to at most `limit` bytes. */
function longestHead(bytes: Uint8Array, limit: number): number {
  return largest(
    Math.min(limit, bytes.length),
    (count) => sizeOf(decode(bytes.subarray(0, headBorder(bytes, count)))) <= limit,
    (count) => headBorder(bytes, count),
  );
}

/** Bytes up to the end, beginning at a character border, that decode to at most `limit` bytes. */
function longestTail(bytes: Uint8Array, limit: number): number {
  const border = (count: number) => bytes.length - tailBorder(bytes, bytes.length - count);
  return largest(Math.min(limit, bytes.length), (count) => sizeOf(decode(bytes.subarray(bytes.length - border(count)))) <= limit, border);
}

/** The largest count that fits, by halving; `most` itself fits unless there are bytes that are not UTF-8. */
function largest(most: number, fits: (count: number) => boolean, toBorder: (count: number) => number): number {
  if (fits(most)) return toBorder(most);
  let low = 0;
  let high = most;
  while (high - low > 1) {
    const middle = (low + high) >>> 1;
    if (fits(middle)) low = middle;
    else high = middle;
  }
  return toBorder(low);
}

/** `at`, or up to three bytes before it, if a character that goes on there began before. */
export function headBorder(bytes: Uint8Array, at: number): number {
  for (let back = 1; back <= 3 && back <= at; back++) {
    const byte = bytes[at - back] ?? 0;
    if ((byte & 0xc0) === 0x80) continue;
    return sequenceLength(byte) > back ? at - back : at;
  }
  return at;
}

/** `at`, or up to three bytes after it, if a character that began before goes on there. */
export function tailBorder(bytes: Uint8Array, at: number): number {
  for (let skip = 0; skip < 3 && at + skip < bytes.length; skip++) if (((bytes[at + skip] ?? 0) & 0xc0) !== 0x80) return at + skip;
  return ((bytes[at + 3] ?? 0) & 0xc0) === 0x80 ? at : Math.min(at + 3, bytes.length);
}

function sequenceLength(lead: number): number {
  if (lead < 0xc2) return 1;
  if (lead < 0xe0) return 2;
  return lead < 0xf0 ? 3 : 4;
}

function decode(bytes: Uint8Array): string {
  return new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes);
}

function sizeOf(text: string): number {
  return new TextEncoder().encode(text).length;
}
