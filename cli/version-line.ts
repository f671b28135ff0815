import { describeHost } from "../lib/platform/host.ts";
import { COMMIT, VERSION } from "../lib/platform/version.ts";

export function versionLine(): string {
  return `orrery ${VERSION} (${COMMIT}, ${describeHost()})`;
}
