/** The door to the checks of `checkup/`, which nothing but a doctor loads. */
import type { Finding } from "./checkup/finding.ts";
import type { AgentOptions } from "./options.ts";

export type { Finding } from "./checkup/finding.ts";

/** Whether sessions would work here, check by check. @throws {UsageError} the workspace is not a folder. */
export async function* examine(options: AgentOptions = {}): AsyncGenerator<Finding> {
  const { checkAll } = await import("./checkup/checkup.ts");
  yield* checkAll(options);
}

/** Whether a running server takes work. @throws {UsageError} it is not the URL of a server. */
export async function askServer(url: string): Promise<Finding> {
  const { checkServer } = await import("./checkup/server.ts");
  return await checkServer(url);
}
