/**
 * The few functions of the C library that neither host offers, bound once each. What cannot be bound here (a permission
 * that is missing, a library of another name) is a value that says why: what needs it must say what it cannot promise.
 */
import { existsSync } from "node:fs";
import process from "node:process";
import { bun, deno, noJitRemedy } from "./host.ts";

/** `i32`: int. `u64`: unsigned long. `pointer`: to a view, or null. */
export type NativeType = "i32" | "u64" | "pointer";

type Value = number | Int32Array | null;
type Calls<Names extends string> = Readonly<Record<Names, (...values: readonly Value[]) => number>>;

export type Bound<Names extends string> =
  | { readonly kind: "bound"; readonly calls: Calls<Names> }
  | { readonly kind: "unbound"; readonly problem: string };

/** Binds functions that return an int. */
export function bindLibrary<Names extends string>(wanted: Readonly<Record<Names, readonly NativeType[]>>): Bound<Names> {
  const refusals: string[] = [];
  for (const name of libraryNames()) {
    try {
      return { kind: "bound", calls: bun === null ? bindOnDeno(name, wanted) : bindOnBun(name, wanted) };
    } catch (error) {
      const { message } = error as Error;
      // Another library would help as little.
      if (message.includes("requires the JIT")) return { kind: "unbound", problem: `the engine runs without its JIT: ${noJitRemedy()}` };
      refusals.push(`${name}: ${message}`);
    }
  }
  return { kind: "unbound", problem: `the C library could not be loaded (${refusals.join("; ")})` };
}

interface BunFfi {
  dlopen(
    name: string,
    symbols: Record<string, { readonly args: readonly string[]; readonly returns: string }>,
  ): { readonly symbols: Record<string, (...values: unknown[]) => number> };
  ptr(view: Int32Array): unknown;
}

function bindOnBun<Names extends string>(name: string, wanted: Readonly<Record<Names, readonly NativeType[]>>): Calls<Names> {
  // Not an import: Deno's checker does not know the name, and there it is never asked for.
  const ffi = process.getBuiltinModule("bun:ffi") as unknown as BunFfi;
  const toBun = { i32: "i32", u64: "u64", pointer: "ptr" };
  const symbols = mapEntries(wanted, (parameters) => ({ args: parameters.map((type) => toBun[type]), returns: "i32" }));
  const library = ffi.dlopen(name, symbols);
  return mapEntries(wanted, (_, symbol) => (...values: readonly Value[]) => {
    const call = library.symbols[symbol];
    if (call === undefined) throw new TypeError(`Cannot call ${symbol}: it was not bound`);
    return call(...values.map((value) => value instanceof Int32Array ? ffi.ptr(value) : value));
  }) as Calls<Names>;
}

function bindOnDeno<Names extends string>(name: string, wanted: Readonly<Record<Names, readonly NativeType[]>>): Calls<Names> {
  if (deno === null) throw new TypeError("this is neither Bun nor Deno");
  const symbols = mapEntries(
    wanted,
    (parameters) => ({ parameters: parameters.map((type) => type === "pointer" ? "buffer" : type), result: "i32" }),
  );
  const library = deno.dlopen(name, symbols);
  return mapEntries(wanted, (parameters, symbol) => (...values: readonly Value[]) => {
    const call = library.symbols[symbol];
    if (call === undefined) throw new TypeError(`Cannot call ${symbol}: it was not bound`);
    return call(...values.map((value, at) => parameters[at] === "u64" ? BigInt(Number(value)) : value));
  }) as Calls<Names>;
}

function mapEntries<T, U>(record: Readonly<Record<string, T>>, map: (value: T, name: string) => U): Record<string, U> {
  return Object.fromEntries(Object.entries(record).map(([name, value]) => [name, map(value, name)]));
}

/**
 * The one that is loaded already. glibc and musl both know it by the first name; whatever else is asked for by a bare
 * name, Bun looks for in the current directory too (1.4.5), and that is the workspace's.
 */
function libraryNames(): readonly string[] {
  if (process.platform === "darwin") return ["/usr/lib/libSystem.B.dylib"];
  const musl = `/lib/ld-musl-${process.arch === "arm64" ? "aarch64" : "x86_64"}.so.1`;
  return ["libc.so.6", ...(existsSync(musl) ? [musl] : [])];
}
