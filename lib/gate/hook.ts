/** What a hook is, and which tools it is for. */
import { existsSync } from "node:fs";
import { basename } from "node:path";
import type { ProcessLaunch, Run } from "../session/launch.ts";
import { matchesWildcard } from "../session/wildcard.ts";

/** Who wrote a hook, least powerful last. */
export type HookScope = "organisation" | "user" | "project";

export interface Hook {
  readonly event: "SessionStart" | "PreToolUse" | "PostToolUse" | "Stop";
  /** A pattern for the whole name of a tool, in which only `*` is special. Null: every tool. */
  readonly matcher: string | null;
  readonly command: string;
  readonly timeout_ms: number;
  readonly scope: HookScope;
  /** For people: which key of which file. */
  readonly where: string;
}

/** A hook that may not run, and why. */
export interface InertHook {
  readonly hook: Hook;
  readonly reason: string;
}

/** Runs one hook under the one supervisor, so that nothing of it outlives it. Settles once; never waits for less than its process tree. */
export type HookRunner = (launch: ProcessLaunch, signal: AbortSignal) => Promise<Run>;

/** How hooks are started. */
export interface HookContext {
  readonly workspace: string;
  /** The environment of tools: the runtime's secrets are not in it. */
  readonly env: Readonly<Record<string, string>>;
  /** Absolute: `hookShell()`. */
  readonly shell: string;
}

/** Something that a person should be told, as a `notice` event. */
export interface HookNotice {
  readonly code: "hook_failed" | "hook_ignored" | "hook_changed_input";
  readonly text: string;
}

/** A decision may change the input, which can be this long. */
const WHOLE_BYTES = 8 * 1024 * 1024;
/** Kept of what is longer: no decision, but an objection that is its last word. */
const CAP_BYTES = 64 * 1024;

export function coversTool(hook: Pick<Hook, "matcher">, tool: string): boolean {
  return hook.matcher === null || matchesWildcard(hook.matcher, tool);
}

/** Hooks whose matcher fits no known tool: most likely a mistake, and a guard that guards nothing. */
export function unmatchedHooks<T extends Pick<Hook, "event" | "matcher">>(hooks: readonly T[], tools: readonly string[]): readonly T[] {
  return hooks.filter((hook) => isForTools(hook) && !tools.some((tool) => coversTool(hook, tool)));
}

export function isForTools({ event }: Pick<Hook, "event">): boolean {
  return event === "PreToolUse" || event === "PostToolUse";
}

export function hookShell(): string {
  return existsSync("/bin/bash") ? "/bin/bash" : "/bin/sh";
}

/** By these the environment says what a shell's own words mean, or whether it runs anything: `exit` as a function agrees to all. */
const SHELL_SWITCHES =
  /^(?:ENV|BASH_ENV|BASH_FUNC_.*|BASH_COMPAT|BASH_LOADABLES_PATH|BASH_XTRACEFD|SHELLOPTS|BASHOPTS|POSIXLY_CORRECT|PS4|CDPATH|GLOBIGNORE|EXECIGNORE)$/s;

/**
 * No profile is read: neither a login nor an interactive shell, and no file that the environment names. Bash takes a
 * standard input that is a socket for a remote login and then reads `.bashrc` even for `-c`, unless it is told not to.
 */
export function launchOf(hook: Hook, payload: string, { workspace, env, shell }: HookContext): ProcessLaunch {
  const rest = Object.fromEntries(Object.entries(env).filter(([name, value]) => !SHELL_SWITCHES.test(name) && !value.startsWith("() {")));
  return {
    kind: "process",
    argv: [shell, ...(basename(shell) === "bash" ? ["--noprofile", "--norc"] : []), "-c", hook.command],
    cwd: workspace,
    env: rest,
    stdin: payload,
    timeout_ms: hook.timeout_ms,
    cap_bytes: CAP_BYTES,
    whole_bytes: WHOLE_BYTES,
  };
}
