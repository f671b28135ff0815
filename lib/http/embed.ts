/** The door for programs that embed the API. Loads the HTTP side when it is asked for, and not before. */
import type { Agent } from "../agent/agent.ts";
import type { DeskOptions } from "../agent/desk.ts";
import type { AgentNotice } from "../agent/options.ts";
import { VERSION } from "../platform/version.ts";
import type { App } from "./app.ts";
import type { LogFormat } from "./logs.ts";
import type { RunningServer, ServerOptions } from "./serve.ts";

export interface EmbedOptions extends DeskOptions {
  /** What clients send as `Authorization: Bearer TOKEN`; else a random one, see `AgentApp.token`. */
  readonly token?: string;
  /** Names that the surrounding server answers to, as `host:port` or `host` for any port; else the loopback ones. */
  readonly hosts?: readonly string[];
}

/** The Hono app: mount it, or give its `fetch` to a server. */
export type AgentApp = App & {
  readonly token: string;
  /** Takes no new work, lets running turns go on for so long, then stops them, and ends all event streams. */
  drain(bound_ms: number): Promise<void>;
};

/** A runtime, or an agent in code, whose sessions are begun over HTTP as well. */
export type Served = Agent | { readonly runtime: Agent };

/** The API of one runtime or agent as a Hono app, for a server of your own. */
export async function createApp(
  served: Served,
  { token, hosts = ["127.0.0.1", "localhost", "[::1]"], ...limits }: EmbedOptions = {},
): Promise<AgentApp> {
  const [{ createApp: create }, { Credentials, newToken }, { Desk }] = await Promise.all([
    import("./app.ts"),
    import("./auth.ts"),
    import("../agent/desk.ts"),
  ]);
  const desk = new Desk(runtimeOf(served), limits);
  const closing = new AbortController();
  const chosen = token ?? newToken();
  const app = create(desk, { credentials: new Credentials(chosen), hosts: () => hosts, version: VERSION, closing: closing.signal });
  const drain = async (bound_ms: number) => {
    await desk.drain(bound_ms);
    closing.abort();
  };
  return Object.assign(app, { token: chosen, drain });
}

/** The log of servers of this process; for the agent's `onNotice`. */
export interface ServerLog {
  notice(notice: AgentNotice): void;
}

/** Sends what servers of this process do to `write`, one record a line, without anything that was said in a session. */
export async function openServerLog(format: LogFormat, write: (line: string) => void): Promise<ServerLog> {
  const { logNotice, sendLogs } = await import("./logs.ts");
  await sendLogs(format, write);
  return { notice: logNotice };
}

/** Serves an agent's sessions over HTTP. @throws {UsageError} @throws {ConfigError} @throws {JournalUnavailable} */
export async function startServer(served: Served, options: ServerOptions = {}): Promise<RunningServer> {
  return await (await import("./serve.ts")).startServer(runtimeOf(served), options);
}

function runtimeOf(served: Served): Agent {
  return "runtime" in served ? served.runtime : served;
}
