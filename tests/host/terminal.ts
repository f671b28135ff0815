/** Runs the command line on a real pseudo-terminal, by `script` of util-linux. */
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import process from "node:process";
import { orreryCommand } from "./orrery.ts";

export interface TerminalStart {
  readonly cwd: string;
  readonly home: string;
  readonly columns?: number;
  /** A program that executes its arguments. */
  readonly through?: readonly string[];
  /** On top of a bare environment. */
  readonly env?: Readonly<Record<string, string>>;
}

export interface TerminalRun {
  /** Everything that was shown so far, standard output and standard error together. */
  shown(): string;
  /** Resolves when the text has been shown; rejects if the program ends without. */
  waitFor(text: string): Promise<void>;
  /** As `waitFor`, for what is shown behind what the last `next` waited for. */
  next(text: string): Promise<void>;
  type(text: string): void;
  /** Takes the terminal away, as closing its window does. */
  hangUp(): void;
  /** The exit code, and everything that was shown. */
  ended(): Promise<{ readonly code: number | null; readonly shown: string }>;
}

/** macOS and BSD have another `script`. */
export const hasTerminal = process.platform === "linux" && spawnSync("script", ["--version"]).status === 0;

export function startOnTerminal(args: readonly string[], { cwd, home, columns = 80, through = [], env = {} }: TerminalStart): TerminalRun {
  const line = [...through, ...quietCommand(), ...args].map((word) => `'${word.replaceAll("'", "'\\''")}'`).join(" ");
  const child = spawn("script", ["-qec", `stty cols ${columns} rows 40 -echo; exec ${line}`, "/dev/null"], {
    cwd,
    env: {
      PATH: process.env["PATH"] ?? "",
      HOME: home,
      ORRERY_HOME: home,
      SHELL: "/bin/sh",
      TERM: "xterm",
      DENO_NO_UPDATE_CHECK: "1",
      ...env,
    },
    stdio: ["pipe", "pipe", "inherit"],
  });
  child.stdin?.on("error", () => undefined);
  return follow(child);
}

/** On a terminal Deno itself clears a line of progress, unless it is told to be quiet. */
export function quietCommand(): readonly string[] {
  const [program = "", ...before] = orreryCommand();
  return before[0] === "run" ? [program, "run", "--quiet", ...before.slice(1)] : [program, ...before];
}

function follow(child: ChildProcess): TerminalRun {
  let shown = "";
  let hasEnded = false;
  const listeners = new Set<() => void>();
  const wake = () => listeners.forEach((listener) => listener());
  child.stdout?.setEncoding("utf8").on("data", (chunk: string) => {
    shown += chunk;
    wake();
  });
  const end = new Promise<number | null>((settle, fail) => {
    child.once("error", fail);
    child.once("close", (code) => {
      hasEnded = true;
      settle(code);
      wake();
    });
  });
  let read = 0;
  /** Where the text ends, once it is shown. */
  const find = (text: string, from: number): Promise<number> =>
    new Promise((settle, fail) => {
      const look = () => {
        const at = shown.indexOf(text, from);
        if (at >= 0) settle(at + text.length);
        else if (hasEnded) fail(new Error(`The program ended without showing "${text}":\n${shown.slice(from)}`));
        else return;
        listeners.delete(look);
      };
      listeners.add(look);
      look();
    });
  return {
    shown: () => shown,
    type: (text) => void child.stdin?.write(text),
    // `script` holds the other side of the terminal.
    hangUp: () => void child.kill("SIGKILL"),
    waitFor: async (text) => void await find(text, 0),
    next: async (text) => void (read = await find(text, read)),
    async ended() {
      const code = await end;
      return { code, shown };
    },
  };
}
