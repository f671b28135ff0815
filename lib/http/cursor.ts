/** Where the next page of a list begins, as clients carry it: sealed, so that only what was a `next` is taken. */
import { createHmac, timingSafeEqual } from "node:crypto";
import * as v from "valibot";
import { SessionId } from "../session/event.ts";
import { Problem } from "./problem.ts";

export interface Place {
  readonly updated_at: string;
  readonly session: string;
}

/** Enough for what gives no right to anything. */
const SEAL_BYTES = 12;
const Written = v.tuple([v.string(), SessionId]);

export class Cursors {
  readonly #key: Uint8Array;

  /** With the same key a cursor is good over restarts. */
  constructor(key: Uint8Array) {
    this.#key = key;
  }

  write({ updated_at, session }: Place): string {
    const text = JSON.stringify([updated_at, session]);
    return Buffer.concat([this.#seal(text), Buffer.from(text)]).toString("base64url");
  }

  /** @throws {Problem} it was not written here. */
  read(cursor: string): Place {
    const bytes = Buffer.from(cursor, "base64url");
    const [seal, text] = [bytes.subarray(0, SEAL_BYTES), bytes.subarray(SEAL_BYTES).toString()];
    // One cursor has one spelling.
    if (bytes.toString("base64url") !== cursor || seal.length < SEAL_BYTES || !timingSafeEqual(seal, this.#seal(text))) {
      throw new Problem("invalid", "Cannot go on from this cursor: take it from `next` of an earlier page", {
        errors: [{ pointer: "?cursor", detail: "must be the `next` of an earlier page" }],
      });
    }
    const [updated_at, session] = v.parse(Written, JSON.parse(text));
    return { updated_at, session };
  }

  #seal(text: string): Buffer {
    return createHmac("sha256", this.#key).update(text).digest().subarray(0, SEAL_BYTES);
  }
}
