/** What the server says of itself: health, metrics, what it can do and offer. */
import type { Hono } from "hono";
import type { Desk } from "../agent/desk.ts";
import { Mode } from "../session/outcome.ts";
import type { Credentials } from "./auth.ts";
import type { AppEnv } from "./env.ts";
import type { Metrics } from "./metrics.ts";
import { Problem } from "./problem.ts";
import { answer, BODIED, checkBody, checkQuery, describe, takesNoQuery } from "./routes.ts";
import * as api from "./schemas.ts";

/** How long one answer of the journal holds: a probe may come from several places. */
const READY_MS = 1000;
/** Who asks gives up soon: a journal that is locked for longer takes no writes. */
const PROBE_MS = 2000;

export function addAboutRoutes(
  app: Hono<AppEnv>,
  desk: Desk,
  options: { readonly version: string; readonly metrics: Metrics; readonly credentials: Credentials },
): void {
  const { version, metrics, credentials } = options;
  const ready = remember(() => within(desk.probe(), PROBE_MS), READY_MS);

  app.get(
    "/healthz",
    describe({ id: "healthz", summary: "The process answers", answers: { 200: api.Health }, open: true }),
    (c) => answer(c, api.Health, { status: "ok" }),
  );

  app.get(
    "/readyz",
    describe({
      id: "readyz",
      summary: "The journal takes writes, and the server takes work",
      answers: { 200: api.Health },
      open: true,
      refuses: ["draining", "unavailable"],
    }),
    async (c) => {
      if (desk.draining) throw new Problem("draining", "The server is shutting down");
      await ready().catch(() => {
        throw new Problem("unavailable", "The journal takes no writes");
      });
      return answer(c, api.Health, { status: "ready" });
    },
  );

  app.get(
    "/metrics",
    describe({ id: "metrics", summary: "Prometheus metrics", answers: { 200: null }, streams: { "text/plain": null } }),
    takesNoQuery,
    async (c) => c.body(await metrics.text(), 200, { "content-type": metrics.content_type, "cache-control": "no-store" }),
  );

  app.get(
    "/v1/capabilities",
    describe({ id: "capabilities", summary: "What this server can do", answers: { 200: api.Capabilities } }),
    takesNoQuery,
    (c) =>
      answer(c, api.Capabilities, {
        runtime: `orrery/${version}`,
        api: "v1",
        workspaces: [...desk.roots],
        modes: [...Mode.options],
        event_formats: ["text/event-stream", "application/x-ndjson", "application/json"],
        limits: { ...desk.limits },
      }),
  );

  app.get(
    "/v1/tools",
    describe({
      id: "listTools",
      summary: "The tools of a workspace, and what became of each",
      answers: { 200: api.Tools },
      refuses: ["unacceptable"],
    }),
    checkQuery(api.ToolsQuery),
    async (c) => {
      const { listings, notices } = await desk.toolbox(c.req.valid("query").workspace);
      const tools = listings.map(({ shadows, reason, ...listing }) => ({
        ...listing,
        ...(reason === undefined ? {} : { reason }),
        ...(shadows === undefined ? {} : { shadows: [...shadows] }),
      }));
      return answer(c, api.Tools, { schema_version: 1, tools, notices: [...notices] });
    },
  );

  app.post(
    "/v1/login",
    describe({
      id: "login",
      summary: "Exchange a one-time code for a token of its own",
      answers: { 200: api.Login },
      open: true,
      refuses: [...BODIED, "unauthorized", "wrong_host", "wrong_origin", "invalid"],
    }),
    takesNoQuery,
    checkBody(api.LoginCode),
    (c) => {
      const token = credentials.exchange(c.req.valid("json").code);
      if (token === null) {
        throw new Problem(
          "unauthorized",
          "This code is not good, or not any more: sign in with the server's token, or start it again for another",
        );
      }
      return answer(c, api.Login, { token });
    },
  );
}

async function within(work: Promise<void>, ms: number): Promise<void> {
  const { promise: late, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new Error(`No answer within ${ms} ms`)), ms);
  // What comes after that concerns nobody.
  work.catch(() => undefined);
  try {
    await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** The last answer of `ask`, while it is fresh; never two questions at once. */
function remember(ask: () => Promise<void>, ms: number): () => Promise<void> {
  let last: { readonly at: number; readonly answer: Promise<void> } | null = null;
  return () => {
    if (last === null || performance.now() - last.at > ms) last = { at: performance.now(), answer: ask() };
    return last.answer;
  };
}
