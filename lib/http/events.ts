/** What happened and happens in a session: one feed, as an event stream, as JSON lines, or as a page of JSON. */
import { setImmediate as othersFirst } from "node:timers/promises";
import type { Context, Hono } from "hono";
import type { Desk } from "../agent/desk.ts";
import type { Line } from "../agent/readers.ts";
import { Slots } from "../agent/slots.ts";
import { inWireShapes, WireView } from "../agent/wire-view.ts";
import { chooseType } from "./accept.ts";
import type { AppEnv } from "./env.ts";
import { Problem } from "./problem.ts";
import { checkPath, checkQuery, describe } from "./routes.ts";
import * as api from "./schemas.ts";
import { StreamFrame } from "./event-schemas.ts";
import { EVENT_STREAM, JSON_LINES, streamBatches, type StreamEnd, type StreamFormat, type StreamTimes } from "./sse.ts";

export interface StreamOptions extends StreamTimes {
  /** Aborts when the server closes its streams. */
  readonly closing: AbortSignal;
  ended(how: StreamEnd): void;
}

const PAGE_EVENTS = 100;
/** A page ends behind the event that reaches this, in characters, however many were asked for. */
const PAGE_CHARACTERS = 4 * 1024 * 1024;
const STREAM_TYPES = ["text/event-stream", "application/x-ndjson"];

/** Made at a time: each may hold megabytes, and is made no sooner for all being begun at once. */
const PAGES = 4;

export function addEventRoutes(app: Hono<AppEnv>, desk: Desk, options: StreamOptions): void {
  const making = new Slots(PAGES);
  app.get(
    "/v1/sessions/:id/events",
    describe({
      id: "getEvents",
      summary: "Events behind `after` (or `Last-Event-ID`), from the beginning without either",
      description:
        "As `text/event-stream` or `application/x-ndjson`: recorded events, then what happens, until you leave or, with `?follow=false`, " +
        "the recorded ones only. Durable events have an id, live ones do not. A cursor that cannot be served is answered by a `reset`, then the log " +
        "from its beginning. As `application/json`: one page, of `limit` events (100) or about 4 MiB. With `?profile=stella` in the message shapes of the Stella SDK: an event may be " +
        "several messages, the last of which has its id, or none. The schema of a stream is that of one line, or of the `data` of one message.",
      answers: { 200: api.EventPage },
      streams: Object.fromEntries(STREAM_TYPES.map((type) => [type, StreamFrame])),
      takes: ["Last-Event-ID"],
      gives: { 200: ["Vary"] },
      refuses: ["bad_request", "unknown_session", "cursor_ahead", "too_many_readers", "draining"],
    }),
    checkPath(api.SessionPath),
    checkQuery(api.EventsQuery),
    async (c) => {
      const { id } = c.req.valid("param");
      const { after, limit = PAGE_EVENTS, follow, profile } = c.req.valid("query");
      const type = chooseType(c.req.header("accept"), ["application/json", ...STREAM_TYPES]);
      c.header("vary", "Accept");
      const cursor = cursorOf(c.req.header("last-event-id"), after);
      const head = await desk.head(id);
      if (type === "application/json") return await inTurn(making, () => answerPage(c, desk, { id, cursor, head, profile }, limit));
      refuseBody(c);
      const format = type === "application/x-ndjson" ? JSON_LINES : EVENT_STREAM;
      return stream(c, desk, { id, cursor, format, until: follow === "false" ? head : null, profile }, options);
    },
  );
}

const NEVER = new AbortController().signal;

async function inTurn(slots: Slots, make: () => Promise<Response>): Promise<Response> {
  await slots.take(NEVER);
  try {
    return await make();
  } finally {
    slots.release();
  }
}

/** Where one begins who sent an id that is no number of ours: ahead of every log. */
const NO_NUMBER = Number.MAX_SAFE_INTEGER;

/** What a browser sends again goes before what the page asked for at first. */
function cursorOf(header: string | undefined, after: number | undefined): number {
  if (header === undefined || header === "") return after ?? 0;
  return /^\d{1,15}$/.test(header) ? Number(header) : NO_NUMBER;
}

/** A body that does not end would have the connection cut, however the stream fares. */
function refuseBody(c: Context<AppEnv>): void {
  const length = c.req.header("content-length") ?? "0";
  if (length === "0" && c.req.header("transfer-encoding") === undefined) return;
  throw new Problem("bad_request", "Cannot stream events to a request that has a body: send it without one");
}

interface Page extends Shaped {
  readonly head: number;
}

/** Where to begin, and in which shapes. */
interface Shaped {
  readonly id: string;
  readonly cursor: number;
  readonly profile: "stella" | undefined;
}

async function answerPage(c: Context<AppEnv>, desk: Desk, { id, cursor: after, head, profile }: Page, limit: number): Promise<Response> {
  if (after > head) {
    const asked = after === NO_NUMBER ? "an id that is none of its events" : String(after);
    throw new Problem("cursor_ahead", `Cannot give events behind ${asked} as the log of session "${id}" ends at ${head}`);
  }
  const lines: Line[] = [];
  let size = 0;
  for (let last = after; lines.length < limit && size < PAGE_CHARACTERS;) {
    const page = await desk.page(id, last);
    for (const line of page) {
      if (lines.length >= limit || size >= PAGE_CHARACTERS) break;
      lines.push(line);
      size += line.text.length;
    }
    await othersFirst();
    const end = page[page.length - 1]?.seq;
    if (end === undefined || end === null) break;
    last = end;
  }
  const last = lines[lines.length - 1]?.seq ?? after;
  const next = last < head ? `,"next":${last}` : "";
  // The lines are JSON already.
  const shown = profile === undefined ? lines : await new WireView(after, (from) => desk.page(id, from)).toMessages(lines);
  const body = `{"events":[${shown.map(({ text }) => text).join(",")}],"head":${Math.max(head, last)}${next}}`;
  return c.body(body, 200, { "content-type": "application/json", "cache-control": "no-store" });
}

interface Followed extends Shaped {
  readonly format: StreamFormat;
  /** The last event to send; null: go on. */
  readonly until: number | null;
}

function stream(c: Context<AppEnv>, desk: Desk, { id, cursor, format, until, profile }: Followed, options: StreamOptions): Response {
  const headers = {
    "content-type": format.content_type,
    "cache-control": "no-cache, no-transform",
    "x-accel-buffering": "no",
  };
  // Nobody would read the body.
  if (c.req.raw.method === "HEAD") return c.body(null, 200, headers);
  const stop = new AbortController();
  const leave = () => stop.abort();
  options.closing.addEventListener("abort", leave, { once: true });
  if (options.closing.aborted) leave();
  const followed = desk.follow(id, cursor, stop.signal);
  const batches = until === null ? followed : recorded(followed, cursor, until);
  const body = streamBatches(format, {
    batches: profile === undefined ? batches : inWireShapes(batches, cursor, (from) => desk.page(id, from)),
    stop: leave,
    times: options,
    ended: (how) => {
      options.closing.removeEventListener("abort", leave);
      options.ended(how);
    },
  });
  return c.body(body, 200, headers);
}

type Batches = ReturnType<Desk["follow"]>;

/** The batches up to this event, without what is live. */
async function* recorded(batches: Batches, cursor: number, until: number): Batches {
  let last = cursor > until ? 0 : cursor;
  if (cursor === until) return;
  for await (const batch of batches) {
    const lines = batch.kind === "reset" ? [] : batch.lines.filter(({ seq }) => seq !== null && seq <= until);
    if (batch.kind === "reset") yield batch;
    else if (lines.length > 0) yield { kind: "lines", lines };
    last = lines[lines.length - 1]?.seq ?? last;
    if (last >= until) return;
  }
}
