/**
 * From what a file says of a server to what is started or spoken to: `${NAME}` filled in, and an environment that holds
 * a small base and what the file names, and nothing else of ours.
 */
import type { McpServer } from "./config.ts";

export type Destination =
  | { readonly kind: "stdio"; readonly argv: readonly string[]; readonly cwd: string; readonly env: Readonly<Record<string, string>> }
  | { readonly kind: "http"; readonly url: string; readonly headers: Readonly<Record<string, string>> };

export type Resolved =
  | { readonly kind: "resolved"; readonly destination: Destination }
  | { readonly kind: "unresolved"; readonly problem: string };

/** What a program needs to find others, its user's folder and its language. A proxy's address may hold a password: it must be named. */
export const BASE_VARIABLES: readonly string[] = ["PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "TMPDIR"];

export interface Surroundings {
  /** Absolute. */
  readonly workspace: string;
  /** What children may inherit, secrets of the runtime already taken out: `${NAME}` cannot bring them back. */
  readonly env: Readonly<Record<string, string>>;
}

export function resolveServer({ transport }: McpServer, { workspace, env }: Surroundings): Resolved {
  const filler = new Filler(env);
  const destination: Destination = transport.kind === "http"
    ? { kind: "http", url: filler.fill(transport.url), headers: filler.fillAll(transport.headers) }
    : {
      kind: "stdio",
      argv: [transport.cmd, ...transport.args].map((word) => filler.fill(word)),
      cwd: workspace,
      env: { ...pick(env, BASE_VARIABLES), ...filler.fillAll(transport.env) },
    };
  const problem = filler.problem ?? (destination.kind === "http" ? urlProblem(destination.url) : null);
  return problem === null ? { kind: "resolved", destination } : { kind: "unresolved", problem };
}

/** What is wrong with the address of a server; null if nothing is. */
export function urlProblem(text: string): string | null {
  const url = URL.canParse(text) ? new URL(text) : null;
  // Not shown: what was filled in may be a secret.
  if (url === null) return "its URL is not an absolute one";
  if (url.protocol !== "http:" && url.protocol !== "https:") {
    return `its URL begins with "${url.protocol}", and only http: and https: are spoken`;
  }
  return url.username === "" && url.password === "" ? null : "its URL holds a user name or a password; put them into a header";
}

/** Whether a text has something that is filled in later. */
export function hasPlaceholder(text: string): boolean {
  return PLACEHOLDER.test(text);
}

/** `${NAME}`, or `${NAME:-what to take if it is not set or empty}`. */
const PLACEHOLDER = /\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}/;

class Filler {
  readonly #env: Readonly<Record<string, string>>;
  readonly #missing = new Set<string>();

  constructor(env: Readonly<Record<string, string>>) {
    this.#env = env;
  }

  get problem(): string | null {
    const names = [...this.#missing].join(", ");
    return names === "" ? null : `${names} is not set, or not for tools to see`;
  }

  fill(text: string): string {
    return text.replaceAll(new RegExp(PLACEHOLDER, "g"), (_whole, name: string, fallback: string | undefined) => {
      const value = Object.hasOwn(this.#env, name) ? this.#env[name] : undefined;
      if (value !== undefined && (value !== "" || fallback === undefined)) return value;
      if (fallback === undefined) this.#missing.add(name);
      return fallback ?? "";
    });
  }

  fillAll(table: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
    return Object.fromEntries(Object.entries(table).map(([name, value]) => [name, this.fill(value)]));
  }
}

function pick(env: Readonly<Record<string, string>>, names: readonly string[]): Readonly<Record<string, string>> {
  return Object.fromEntries(names.flatMap((name) => Object.hasOwn(env, name) ? [[name, env[name] ?? ""]] : []));
}
