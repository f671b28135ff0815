/** Where in another app this one is: what its routes see is below that. */
import type { Context } from "hono";
import { baseRoutePath } from "hono/route";
import type { AppEnv } from "./env.ts";

/** `""` at the root, else as `/orrery`. */
export function placeOf(c: Context<AppEnv>): string {
  return baseRoutePath(c).replace(/\/+$/, "");
}

/** The request's path as the app's own routes have it. */
export function relativePath(c: Context<AppEnv>): string {
  const path = c.req.path.slice(placeOf(c).length);
  return path === "" ? "/" : path;
}
