/**
 * The HTTP app. It knows no server: `app.fetch` under any, `app.request()` in tests. [main thread]
 *
 * H1  In this order, and before any route is looked for: who was meant (Host, Origin), who asks (token), what is expected,
 *     is the body good JSON of bounded size and well-formed text, was this very request answered before.
 * H2  Every way out is an answer with a request id, and every error a problem document.
 */
import { Hono } from "hono";
import { generateSpecs } from "hono-openapi";
import type { Desk } from "../agent/desk.ts";
import { addAboutRoutes } from "./about.ts";
import { type Credentials, requireToken } from "./auth.ts";
import { type BodyLimits, MOST_VALUES, readBody } from "./body.ts";
import { Cursors } from "./cursor.ts";
import type { AppEnv } from "./env.ts";
import { addEventRoutes } from "./events.ts";
import { guardHost, type HostNames, MOST_FIELDS, refuseCodings, refuseExpectations } from "./guard.ts";
import { type KeyLimits, KEYS, replayByKey } from "./idempotency.ts";
import { createMetrics } from "./metrics.ts";
import { observe } from "./observe.ts";
import { placeOf } from "./place.ts";
import { Problem, problemResponse, toProblem } from "./problem.ts";
import { describe, takesNoQuery } from "./routes.ts";
import * as api from "./schemas.ts";
import { addSessionRoutes } from "./sessions.ts";
import type { StreamTimes } from "./sse.ts";
import { addTurnRoutes } from "./turns.ts";
import { addViewer, VIEWER_PATH } from "./viewer/viewer.ts";

export interface AppOptions {
  readonly credentials: Credentials;
  /** Names the server answers to; asked for at each request. */
  readonly hosts: () => HostNames;
  readonly version: string;
  readonly body?: Partial<BodyLimits>;
  readonly streams?: Partial<StreamTimes>;
  readonly keys?: Partial<KeyLimits>;
  /** Aborts when event streams are to end. */
  readonly closing?: AbortSignal;
}

export type App = Hono<AppEnv>;

/** Reached without a token: health, the exchange of a one-time code, and the viewer's empty page. */
const OPEN_PATHS: ReadonlySet<string> = new Set(["/healthz", "/readyz", "/v1/login", VIEWER_PATH]);
const isOpen = (path: string) => OPEN_PATHS.has(path);
export const BODY: BodyLimits = { bytes: 8 * 1024 * 1024, ms: 30_000 };
/** A quiet stream is cut by many a proxy after 30 s, by some hosts after 10. */
export const STREAMS: StreamTimes = { heartbeat_ms: 8000, stall_ms: 20_000 };

export function createApp(desk: Desk, options: AppOptions): App {
  const { credentials, hosts, version, closing = new AbortController().signal } = options;
  const app = new Hono<AppEnv>();
  const metrics = createMetrics(desk, version);
  app.onError((error, c) => problemResponse(toProblem(error, c.req.method === "POST" ? "body" : "query"), c));
  app.notFound((c) => problemResponse(new Problem("not_found", "There is nothing under this path: see /openapi.json"), c));
  app.use(
    observe(metrics),
    guardHost(hosts),
    requireToken(credentials, isOpen),
    refuseExpectations(),
    refuseCodings(),
    readBody({ ...BODY, ...options.body }, isOpen),
    replayByKey(isOpen, { ...KEYS, ...options.keys }),
  );
  addAboutRoutes(app, desk, { version, metrics, credentials });
  addSessionRoutes(app, desk, new Cursors(credentials.seal));
  addTurnRoutes(app, desk);
  addEventRoutes(app, desk, { ...STREAMS, ...options.streams, closing, ended: (how) => metrics.streamEnded(how) });
  addViewer(app);
  app.get(
    "/openapi.json",
    describe({ id: "openapi", summary: "This document", answers: { 200: api.OpenApi } }),
    takesNoQuery,
    async (c) => {
      // Of the validators' own answer to what does not fit nothing is ever seen: ours is a problem.
      const options = {
        documentation: documentation(version, placeOf(c)),
        defaultValidationErrorResponse: false,
        excludeStaticFile: false,
      };
      return c.json(await generateSpecs(app, options));
    },
  );
  refuseOtherMethods(app);
  return app;
}

/** A path that exists answers other methods with those it has. */
function refuseOtherMethods(app: App): void {
  const methods = new Map<string, Set<string>>();
  for (const { path, method } of app.routes) {
    if (method !== "ALL") methods.set(path, (methods.get(path) ?? new Set()).add(method));
  }
  for (const [path, known] of methods) {
    const allow = [...known, ...(known.has("GET") ? ["HEAD"] : [])].sort().join(", ");
    app.all(path, () => {
      throw new Problem("method_not_allowed", `Cannot answer this method here: ask with ${allow}`, { headers: { allow } });
    });
  }
}

function documentation(version: string, place: string) {
  return {
    openapi: "3.1.0",
    servers: [{ url: place === "" ? "/" : place }],
    info: {
      title: "Orrery",
      version,
      description: "Durable agent sessions with supervised tools. " +
        `A body has at most ${BODY.bytes / 1024 ** 2} MiB and ${MOST_VALUES} values, a request at most ${MOST_FIELDS} header fields.`,
    },
    components: { securitySchemes: { token: { type: "http" as const, scheme: "bearer" } } },
    security: [{ token: [] }],
  };
}
