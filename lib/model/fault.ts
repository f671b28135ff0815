/**
 * What went wrong at an endpoint, in our words: every fault becomes a `ModelError` whose kind says whether to try
 * again and whose message says what, where and what would be right. A message never holds the key.
 */
import { proxyFor } from "../platform/proxy.ts";
import { readNetworkFault } from "../platform/network-fault.ts";
import type { ModelErrorKind } from "../session/outcome.ts";
import { fieldsIn, isFields, listIn, numberIn, textIn } from "./fields.ts";
import { ModelError, type ModelErrorDetails } from "./model.ts";
import { redact } from "./redact.ts";
import { MAX_RETRY_AFTER_MS } from "./retry.ts";
import { StreamFault } from "./sse.ts";

/** Whom we were talking to. */
export interface Place {
  /** `provider/model`. */
  readonly model: string;
  readonly url: string;
  /** Texts that must not appear in a message. */
  readonly secrets: readonly string[];
  /** Where the key comes from, for the hint. */
  readonly keyVariable?: string;
  /** What else to try if there is nothing at this address. */
  readonly alternative?: string;
}

/** An HTTP answer that is not a reply. */
export interface Refusal {
  readonly status: number;
  readonly headers: Headers;
  readonly body: string;
}

export function refusalError(place: Place, refusal: Refusal, now: number): ModelError {
  const { status, headers } = refusal;
  if (status >= 300 && status < 400) return redirectError(place, refusal);
  const said = readReport(parseLoosely(refusal.body));
  const message = said.message || excerpt(refusal.body) || "no explanation";
  const kind = kindOf(status, said);
  const retryAfter = retryAfterMs(headers, now);
  return explain(place, kind, `HTTP ${status} from ${shownUrl(place.url)}: ${message}`, {
    status,
    said: redact(`${said.code} ${message}`, place.secrets),
    ...(retryAfter === undefined ? {} : { retry_after_ms: retryAfter }),
  });
}

/** An error object inside a stream, or in the body of an answer that claims success. */
export function reportedError(place: Place, value: unknown): ModelError {
  const said = readReport(value);
  const status = said.status ?? statusOfCode(said.code);
  return explain(
    place,
    kindOf(status, said),
    `the endpoint reports: ${said.message || excerpt(JSON.stringify(value) ?? "")}`,
    said.status === undefined ? {} : { status: said.status },
  );
}

/** A connection that could not be made, or broke, or went silent. */
export function connectionError(place: Place, error: unknown): ModelError {
  if (error instanceof ModelError) return error;
  if (error instanceof StreamFault) return explain(place, error.kind, error.message);
  const { connected, words } = readNetworkFault(error);
  return explain(place, connected ? "transport" : "unreachable", `${shownUrl(place.url)}: ${excerpt(words)}`, { cause: error });
}

export function truncatedError(place: Place): ModelError {
  return explain(place, "transport", "the stream ended before the reply was complete");
}

/** A stream that goes on and on. Final: another attempt would likely take as long. */
export function endlessError(place: Place, ms: number): ModelError {
  return explain(place, "malformed", `the reply did not end within ${ms / 1000} s`);
}

/** Something that is neither an event stream nor JSON, or JSON of another shape. */
export function unreadableError(place: Place, what: string, text: string): ModelError {
  return explain(place, "malformed", `${what}: ${excerpt(text, 200) || "(nothing)"}`);
}

/** One line of printable, well-formed text. */
export function excerpt(text: string, limit = 500): string {
  // deno-lint-ignore no-control-regex
  const line = text.slice(0, limit * 2).replace(/[\u0000-\u0020\u007f-\u009f\u2028\u2029]+/g, " ").trim();
  return (line.length > limit ? `${line.slice(0, limit)}…` : line).toWellFormed();
}

/** A limit of tokens within a time is none of a request's length, though its words are much the same. */
const TOKENS_IN_TIME =
  /per[ _-]?(second|minute|min|hour|day)\b|\bTPM\b|rate[ _-]?limit|(please|try again) (wait|later)|before trying again/i;
const CONTEXT_OVERFLOW = new RegExp(
  [
    String.raw`context[ _-]?(length|window|size|limit|overflow)|exceed_context|max_context|maximum context|request_too_large`,
    String.raw`(prompt|input|inputs|message|messages|conversation|request)( is| are)? too long`,
    String.raw`(maximum|max) (prompt|input) (length|tokens|characters)|(maximum|max) model length|range of input length|model token limit`,
    String.raw`too many (input |prompt )?tokens|too large for model`,
    String
      .raw`(prompt|input|request|messages?|conversation)\b.{0,60}\bexceed(s|ed)? (the |a |its )?(model'?s )?(max|maximum|limit)\b(?! (depth|number of (tools|images)))`,
    String.raw`tokens \+ .?max_new_tokens|inputs?.? must have less than \d+ tokens|exceed max message tokens`,
    String.raw`reduce the length of (the|your) (messages?|prompt|input)|reduce your (prompt|input|message size)`,
  ].join("|"),
  "i",
);
const NO_SUCH_MODEL =
  /model_not_found|not_found_error model:|not a valid model|unknown model|no such model|model\b.{0,120}\b(not found|does(n't| not) exist|not exist|not available)/i;
const NO_CREDIT = /insufficient_quota|billing|insufficient (credits|balance)|out of credits|credit balance is too low/i;

function kindOf(status: number, said: Report): ModelErrorKind {
  const words = `${said.code} ${said.message}`;
  if (status === 401 || status === 403 || status === 402) return "auth";
  if ((status === 400 || status === 429) && NO_CREDIT.test(words)) return "auth";
  if (status === 429) return "rate_limited";
  if (status === 413 || (CONTEXT_OVERFLOW.test(words) && !TOKENS_IN_TIME.test(words))) return "context_overflow";
  if (status === 404) return NO_SUCH_MODEL.test(words) ? "unknown_model" : "unreachable";
  if (status === 503 || status === 529) return "overloaded";
  if (status === 408 || status >= 500) return "transport";
  return NO_SUCH_MODEL.test(words) ? "unknown_model" : "rejected";
}

/** Words that stand where a status would; what is not known is taken for a passing fault of the server. */
function statusOfCode(code: string): number {
  if (/rate_?limit/i.test(code)) return 429;
  if (/overloaded|unavailable/i.test(code)) return 503;
  if (/api_?key|auth|permission/i.test(code)) return 401;
  if (/quota|billing/i.test(code)) return 402;
  if (/too_large/i.test(code)) return 413;
  if (/invalid|bad_?request|not_found|content_filter|exceed_context|context_length/i.test(code)) return 400;
  return 500;
}

function explain(place: Place, kind: ModelErrorKind, what: string, details: ModelErrorDetails = {}): ModelError {
  const sentence = `Cannot get a reply from "${place.model}" as ${what}`;
  const hint = hintFor(place, kind, details);
  const whole = hint === "" ? sentence : `${sentence.replace(/[.?!\s]+$/, "")}. ${hint}`;
  return new ModelError(kind, redact(whole, place.secrets), details);
}

function hintFor(place: Place, kind: ModelErrorKind, { status, retry_after_ms = 0 }: ModelErrorDetails): string {
  if (retry_after_ms > MAX_RETRY_AFTER_MS) {
    return `It asks to wait ${Math.ceil(retry_after_ms / 1000)} s, longer than the ${MAX_RETRY_AFTER_MS / 1000} s that are waited for`;
  }
  switch (kind) {
    case "auth":
      return place.keyVariable === undefined ? "Check the key" : `Check the key in ${place.keyVariable}`;
    case "unknown_model":
      return "Check the name after the first slash of --model";
    case "unreachable":
      if (status === undefined) return `Check the base URL and that the server runs${proxyHint(place.url)}`;
      return `Check the base URL: most end in /v1${place.alternative === undefined ? "" : `. ${place.alternative}`}`;
    default:
      return "";
  }
}

function proxyHint(url: string): string {
  const proxy = proxyFor(url);
  if (proxy === null) return "";
  return proxy.used
    ? `. It went through the proxy in ${proxy.variable}, ${proxy.address}: check that, or name the host in NO_PROXY`
    : `. The proxy in ${proxy.variable} is not used, as plain http goes to its server only`;
}

/** The key goes to nobody but the host it was meant for, so redirects are not followed. */
function redirectError(place: Place, { status, headers }: Refusal): ModelError {
  const target = headers.get("location") ?? "nowhere";
  const absolute = URL.canParse(target, place.url) ? shownUrl(new URL(target, place.url).href) : excerpt(target);
  return explain(
    place,
    "rejected",
    `HTTP ${status} from ${shownUrl(place.url)}: a redirect to ${absolute}, which is not followed. Set the base URL to the final address`,
    { status },
  );
}

interface Report {
  readonly message: string;
  readonly code: string;
  readonly status: number | undefined;
}

/** The shapes in use: `{error:{message,code,type}}`, `{error:"…"}`, `{message}`, `{detail:"…"|[{msg}]}`, a list of one. */
function readReport(value: unknown): Report {
  const outer = Array.isArray(value) ? value[0] : value;
  const inner = fieldsIn(outer, "error") ?? outer;
  if (!isFields(inner)) return { message: typeof inner === "string" ? excerpt(inner) : "", code: "", status: undefined };
  const detail = listIn(inner, "detail").map((each) => `${listIn(each, "loc").join(".")}: ${textIn(each, "msg") ?? "refused"}`).join("; ");
  const message = textIn(inner, "message") ?? textIn(inner, "error") ?? textIn(inner, "detail") ?? detail;
  const upstream = textIn(fieldsIn(inner, "metadata"), "raw");
  const code = numberIn(inner, "code") ?? numberIn(inner, "status");
  return {
    message: excerpt(upstream === undefined ? message : `${message} (${upstream})`),
    code: [textIn(inner, "code"), textIn(inner, "type")].filter((each) => each !== undefined).join(" "),
    status: code !== undefined && code >= 400 && code < 600 ? code : undefined,
  };
}

function parseLoosely(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // Many proxies answer with HTML or plain text: the excerpt of the body is shown then.
    return undefined;
  }
}

/** `Retry-After` in seconds or as a date; `retry-after-ms` where a server is more exact. */
function retryAfterMs(headers: Headers, now: number): number | undefined {
  const exact = headers.get("retry-after-ms");
  if (exact !== null && /^\s*\d+(\.\d+)?\s*$/.test(exact)) return Number(exact);
  const value = headers.get("retry-after");
  if (value === null) return undefined;
  if (/^\s*\d+(\.\d+)?\s*$/.test(value)) return Math.round(Number(value) * 1000);
  const date = Date.parse(value);
  return Number.isNaN(date) ? undefined : Math.max(0, date - now);
}

/** Without the query: some put a key there. */
function shownUrl(url: string): string {
  const { origin, pathname } = new URL(url);
  return origin + pathname;
}
