/**
 * The session viewer at `/`: one document that holds its style and its script, and asks nobody else for anything.
 *
 * It is served without a token, as it holds nothing of any session: what it shows it asks the API for, with a
 * credential that only its script holds. Text of models and tools cannot become markup or script in it: its policy
 * allows the one script and the one style by their digests, and no way from text to markup (Trusted Types).
 */
import { createHash } from "node:crypto";
import type { Context, Hono } from "hono";
import type { AppEnv } from "../env.ts";
import { placeOf } from "../place.ts";
import { describe } from "../routes.ts";
import { renderPage } from "./page.tsx";
import script from "./script.txt" with { type: "text" };
import style from "./style.css" with { type: "text" };

export const VIEWER_PATH = "/";

export function addViewer(app: Hono<AppEnv>): void {
  // Rendered when somebody looks for the first time, and only then.
  let page: string | null = null;
  const described = describe({
    id: "viewer",
    summary: "The session viewer",
    answers: { 200: null },
    streams: { "text/html": null },
    open: true,
  });
  const show = (c: Context<AppEnv>) => c.body(page ??= renderPage({ style, script }), 200, HEADERS);
  app.get(VIEWER_PATH, described, show);
  // Below a path of another app its routes do not take a slash at the end.
  app.use(async (c, next) => isSlashed(c) ? show(c) : await next());
}

function isSlashed(c: Context<AppEnv>): boolean {
  const place = placeOf(c);
  return place !== "" && c.req.path === `${place}/` && (c.req.method === "GET" || c.req.method === "HEAD");
}

const HEADERS = {
  "content-type": "text/html; charset=utf-8",
  // The next version of the program has another page under the same address.
  "cache-control": "no-store",
  "content-security-policy": [
    "default-src 'none'",
    `script-src ${digest(script)}`,
    `style-src ${digest(style)}`,
    "connect-src 'self'",
    "img-src data:",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ].join("; "),
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "permissions-policy": "camera=(), microphone=(), geolocation=(), payment=(), usb=()",
  "referrer-policy": "no-referrer",
  "x-frame-options": "DENY",
};

function digest(text: string): string {
  return `'sha256-${createHash("sha256").update(text).digest("base64")}'`;
}
