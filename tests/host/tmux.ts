/**
 * Runs the command line in tmux, a terminal that can be asked what is on its screen. The server is the test's own: its
 * socket lies in a folder that goes with it, and no configuration of the machine is read.
 */
import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { setTimeout as delay } from "node:timers/promises";
import { quietCommand } from "./terminal.ts";

export interface WindowStart {
  readonly cwd: string;
  readonly home: string;
  readonly columns?: number;
  readonly rows?: number;
  /** On top of a bare environment. */
  readonly env?: Readonly<Record<string, string>>;
}

export interface Window {
  /** The rows of the screen, without the blank ones at the end and without blanks at their ends. */
  screen(): readonly string[];
  /** The same with what scrolled away, and a row that the terminal itself broke in one piece. */
  everything(): string;
  /** The rows of the screen with their attributes. */
  coloured(): string;
  /** Where the next character goes, counted from 0. */
  cursor(): { readonly column: number; readonly row: number };
  /** Resolves when it holds for the screen. @throws with the screen, after a while. */
  until(claim: string, holds: (rows: readonly string[]) => boolean): Promise<void>;
  /** Resolves when the text stands in some row of the screen. */
  shows(text: string): Promise<void>;
  type(text: string): void;
  /** Keys by their names in tmux: `Enter`, `Up`, `C-c`. */
  press(...keys: readonly string[]): void;
  /** Resolves when the program can know of it. */
  resize(columns: number, rows: number): Promise<void>;
  /** The exit code. */
  ended(): Promise<number>;
  /** Ends the server, and so what runs in it. */
  close(): void;
}

/** Null, or why there is no such terminal. */
export const noTmux: string | null = findTmux();

const PATIENCE_MS = 20_000;

export function openWindow(args: readonly string[], { cwd, home, columns = 80, rows = 24, env = {} }: WindowStart): Window {
  const folder = mkdtempSync(join(tmpdir(), "orrery-tmux-"));
  const outer = { PATH: process.env["PATH"] ?? "", HOME: home, LC_ALL: "C.UTF-8" };
  const tmux = (...words: readonly string[]) => {
    const argv = ["-u", "-f", "/dev/null", "-S", join(folder, "socket"), ...words];
    const { status, stdout, stderr } = spawnSync("tmux", argv, { cwd, env: outer, encoding: "utf8" });
    if (status !== 0) throw new Error(`Cannot run tmux ${words.join(" ")}: ${stderr}`);
    return stdout;
  };
  const inner = { ...outer, ORRERY_HOME: home, SHELL: "/bin/sh", TERM: "screen-256color", DENO_NO_UPDATE_CHECK: "1", ...env };
  const program = ["env", "-i", ...Object.entries(inner).map(([name, value]) => `${name}=${value}`), ...quietCommand(), ...args];
  // Not by tmux, whose server 3.3a may miss that a program has ended.
  const codeFile = join(folder, "code");
  const command = ["sh", "-c", 'file=$1; shift; "$@"; echo $? > "$file"', "sh", codeFile, ...program];
  const options = ["set-option", "-g", "remain-on-exit", "on", ";", "set-option", "-g", "status", "off"];
  tmux("start-server", ";", ...options, ";", "new-session", "-d", "-x", String(columns), "-y", String(rows), ...command);

  const ask = (format: string) => tmux("display-message", "-p", format).trim();
  const until = async <T>(claim: string, look: () => T | null): Promise<T> => {
    const deadline = performance.now() + PATIENCE_MS;
    for (;;) {
      const found = look();
      if (found !== null) return found;
      if (performance.now() > deadline) throw new Error(`Not on the screen: ${claim}\n${tmux("capture-pane", "-p")}`);
      await delay(20);
    }
  };
  const screen = () => toRows(tmux("capture-pane", "-p"));
  const waitFor = async (claim: string, holds: (rows: readonly string[]) => boolean) => {
    await until(claim, () => holds(screen()) ? true : null);
  };
  return {
    screen,
    everything: () => toRows(tmux("capture-pane", "-p", "-J", "-S", "-")).join("\n"),
    coloured: () => tmux("capture-pane", "-p", "-e"),
    cursor() {
      const [column = 0, row = 0] = ask("#{cursor_x} #{cursor_y}").split(" ").map(Number);
      return { column, row };
    },
    until: waitFor,
    shows: (text) => waitFor(text, (rows) => rows.some((row) => row.includes(text))),
    // A semicolon at the end would begin a next command of tmux.
    type: (text) => void tmux("send-keys", "-l", "--", text.replace(/;$/, "\\;")),
    press: (...keys) => void tmux("send-keys", ...keys),
    async resize(width, height) {
      tmux("resize-window", "-x", String(width), "-y", String(height));
      const tty = ask("#{pane_tty}");
      const size = () => spawnSync("stty", ["-F", tty, "size"], { encoding: "utf8" }).stdout.trim();
      await until("the new size", () => size() === `${height} ${width}` ? true : null);
      // The signal is on its way; when it is seen to cannot be asked for.
      await delay(100);
    },
    ended: () =>
      until("the end of the program", () => {
        const code = existsSync(codeFile) ? readFileSync(codeFile, "utf8") : "";
        return code.endsWith("\n") ? Number(code) : null;
      }),
    close() {
      tmux("kill-server");
      rmSync(folder, { recursive: true });
    },
  };
}

function toRows(captured: string): readonly string[] {
  return captured.trimEnd().split("\n").map((row) => row.trimEnd());
}

function findTmux(): string | null {
  const { status, error } = spawnSync("tmux", ["-V"], { stdio: "ignore" });
  if (status === 0) return null;
  return `tmux ${error === undefined ? `ends with ${status}` : "is not installed"}`;
}
