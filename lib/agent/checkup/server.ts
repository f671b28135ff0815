/** Whether a running server takes work. What a container's health check asks. */
import { UsageError } from "../../config/error.ts";
import { calledName } from "../../platform/called.ts";
import { readNetworkFault } from "../../platform/network-fault.ts";
import type { Finding } from "./finding.ts";

const ANSWER_MS = 5000;

/** @throws {UsageError} it is not the URL of a server. */
export async function checkServer(server: string): Promise<Finding> {
  const base = URL.canParse(server) ? new URL(server) : null;
  if (base === null || !["http:", "https:"].includes(base.protocol)) {
    throw new UsageError(`Cannot ask server "${server}" as that is not an http or https URL, such as http://127.0.0.1:4760`);
  }
  const url = `${base.origin}/readyz`;
  try {
    const response = await fetch(url, { redirect: "manual", signal: AbortSignal.timeout(ANSWER_MS) });
    await response.body?.cancel();
    if (response.ok) return { check: "server", level: "ok", text: `${base.origin} takes work` };
    const text = `${url} answers with ${response.status}: the server is shutting down, its journal takes no writes, or it is no Orrery`;
    return { check: "server", level: "error", text, remedy: "Look at its log on standard error" };
  } catch (error) {
    const isLate = error instanceof Error && error.name === "TimeoutError";
    const words = isLate ? `no answer within ${ANSWER_MS / 1000} s` : readNetworkFault(error).words;
    return {
      check: "server",
      level: "error",
      text: `${url} cannot be reached: ${words}`,
      remedy: `Start it with ${calledName()} serve, and check host and port`,
    };
  }
}
