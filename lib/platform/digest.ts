/** Digests by the host's own means: on Bun `node:crypto` brings Node's streams along, 3 ms of every start. */
import process from "node:process";
import { bun } from "./host.ts";

/** SHA-256 in lower-case hex: of the bytes, or of a text's UTF-8. */
export function sha256(content: string | Uint8Array): string {
  const hash = startSha256();
  hash.update(content);
  return hash.digest("hex");
}

/** The same of what comes in pieces. */
export function startSha256(): { update(piece: string | Uint8Array): void; digest(encoding: "hex"): string } {
  return bun !== null ? new bun.CryptoHasher("sha256") : process.getBuiltinModule("node:crypto").createHash("sha256");
}
