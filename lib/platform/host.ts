/** Which host runs us, and the few of its own functions that we use, as narrow as we use them. */
import process from "node:process";

export interface BunHost {
  readonly version: string;
  spawn(command: readonly string[], options: {
    readonly cwd: string;
    readonly env: Readonly<Record<string, string>>;
    readonly detached: boolean;
    readonly stdio: readonly [number | "ignore", number, number] | readonly ["ignore", number, number, number, number];
  }): BunChild;
  spawn(command: readonly string[], options: {
    readonly cwd: string;
    readonly env: Readonly<Record<string, string>>;
    readonly detached: boolean;
    readonly stdio: readonly ["pipe", "ignore", "ignore"];
  }): BunChild & { readonly stdin: BunSink };
  file(descriptor: number): {
    stream(): ReadableStream<Uint8Array>;
    writer(options: { readonly highWaterMark: number }): BunSink;
  };
  readonly CryptoHasher: new (algorithm: "sha256") => BunHasher;
  /** Of this thread. True: at once. */
  gc(force: boolean): void;
  plugin(plugin: { readonly name: string; setup(build: BunPluginBuild): void }): unknown;
}

export interface BunHasher {
  update(content: string | Uint8Array): BunHasher;
  digest(encoding: "hex"): string;
}

/** Takes what it is given, writes as the other end reads, and blocks nobody meanwhile. */
export interface BunSink {
  write(chunk: Uint8Array): number | Promise<number>;
  flush(): number | Promise<number>;
  end(error?: Error): number | Promise<number>;
}

export interface BunPluginBuild {
  module(name: string, load: () => { readonly exports: Readonly<Record<string, unknown>>; readonly loader: "object" }): unknown;
}

export interface BunChild {
  readonly pid: number;
  readonly exited: Promise<number>;
  readonly exitCode: number | null;
  /** A real-time signal has no name there and comes as its number. */
  readonly signalCode: string | number | null;
  kill(signal: string): void;
  unref(): void;
}

export interface DenoHost {
  readonly version: { readonly deno: string };
  dlopen(
    name: string,
    symbols: Readonly<Record<string, { readonly parameters: readonly string[]; readonly result: string }>>,
  ): { readonly symbols: Readonly<Record<string, (...values: unknown[]) => number>> };
  createHttpClient(options: Readonly<Record<string, never>>): DenoHttpClient;
  readonly permissions: { querySync(descriptor: { readonly name: string }): { readonly state: string } };
  readonly Command: new (program: string, options: {
    readonly args: readonly string[];
    readonly cwd: string;
    readonly env: Readonly<Record<string, string>>;
    readonly clearEnv: boolean;
    readonly detached: boolean;
    readonly stdin: "piped" | "null";
    readonly stdout: "piped" | "null";
    readonly stderr: "piped" | "null";
  }) => { spawn(): DenoChild };
}

/** Connections of their own, by the proxy settings of the moment it was made. */
export interface DenoHttpClient {
  close(): void;
}

export interface DenoChild {
  readonly pid: number;
  readonly status: Promise<{ readonly code: number; readonly signal: string | null }>;
  readonly stdin: WritableStream<Uint8Array>;
  readonly stdout: ReadableStream<Uint8Array>;
  readonly stderr: ReadableStream<Uint8Array>;
  kill(signal: string): void;
  unref(): void;
}

const globals = globalThis as { readonly Bun?: unknown; readonly Deno?: unknown };

/** Bun's own functions, or null on another host. */
export const bun: BunHost | null = globals.Bun === undefined ? null : globals.Bun as BunHost;

/** Deno's own functions, or null on another host. */
export const deno: DenoHost | null = globals.Deno === undefined || bun !== null ? null : globals.Deno as DenoHost;

/** Name and version, for people: `bun 1.4.5 linux x64`. */
export function describeHost(): string {
  const host = bun === null ? `deno ${deno?.version.deno ?? "unknown"}` : `bun ${bun.version}`;
  return `${host} ${process.platform} ${process.arch}`;
}

/** Whether this process is the first of a container. */
export function isInit(): boolean {
  return process.pid === 1 && process.platform === "linux";
}

/** The variable that has turned off the JIT of Bun's engine, as `NAME=value`; null: none has. Nothing of the C library can be called then. */
export function jitSwitch(): string | null {
  const value = bun === null ? undefined : process.env[USE_JIT];
  return value !== undefined && /^(?:0|false|no)$/i.test(value) ? `${USE_JIT}=${value}` : null;
}

const USE_JIT = "BUN_JSC_useJIT";

export function noJitRemedy(): string {
  return jitSwitch() === null ? "let it have memory that can be written and executed" : `unset ${USE_JIT}`;
}

/** What Deno may be allowed. It lets nobody look into `/proc` who is not allowed everything. */
const PERMISSIONS = ["run", "read", "write", "env", "net", "ffi", "sys", "import"];

/** What Deno was not allowed and we cannot do without; empty on Bun. */
export function missingPermissions(): readonly string[] {
  const host = deno;
  if (host === null) return [];
  return PERMISSIONS.filter((name) => host.permissions.querySync({ name }).state !== "granted");
}
