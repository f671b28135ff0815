/** The door for programs that embed the API. Loads the HTTP side when it is asked for, and not before. */
import type { Agent } from "../agent/agent.ts";
import type { DeskOptions } from "../agent/desk.ts";
import { VERSION } from "../platform/version.ts";
import type { App } from "./app.ts";
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

/** The API of one agent as a Hono app, for a server of your own. */
export async function createApp(
  agent: Agent,
  { token, hosts = ["127.0.0.1", "localhost", "[::1]"], ...limits }: EmbedOptions = {},
): Promise<AgentApp> {
  const [{ createApp: create }, { Credentials, newToken }, { Desk }] = await Promise.all([
    import("./app.ts"),
    import("./auth.ts"),
    import("../agent/desk.ts"),
  ]);
  const desk = new Desk(agent, limits);
  const closing = new AbortController();
  const chosen = token ?? newToken();
  const app = create(desk, { credentials: new Credentials(chosen), hosts: () => hosts, version: VERSION, closing: closing.signal });
  const drain = async (bound_ms: number) => {
    await desk.drain(bound_ms);
    closing.abort();
  };
  return Object.assign(app, { token: chosen, drain });
}

/** Serves an agent's sessions over HTTP. @throws {UsageError} @throws {ConfigError} */
export async function startServer(agent: Agent, options: ServerOptions = {}): Promise<RunningServer> {
  return await (await import("./serve.ts")).startServer(agent, options);
}
