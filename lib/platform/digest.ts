/** Digests by the host's own means: on Bun `node:crypto` brings Node's streams along, 3 ms of every start. */
import process from "node:process";
import { bun } from "./host.ts";

/** SHA-256 in lower-case hex: of the bytes, or of a text's UTF-8. */
export function sha256(content: string | Uint8Array): string {
  if (bun !== null) return new bun.CryptoHasher("sha256").update(content).digest("hex");
  return process.getBuiltinModule("node:crypto").createHash("sha256").update(content).digest("hex");
}
