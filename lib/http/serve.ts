/** The server: an agent, its desk, the app and a listening socket, from start to drained. */
import { isIP } from "node:net";
import { join } from "node:path";
import process from "node:process";
import type { Agent } from "../agent/agent.ts";
import { Desk, type DeskOptions } from "../agent/desk.ts";
import { ConfigError, UsageError } from "../config/error.ts";
import { resolvePaths } from "../config/paths.ts";
import { VERSION } from "../platform/version.ts";
import { type AppOptions, createApp } from "./app.ts";
import { Credentials } from "./auth.ts";
import { listen, type Listener } from "./listen.ts";
import { logger, sendLogs } from "./logs.ts";
import { readOrCreateToken } from "./token.ts";

export interface ServerOptions extends DeskOptions {
  /** Loopback by default. Elsewhere only with a token file that was named. */
  readonly host?: string;
  /** 0, the default: a free one. */
  readonly port?: number;
  /** Made with a new token if it is not there; else `server.token` beside the journal. */
  readonly token_file?: string;
  /** Further names of this server, as `host:port` or `https://host` for a proxy in front of it. */
  readonly allowed_hosts?: readonly string[];
  /** Where log lines go; absent: nowhere. */
  readonly log?: { readonly format: "json" | "text"; write(line: string): void };
  readonly env?: Readonly<Record<string, string | undefined>>;
  readonly body?: AppOptions["body"];
  readonly streams?: AppOptions["streams"];
}

export interface RunningServer {
  /** Without a slash at its end. */
  readonly url: string;
  readonly token_file: string;
  /** Signs one browser in, once. */
  readonly login_url: string;
  readonly desk: Desk;
  /** Takes no new work, lets running turns go on for `bound_ms`, then stops them; ends when the last answer is out. */
  close(bound_ms?: number): Promise<void>;
}

const DRAIN_MS = 25_000;
const ANSWERS_MS = 2000;
const LOOPBACK: ReadonlySet<string> = new Set(["127.0.0.1", "::1", "localhost"]);

/**
 * Serves the agent's sessions. The agent stays the caller's: it is not closed.
 * @throws {UsageError} the host may not be used like that. @throws {ConfigError} the token file or the address cannot be used.
 */
export async function startServer(agent: Agent, options: ServerOptions = {}): Promise<RunningServer> {
  const { host = "127.0.0.1", port = 0, allowed_hosts = [], log, env = process.env, token_file, body, streams, ...limits } = options;
  if (!LOOPBACK.has(host) && token_file === undefined) {
    throw new UsageError(
      `Cannot listen on "${host}" with a token that nobody chose: add --token-file with the file that others get their token from`,
    );
  }
  if (log !== undefined) await sendLogs(log.format, log.write);
  const path = token_file ?? join(resolvePaths(env).data, "server.token");
  const credentials = new Credentials(readOrCreateToken(path));
  const desk = new Desk(agent, limits);
  const closing = new AbortController();
  let names: readonly string[] = [];
  const app = createApp(desk, {
    credentials,
    hosts: () => names,
    version: VERSION,
    closing: closing.signal,
    ...(body === undefined ? {} : { body }),
    ...(streams === undefined ? {} : { streams }),
  });
  const listener = await openListener((request, connection) => app.fetch(request, { connection }), host, port);
  names = [...ownNames(host, listener.port), ...allowed_hosts.map((name) => name.toLowerCase())];
  const url = `http://${urlHost(host)}:${listener.port}`;
  logger("server").info("Listening", { url });
  return {
    url,
    token_file: path,
    login_url: `${url}/#login=${credentials.issueCode()}`,
    desk,
    close: once(async (bound_ms = DRAIN_MS) => {
      logger("server").info("Draining", { bound_ms, turns: desk.counts.turns });
      await desk.drain(bound_ms);
      closing.abort();
      await listener.close(ANSWERS_MS);
      logger("server").info("Stopped");
    }),
  };
}

async function openListener(answer: Parameters<typeof listen>[0], host: string, port: number): Promise<Listener> {
  try {
    return await listen(answer, { host, port });
  } catch (error) {
    throw new ConfigError(`Cannot listen on ${urlHost(host)}:${port} as ${(error as Error).message}`, { cause: error });
  }
}

/** A server on every address has no name of its own; an address written as a number cannot be another's by DNS. */
function ownNames(host: string, port: number): readonly string[] {
  if (LOOPBACK.has(host)) return ["127.0.0.1", "localhost", "[::1]"].map((name) => `${name}:${port}`);
  if (host === "0.0.0.0" || host === "::") return ["*", `localhost:${port}`];
  return [`${urlHost(host).toLowerCase()}:${port}`];
}

function urlHost(host: string): string {
  return isIP(host) === 6 ? `[${host}]` : host;
}

function once(close: (bound_ms?: number) => Promise<void>): (bound_ms?: number) => Promise<void> {
  let closed: Promise<void> | null = null;
  return (bound_ms) => closed ??= close(bound_ms);
}
