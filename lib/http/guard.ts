/**
 * Who was meant by a request, before anything looks at what it asks: the answer to a page that makes a browser speak
 * to us under another name (DNS rebinding), and to pages of other origins.
 */
import { isIP } from "node:net";
import type { MiddlewareHandler } from "hono";
import type { AppEnv } from "./env.ts";
import type { IncomingHead } from "./exchange.ts";
import { Problem } from "./problem.ts";
import { readTarget } from "./target.ts";

/** `host:port`, or `host` alone for any port; lower case. `*`: any address written as a number, which no name can be rebound to. */
export type HostNames = readonly string[];

/** `names` is asked for at each request, as a server knows its port only when it listens. */
export function guardHost(names: () => HostNames): MiddlewareHandler<AppEnv> {
  return async (c, next) => {
    const raw = c.env?.connection?.request();
    if (raw !== undefined) checkHead(raw, names());
    // Our own listener has made this URL itself.
    const authority = raw === undefined ? authorityOf(c.req.url) : null;
    const host = (c.req.header("host") ?? authority ?? "").toLowerCase();
    if (!isNamed(host, names()) || (authority !== null && !isTarget(authority, names()))) throw new Problem("wrong_host", WRONG_HOST);
    const origin = c.req.header("origin");
    if (origin !== undefined && !isOwnOrigin(origin, names())) {
      throw new Problem("wrong_origin", "This server does not answer to pages of another origin");
    }
    await next();
  };
}

/** What the text of the request says, before the host made sense of it. @throws {Problem} */
function checkHead({ method, target, hosts, fields }: IncomingHead, names: HostNames): void {
  if (fields > MOST_FIELDS) throw new Problem("headers_too_large", TOO_MANY_FIELDS);
  const asked = readTarget(target);
  // CONNECT names a host and has no path: no route takes it.
  if (asked === null && method !== "CONNECT") {
    const detail = "Cannot answer this request as its target is neither a path nor a URL: ask for /path, and name the host in Host";
    throw new Problem("bad_request", detail);
  }
  if (hosts.length !== 1) throw new Problem("bad_request", "Cannot answer this request as it must have one Host header");
  // Host must be right as well: whoever is before us may have gone by either.
  if (asked !== null && asked.origin !== null && !isOwnOrigin(asked.origin, names)) throw new Problem("wrong_host", WRONG_HOST);
}

/** As many as a request may have with the widely used servers in front of us. */
export const MOST_FIELDS = 100;
export const TOO_MANY_FIELDS = `Cannot read this request as its head has more than ${MOST_FIELDS} fields`;

const WRONG_HOST =
  "This server does not answer under the name in Host or in the request's target: ask by its address, or have it started with --allowed-host and that name (as a library: allowed_hosts or hosts)";

/** Of what `Expect` may ask for a server promises one thing, and its host sees to that. */
export function refuseExpectations(): MiddlewareHandler<AppEnv> {
  return async (c, next) => {
    const expected = c.req.header("expect");
    if (expected !== undefined && expected.toLowerCase() !== "100-continue") {
      throw new Problem("expectation_failed", "Cannot meet what Expect asks for: leave it out");
    }
    await next();
  };
}

/** `chunked` is what the host takes off a body; of any other coding it would show us what is left as if that were the body. */
export function refuseCodings(): MiddlewareHandler<AppEnv> {
  return async (c, next) => {
    const header = c.req.header("transfer-encoding");
    if (header !== undefined) checkCodings(header.toLowerCase().split(",").map((coding) => coding.trim()));
    await next();
  };
}

/** @throws {Problem} RFC 9112, 6.1 and 6.3 */
function checkCodings(codings: readonly string[]): void {
  if (codings.indexOf("chunked") !== codings.length - 1) {
    throw new Problem("bad_request", "Cannot tell where this body ends: send it with Content-Length, or with Transfer-Encoding: chunked");
  }
  if (codings.length > 1) {
    const detail =
      "Cannot take off a transfer coding but chunked: send this body as it is, with Transfer-Encoding: chunked or Content-Length";
    throw new Problem("unsupported_transfer_coding", detail);
  }
}

/** Null: a host that was told no name gives a path. */
function authorityOf(url: string): string | null {
  if (!URL.canParse(url)) return null;
  const { host, username, password } = new URL(url);
  return username === "" && password === "" ? host : `@${host}`;
}

/** A target may be a URL of its own, whatever Host says. `localhost` is what stands there if a program asks with a path alone. */
function isTarget(authority: string, names: HostNames): boolean {
  return authority === "localhost" || isNamed(authority, names);
}

function isOwnOrigin(origin: string, names: HostNames): boolean {
  const scheme = /^https?:\/\//.exec(origin)?.[0];
  if (scheme === undefined) return false;
  const host = origin.slice(scheme.length);
  // We speak plain HTTP; only a name that the operator gave may stand for a proxy that does not.
  if (scheme === "https://") return names.includes(`https://${host}`);
  return isNamed(host, names);
}

function isNamed(host: string, names: HostNames): boolean {
  const split = /^(\[[0-9a-f:.]+\]|[^:[\]/@?#\s,]+)(?::(\d{1,5}))?$/.exec(host);
  const name = split?.[1];
  if (name === undefined) return false;
  // A name alone is one with the port of plain HTTP.
  const full = split?.[2] === undefined ? `${name}:80` : host;
  return names.includes(host) || names.includes(name) || names.includes(full) ||
    (names.includes("*") && isIP(name.replace(/^\[|\]$/g, "")) !== 0);
}
