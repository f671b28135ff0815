/**
 * A process that stays beside this one, is told things on its standard input and never answers. It does not keep us
 * from ending. Not by way of `node:child_process`, whose first process costs 17 ms of the thread that starts it (Bun
 * 1.4.5), where the host's own function takes 2 to 3.
 */
import { Buffer } from "node:buffer";
import { bun, type BunHost, deno, type DenoHost } from "./host.ts";

export interface Companion {
  readonly pid: number;
  /** Resolves with how it ended. Never rejects. */
  readonly exited: Promise<string>;
  /** Bytes that wait for it to read them. */
  readonly unread: number;
  /** Never blocks and never fails: if it has ended, `exited` says so. */
  tell(text: string): void;
  /** End of its input. */
  dismiss(): void;
  kill(): void;
}

/** @throws {Error} if it cannot be started. */
export function spawnCompanion(command: readonly string[], env: Readonly<Record<string, string>>): Companion {
  if (bun !== null) return spawnOnBun(bun, command, env);
  if (deno !== null) return spawnOnDeno(deno, command, env);
  throw new Error("Cannot start processes: this is neither Bun nor Deno");
}

// It holds no folder, and what it prints is for nobody.
const PLACE = { cwd: "/", detached: true } as const;

function spawnOnBun(host: BunHost, command: readonly string[], env: Readonly<Record<string, string>>): Companion {
  const child = host.spawn(command, { ...PLACE, env, stdio: ["pipe", "ignore", "ignore"] });
  child.unref();
  const { stdin } = child;
  const write = async (bytes: Uint8Array) => {
    await stdin.write(bytes);
    await stdin.flush();
  };
  const exited = child.exited.then(() => `${child.signalCode ?? `exit code ${child.exitCode}`}`);
  return toCompanion(child.pid, exited, write, async () => void await stdin.end(), () => child.kill("SIGKILL"));
}

function spawnOnDeno(host: DenoHost, [program = "", ...args]: readonly string[], env: Readonly<Record<string, string>>): Companion {
  const options = { ...PLACE, args, env, clearEnv: true, stdin: "piped", stdout: "null", stderr: "null" } as const;
  const child = new host.Command(program, options).spawn();
  child.unref();
  const writer = child.stdin.getWriter();
  const exited = child.status.then(({ code, signal }) => signal ?? `exit code ${code}`, (error: unknown) => String(error));
  return toCompanion(child.pid, exited, (bytes) => writer.write(bytes), () => writer.close(), () => child.kill("SIGKILL"));
}

function toCompanion(
  pid: number,
  exited: Promise<string>,
  write: (bytes: Uint8Array) => Promise<void>,
  end: () => Promise<void>,
  kill: () => void,
): Companion {
  let unread = 0;
  let alive = true;
  // EPIPE: it has ended.
  const ignore = () => {};
  return {
    pid,
    exited: exited.finally(() => alive = false),
    get unread() {
      return unread;
    },
    tell: (text) => {
      const bytes = Buffer.from(text);
      unread += bytes.length;
      void write(bytes).then(() => unread -= bytes.length).catch(ignore);
    },
    dismiss: () => void end().catch(ignore),
    kill: () => alive && kill(),
  };
}
