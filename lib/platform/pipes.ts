/**
 * Real pipes on Bun, which would give a child AF_UNIX sockets: `/dev/stdin`, `/dev/stdout` and `/dev/stderr` cannot be
 * opened then (ENXIO, Bun 1.4.5). Both ends are close-on-exec, so no other child of ours can hold them.
 */
import { closeSync } from "node:fs";
import process from "node:process";
import { bindLibrary } from "./libc.ts";

export interface Pipe {
  readonly read: number;
  readonly write: number;
}

/** @throws {Error} with `code` EMFILE or the like; or if the C library cannot be loaded. */
export function openPipe(): Pipe {
  open ??= process.platform === "darwin" ? bindOnMac() : bindOnLinux();
  const ends = new Int32Array(2);
  const failed = open(ends);
  const [read, write] = ends;
  if (failed !== 0 || read === undefined || write === undefined) {
    throw Object.assign(new Error("Cannot open a pipe: too many open files"), { code: "EMFILE" });
  }
  return { read, write };
}

export function closePipe(pipe: Pipe): void {
  closeSync(pipe.read);
  closeSync(pipe.write);
}

let open: ((ends: Int32Array) => number) | undefined;

/** Linux, all architectures we build for. */
const O_CLOEXEC = 0o2000000;
/** macOS has no pipe2; this request takes no third argument, which FFI could not pass to a variadic function there. */
const FIOCLEX = 0x20006601;

function bindOnLinux(): (ends: Int32Array) => number {
  const library = bindLibrary({ pipe2: ["pointer", "i32"] });
  if (library.kind === "unbound") throw new Error(`Cannot open pipes as ${library.problem}`);
  const { pipe2 } = library.calls;
  return (ends) => pipe2(ends, O_CLOEXEC);
}

function bindOnMac(): (ends: Int32Array) => number {
  const library = bindLibrary({ pipe: ["pointer"], ioctl: ["i32", "u64"] });
  if (library.kind === "unbound") throw new Error(`Cannot open pipes as ${library.problem}`);
  const { pipe, ioctl } = library.calls;
  return (ends) => {
    const failed = pipe(ends);
    if (failed === 0) { for (const end of ends) ioctl(end, FIOCLEX); }
    return failed;
  };
}
