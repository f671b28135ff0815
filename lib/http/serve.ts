/**
 * The server: an agent, its desk, the app and a listening socket, from start to drained.
 *
 * V1  It listens only when all that it needs has been found good: the folders, the token file, the settings, the journal.
 * V2  A turn that only waits for answers is left open at the end, as a crash would leave it; no other is.
 */
import { lookup } from "node:dns/promises";
import { isIP } from "node:net";
import { join, resolve } from "node:path";
import process from "node:process";
import type { Agent } from "../agent/agent.ts";
import { Desk, type DeskOptions } from "../agent/desk.ts";
import { ConfigError, UsageError } from "../config/error.ts";
import { findWorkspace, resolvePaths } from "../config/paths.ts";
import { VERSION } from "../platform/version.ts";
import { type AppOptions, createApp } from "./app.ts";
import { Credentials } from "./auth.ts";
import { listen, type Listener } from "./listen.ts";
import { logger } from "./logs.ts";
import { readOrCreateToken } from "./token.ts";

export interface ServerOptions extends DeskOptions {
  /** Loopback by default. Elsewhere only with a token file that was named. */
  readonly host?: string;
  /** 0, the default: a free one. */
  readonly port?: number;
  /** Made with a new token if it is not there; else `server.token` beside the journal. */
  readonly token_file?: string;
  /** Further names of this server, as `host:port`, `host` for any port, or `https://host` for a proxy in front of it. */
  readonly allowed_hosts?: readonly string[];
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
  /**
   * Takes no new work, lets running turns go on for `bound_ms`, then stops them, or at once when `now` aborts; ends
   * when the last answer is out.
   */
  close(bound_ms?: number, now?: AbortSignal): Promise<Closing>;
}

export interface Closing {
  /** Turns that were cut off. */
  readonly stopped: number;
}

/** With the stop that follows it, within the half minute that most who stop servers allow. */
export const DRAIN_MS = 20_000;
const ANSWERS_MS = 2000;
/** Each of these is reached under the names of all. */
const LOOPBACK: ReadonlySet<string> = new Set(["127.0.0.1", "::1", "localhost"]);
const isLoopback = (host: string) => LOOPBACK.has(host) || (isIP(host) === 4 && host.startsWith("127."));

/**
 * Serves the agent's sessions. The agent stays the caller's: it is not closed.
 * @throws {UsageError} the host or a folder may not be used like that.
 * @throws {ConfigError} the token file, a setting or the address cannot be used. @throws {JournalUnavailable}
 */
export async function startServer(agent: Agent, options: ServerOptions = {}): Promise<RunningServer> {
  const { host = "127.0.0.1", port = 0, allowed_hosts = [], env = process.env, token_file, body, streams, ...limits } = options;
  if (!isLoopback(host) && token_file === undefined) {
    throw new UsageError(
      `Cannot listen on "${host}" with a token that nobody chose: add --token-file with the file that others get their token from`,
    );
  }
  const further = allowed_hosts.flatMap((name) => furtherNames(name));
  const { data } = resolvePaths(env);
  const path = resolve(token_file ?? join(data, "server.token"));
  const credentials = new Credentials(readOrCreateToken(path, data));
  const desk = await openDesk(agent, limits);
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
  names = [...ownNames(host, listener.port), ...further];
  const url = `http://${urlHost(host)}:${listener.port}`;
  logger("server").info("Listening", { url });
  return {
    url,
    token_file: path,
    login_url: `http://${urlHost(reachable(host))}:${listener.port}/#login=${credentials.issueCode()}`,
    desk,
    close: once(async (bound_ms, now) => {
      logger("server").info("Draining", { bound_ms, turns: desk.counts.turns });
      const stopped = await desk.drain(bound_ms, now);
      closing.abort();
      await listener.close(ANSWERS_MS);
      logger("server").info("Stopped", { turns_cut_off: stopped });
      return { stopped };
    }),
  };
}

/** V1. */
async function openDesk(agent: Agent, { roots = [agent.workspace], ...limits }: DeskOptions): Promise<Desk> {
  const folders = roots.map((root) => findWorkspace(root, process.cwd(), null));
  await Promise.all([agent.checkModel(folders[0]), agent.probe()]);
  return new Desk(agent, { ...limits, roots: folders });
}

async function openListener(answer: Parameters<typeof listen>[0], host: string, port: number): Promise<Listener> {
  await lookup(host).catch((error: unknown) => {
    throw new ConfigError(`Cannot listen on "${host}" as no address is known for this name`, { cause: error });
  });
  try {
    return await listen(answer, { host, port });
  } catch (error) {
    throw new ConfigError(`Cannot listen on ${urlHost(host)}:${port} as ${whyNot(error as NodeJS.ErrnoException)}`, { cause: error });
  }
}

/** The hosts word it in ways of their own, and name no option. */
function whyNot({ code, message }: NodeJS.ErrnoException): string {
  switch (code) {
    case "EADDRINUSE":
      return "that port is taken: give another one with --port (0 takes a free one), or end what listens there";
    case "EACCES":
      return "this user may not take that port: give one from 1024 on with --port";
    case "EADDRNOTAVAIL":
    // Deno 2.9's code for it.
    case "EINVAL":
      return "this machine has no such address: give one that it has with --host";
    default:
      return message;
  }
}

/** A server on every address has no name of its own; an address written as a number cannot be another's by DNS. */
function ownNames(host: string, port: number): readonly string[] {
  if (LOOPBACK.has(host)) return ["127.0.0.1", "localhost", "[::1]"].map((name) => `${name}:${port}`);
  if (host === "0.0.0.0" || host === "::") return ["*", `localhost:${port}`];
  return [`${urlHost(host).toLowerCase()}:${port}`];
}

/** For a browser here, or one that a port of a container is published to: no browser can be sent to every address. */
function reachable(host: string): string {
  return host === "0.0.0.0" ? "127.0.0.1" : host === "::" ? "::1" : host;
}

/** Behind a proxy that speaks HTTPS the name comes in Host and, with its scheme, in Origin. */
function furtherNames(given: string): readonly string[] {
  const name = given.toLowerCase();
  if (!/^(https:\/\/)?(\[[0-9a-f:.]+\]|[a-z0-9_](?:[a-z0-9._-]*[a-z0-9_])?)(:[1-9]\d{0,4})?$/.test(name)) {
    throw new UsageError(`Cannot allow the host "${given}": give it as NAME, NAME:PORT or https://NAME, without a path`);
  }
  return name.startsWith("https://") ? [name, name.slice("https://".length)] : [name];
}

function urlHost(host: string): string {
  return isIP(host) === 6 ? `[${host}]` : host;
}

function once(close: (bound_ms: number, now?: AbortSignal) => Promise<Closing>): RunningServer["close"] {
  let closed: Promise<Closing> | null = null;
  return (bound_ms = DRAIN_MS, now) => closed ??= close(bound_ms, now);
}
