/** Sessions as resources: made, listed, looked at, forked, removed. */
import type { Hono } from "hono";
import type { Desk } from "../agent/desk.ts";
import type { NewSessionOptions } from "../agent/options.ts";
import type * as v from "valibot";
import { findCall } from "./call.ts";
import type { Cursors } from "./cursor.ts";
import type { AppEnv } from "./env.ts";
import { placeOf } from "./place.ts";
import { Problem } from "./problem.ts";
import { answer, checkBody, checkPath, checkQuery, describe, takesNoQuery } from "./routes.ts";
import * as api from "./schemas.ts";
import { sharedBody } from "./sending.ts";
import { etagOf, openedBody, stateDocument } from "./state.ts";

const LIST_ROWS = 50;
/** A body of its own is copied for each answer. */
const SHARED_BYTES = 1024 * 1024;

export function addSessionRoutes(app: Hono<AppEnv>, desk: Desk, cursors: Cursors): void {
  app.post(
    "/v1/sessions",
    describe({
      id: "createSession",
      summary: "Open a new session",
      refuses: ["unacceptable", "workspace_gone", "too_many_sessions"],
      answers: { 201: api.SessionOpened },
      takes: ["Idempotency-Key"],
      gives: { 201: ["Location", "ETag", "Idempotency-Replayed"] },
    }),
    takesNoQuery,
    checkBody(api.NewSession),
    async (c) => {
      const view = await desk.create(withoutUndefined<NewSessionOptions>(c.req.valid("json")));
      const opened = openedBody(view);
      c.header("location", `${placeOf(c)}/v1/sessions/${opened.session}`);
      c.header("etag", etagOf(view));
      return answer(c, api.SessionOpened, opened, 201);
    },
  );

  app.get(
    "/v1/sessions",
    describe({
      id: "listSessions",
      summary: "List sessions, the most recently used first",
      description: "Pass `next` as `cursor` for the next page. A session that is used between two pages moves to the front.",
      answers: { 200: api.SessionList },
    }),
    checkQuery(api.ListQuery),
    async (c) => {
      const { limit: wanted = LIST_ROWS, cursor } = c.req.valid("query");
      const rows = await desk.list({ limit: wanted + 1, ...(cursor === undefined ? {} : { before: cursors.read(cursor) }) });
      const sessions = rows.slice(0, wanted);
      const last = sessions[sessions.length - 1];
      return answer(c, api.SessionList, { sessions, ...(rows.length > wanted && last !== undefined ? { next: cursors.write(last) } : {}) });
    },
  );

  app.get(
    "/v1/sessions/:id",
    describe({
      id: "getSession",
      summary: "The state of a session as of event `seq`",
      description: "With If-None-Match the answer is 304 while nothing has changed.",
      refuses: ["not_found", "unknown_session"],
      answers: { 200: api.SessionState, 304: null },
      takes: ["If-None-Match"],
      gives: { 200: ["ETag"], 304: ["ETag"] },
    }),
    checkPath(api.SessionPath),
    takesNoQuery,
    async (c) => {
      const view = await desk.view(c.req.valid("param").id);
      const headers = { etag: etagOf(view), "cache-control": "no-cache" };
      if (matches(c.req.header("if-none-match"), headers.etag)) return c.body(null, 304, headers);
      const document = stateDocument(view);
      const type = { ...headers, "content-type": "application/json" };
      if (c.env?.connection === undefined || document.length < SHARED_BYTES) return c.body(document, 200, type);
      return c.body(sharedBody(document), 200, { ...type, "content-length": String(document.length) });
    },
  );

  app.delete(
    "/v1/sessions/:id",
    describe({
      id: "deleteSession",
      summary: "Remove a session and its log; not while a turn runs",
      description: "Two at once are both answered with 204; what is asked of the session meanwhile waits, and is then answered with 404.",
      refuses: ["not_found", "unknown_session", "busy", "held", "draining"],
      answers: { 204: null },
    }),
    checkPath(api.SessionPath),
    takesNoQuery,
    async (c) => {
      await desk.remove(c.req.valid("param").id);
      return c.body(null, 204);
    },
  );

  app.post(
    "/v1/sessions/:id/fork",
    describe({
      id: "forkSession",
      summary: "A new session that begins with the events 1 to `at` of this one",
      description: "Without `at`: with all of them. Calls that were open there are ended here as not started.",
      refuses: ["not_found", "unknown_session", "unacceptable", "workspace_gone", "too_many_sessions", "held"],
      answers: { 201: api.Forked },
      takes: ["Idempotency-Key"],
      gives: { 201: ["Location", "Idempotency-Replayed"] },
    }),
    checkPath(api.SessionPath),
    takesNoQuery,
    checkBody(api.ForkAt),
    async (c) => {
      const fork = await desk.fork(c.req.valid("param").id, c.req.valid("json").at);
      c.header("location", `${placeOf(c)}/v1/sessions/${fork.session}`);
      return answer(c, api.Forked, fork, 201);
    },
  );

  app.get(
    "/v1/sessions/:id/calls/:call",
    describe({
      id: "getCall",
      summary: "All that the log says of one call",
      answers: { 200: api.CallDetail },
      refuses: ["not_found", "unknown_session", "unknown_call"],
    }),
    checkPath(api.CallPath),
    takesNoQuery,
    async (c) => {
      const { id, call } = c.req.valid("param");
      await desk.head(id);
      const detail = await findCall((after) => desk.page(id, after), call);
      if (detail === null) throw new Problem("unknown_call", `Cannot find call "${call}" in session "${id}"`);
      return answer(c, api.CallDetail, detail as v.InferOutput<typeof api.CallDetail>);
    },
  );
}

function matches(header: string | undefined, etag: string): boolean {
  return header !== undefined && header.split(",").some((each) => each.trim().replace(/^W\//, "") === etag || each.trim() === "*");
}

/** A checked body may hold `undefined` for what was not sent; our own options may not. */
function withoutUndefined<T extends object>(value: { readonly [K in keyof T]?: T[K] | undefined }): T {
  return Object.fromEntries(Object.entries(value).filter(([, each]) => each !== undefined)) as T;
}
