/**
 * Real pipes on Bun, which would give a child AF_UNIX sockets: `/dev/stdin`, `/dev/stdout` and `/dev/stderr` cannot be
 * opened then (ENXIO, Bun 1.4.5). Both ends are close-on-exec, so no other child of ours can hold them.
 */
import { closeSync } from "node:fs";
import process from "node:process";

export interface Pipe {
  readonly read: number;
  readonly write: number;
}

/** @throws {Error} with `code` EMFILE or the like; or if the C library cannot be loaded. */
export function openPipe(): Pipe {
  const ends = new Int32Array(2);
  const { symbols, ffi } = loadLibrary();
  const failed = symbols.pipe2 === undefined ? symbols.pipe?.(ffi.ptr(ends)) : symbols.pipe2(ffi.ptr(ends), O_CLOEXEC);
  const [read, write] = ends;
  if (failed !== 0 || read === undefined || write === undefined) {
    throw Object.assign(new Error("Cannot open a pipe: too many open files"), { code: "EMFILE" });
  }
  if (symbols.ioctl !== undefined) { for (const end of [read, write]) symbols.ioctl(end, FIOCLEX); }
  return { read, write };
}

export function closePipe(pipe: Pipe): void {
  closeSync(pipe.read);
  closeSync(pipe.write);
}

/** Linux, all architectures we build for. */
const O_CLOEXEC = 0o2000000;
/** macOS has no pipe2; this request takes no third argument, which FFI could not pass to a variadic function there. */
const FIOCLEX = 0x20006601;

interface Symbols {
  readonly pipe2?: (ends: unknown, flags: number) => number;
  readonly pipe?: (ends: unknown) => number;
  readonly ioctl?: (descriptor: number, request: number) => number;
}

interface Ffi {
  dlopen(
    name: string,
    symbols: Record<string, { readonly args: readonly string[]; readonly returns: string }>,
  ): { readonly symbols: Symbols };
  ptr(view: Int32Array): unknown;
}

interface Library {
  readonly symbols: Symbols;
  readonly ffi: Ffi;
}

let library: Library | undefined;

function loadLibrary(): Library {
  library ??= openLibrary();
  return library;
}

function openLibrary(): Library {
  // Not an import: Deno's checker does not know the name, and this file is never used there.
  const ffi = process.getBuiltinModule("bun:ffi") as unknown as Ffi;
  const wanted = process.platform === "darwin"
    ? { pipe: { args: ["ptr"], returns: "i32" }, ioctl: { args: ["i32", "u64"], returns: "i32" } }
    : { pipe2: { args: ["ptr", "i32"], returns: "i32" } };
  const refusals: string[] = [];
  for (const name of libraryNames()) {
    try {
      return { symbols: ffi.dlopen(name, wanted).symbols, ffi };
    } catch (error) {
      refusals.push(`${name}: ${(error as Error).message}`);
    }
  }
  throw new Error(`Cannot open pipes as the C library could not be loaded: ${refusals.join("; ")}`);
}

/** glibc first, then musl, which names its library after the architecture. */
function libraryNames(): readonly string[] {
  if (process.platform === "darwin") return ["libSystem.B.dylib"];
  const machine = process.arch === "arm64" ? "aarch64" : "x86_64";
  return ["libc.so.6", `libc.musl-${machine}.so.1`, `ld-musl-${machine}.so.1`];
}
