import { describeHost } from "../lib/platform/host.ts";
import { COMMIT, VERSION } from "../lib/platform/version.ts";

/** What people type for it. */
export const VERSION_WORDS: readonly string[] = ["version", "--version", "-v", "-V"];

export function versionLine(): string {
  return `orrery ${VERSION} (${COMMIT}, ${describeHost()})`;
}
