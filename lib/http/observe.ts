/** What is known of every request afterwards: an id, a line in the log, two metrics. Nothing of what it carried. */
import type { Context, MiddlewareHandler } from "hono";
import { routePath } from "hono/route";
import type { AppEnv } from "./env.ts";
import { logger } from "./logs.ts";
import type { Metrics } from "./metrics.ts";
import { toProblem } from "./problem.ts";

/** Also turns every error into a problem, so that no way out of the app is unseen. */
export function observe(metrics: Metrics): MiddlewareHandler<AppEnv> {
  return async (c, next) => {
    const started = performance.now();
    const given = c.req.header("x-request-id") ?? "";
    const request_id = /^[\w.:-]{1,128}$/.test(given) ? given : crypto.randomUUID();
    c.set("request_id", request_id);
    await next();
    if (c.error !== undefined && toProblem(c.error).code === "internal") {
      logger("http").error("A request failed", { request_id, error: c.error.stack ?? String(c.error) });
    }
    c.res.headers.set("x-request-id", request_id);
    c.res.headers.set("x-content-type-options", "nosniff");
    const route = c.res.status === 404 ? "other" : routePath(c, -1);
    const seconds = (performance.now() - started) / 1000;
    const method = methodOf(c);
    metrics.request({ method, route, status: c.res.status, seconds });
    logger("http").info("Request", { request_id, method, route, status: c.res.status, ms: Math.round(seconds * 1e6) / 1e3 });
  };
}

/** Methods that no `Request` can have come as OPTIONS. */
function methodOf(c: Context<AppEnv>): string {
  return c.req.method === "OPTIONS" ? c.env?.connection?.request().method ?? "OPTIONS" : c.req.method;
}
