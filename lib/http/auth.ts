/** Who may ask: whoever has the token. Promise P6 for the network: the default is no. */
import { createHash, randomBytes, timingSafeEqual } from "node:crypto";
import type { MiddlewareHandler } from "hono";
import type { AppEnv } from "./env.ts";
import { relativePath } from "./place.ts";
import { Problem } from "./problem.ts";

/** How long a one-time code may be used, and how many grants of earlier ones are kept. */
export const CODE_MS = 15 * 60_000;
export const GRANTS = 16;

export function newToken(): string {
  return randomBytes(32).toString("base64url");
}

/**
 * The token, and what was granted to browsers in exchange for a one-time code, so that the token itself never gets
 * into one. Compared as digests, in constant time.
 */
export class Credentials {
  /** A key for what the server itself hands out to be brought back; the same as long as its token is. */
  readonly seal: Uint8Array;
  readonly #now: () => number;
  #accepted: readonly Buffer[];
  #code: { readonly digest: Buffer; readonly until: number } | null = null;

  /** @throws {RangeError} the token could be guessed. */
  constructor(token: string, now: () => number = Date.now) {
    this.#now = now;
    if (!/^[\x21-\x7e]{16,512}$/.test(token)) {
      throw new RangeError("Cannot use this token as it must be 16 to 512 printable characters without spaces");
    }
    this.#accepted = [digest(token)];
    this.seal = digest(`seal ${token}`);
  }

  accepts(token: string): boolean {
    const given = digest(token);
    return this.#accepted.map((each) => timingSafeEqual(each, given)).includes(true);
  }

  /** A code that can be exchanged once; the one before it is void. */
  issueCode(): string {
    const code = newToken();
    this.#code = { digest: digest(code), until: this.#now() + CODE_MS };
    return code;
  }

  /** A credential for the code; null if the code is not good (any more). */
  exchange(code: string): string | null {
    const issued = this.#code;
    if (issued === null || !timingSafeEqual(issued.digest, digest(code)) || issued.until <= this.#now()) return null;
    this.#code = null;
    const granted = newToken();
    const [own, ...grants] = this.#accepted;
    this.#accepted = [...(own === undefined ? [] : [own]), ...grants.slice(1 - GRANTS), digest(granted)];
    return granted;
  }
}

/** Asks for `Authorization: Bearer TOKEN` on every path but these. */
export function requireToken(credentials: Credentials, open: (path: string) => boolean): MiddlewareHandler<AppEnv> {
  return async (c, next) => {
    if (!open(relativePath(c)) && !credentials.accepts(bearer(c.req.header("authorization")))) {
      throw new Problem("unauthorized", "Cannot answer without the server's token: send it as Authorization: Bearer TOKEN", {
        headers: { "www-authenticate": 'Bearer realm="orrery"' },
      });
    }
    await next();
  };
}

function bearer(header: string | undefined): string {
  return /^Bearer +([\x21-\x7e]{1,512})$/i.exec(header ?? "")?.[1] ?? "";
}

function digest(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}
