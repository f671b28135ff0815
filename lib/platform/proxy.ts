/**
 * Which requests go through a proxy that the environment names.
 *
 * Q1  Plain http goes straight to its server, as a proxy would read the key and the conversation.
 * Q2  So does what stays on this machine.
 * Q3  Https goes through the proxy, in a tunnel that it cannot look into, unless NO_PROXY has the host.
 */
import process from "node:process";
import { deno, type DenoHost, type DenoHttpClient } from "./host.ts";

/** `fetch` by the rules above. */
export function fetchByRule(url: string | URL, given: RequestInit = {}): Promise<Response> {
  const { hostname } = new URL(url);
  const init = { ...given, ...QUIETLY };
  if (!goesStraight(url)) return fetch(url, init);
  if (deno !== null) return fetch(url, { ...init, client: straightClient(hostname, deno) } as RequestInit);
  return exempting(hostname, () => fetch(url, init));
}

/** Else BUN_CONFIG_VERBOSE_FETCH has Bun print each request, with the key in it. Elsewhere this is not looked at. */
const QUIETLY = { verbose: false };

export interface ProxySetting {
  readonly variable: string;
  /** Without user name and password. */
  readonly address: string;
  /** False: it is there, and not used for this address. */
  readonly used: boolean;
}

/** The proxy that the environment has for such an address, for messages; null if that is none. */
export function proxyFor(url: string, env: Readonly<Record<string, string | undefined>> = process.env): ProxySetting | null {
  const { protocol, hostname } = new URL(url);
  if (isLoopback(hostname) || isExempt(hostname, env)) return null;
  const scheme = protocol.slice(0, -1);
  const variable = [`${scheme}_proxy`, `${scheme.toUpperCase()}_PROXY`, "all_proxy", "ALL_PROXY"].find((name) => env[name]);
  if (variable === undefined) return null;
  return { variable, address: withoutCredentials(env[variable] ?? ""), used: !goesStraight(url) };
}

function goesStraight(url: string | URL): boolean {
  const { protocol, hostname } = new URL(url);
  return protocol === "http:" || isLoopback(hostname);
}

function isLoopback(hostname: string): boolean {
  return hostname === "[::1]" || /^127\.\d+\.\d+\.\d+$/.test(hostname) || /^(?:.+\.)?localhost\.?$/.test(hostname);
}

function isExempt(hostname: string, env: Readonly<Record<string, string | undefined>>): boolean {
  const listed = (env["no_proxy"] ?? env["NO_PROXY"] ?? "").split(",").map((each) => each.trim().replace(/^\*?\./, "")).filter(Boolean);
  return listed.some((each) => each === "*" || each === hostname || hostname.endsWith(`.${each}`));
}

function withoutCredentials(address: string): string {
  const whole = address.includes("://") ? address : `http://${address}`;
  return URL.canParse(whole) ? new URL(whole).host : "not an address";
}

const EXEMPTIONS = ["NO_PROXY", "no_proxy"];

/** Neither host has an option for it. Bun reads the variables when a request begins, Deno when a client is made. */
function exempting<T>(hostname: string, begin: () => T): T {
  const before = EXEMPTIONS.map((name) => [name, process.env[name]] as const);
  for (const name of EXEMPTIONS) process.env[name] = `${hostname},${hostname.replace(/^\[|\]$/g, "")}`;
  try {
    return begin();
  } finally {
    for (const [name, value] of before) {
      if (value === undefined) delete process.env[name];
      else process.env[name] = value;
    }
  }
}

const straightClients = new Map<string, DenoHttpClient>();

function straightClient(hostname: string, host: DenoHost): DenoHttpClient {
  const known = straightClients.get(hostname);
  if (known !== undefined) return known;
  const client = exempting(hostname, () => host.createHttpClient({}));
  straightClients.set(hostname, client);
  return client;
}
