/**
 * What Windows would need: quoting for cmd.exe, its arguments, and where a person's tools are on each platform. Pure
 * functions of the platform; there is no Windows binary yet, so nothing runs through them there.
 */
import { posix, win32 } from "node:path";

export type CmdQuoted = { readonly kind: "quoted"; readonly text: string } | { readonly kind: "refused"; readonly problem: string };

/** Double quotes, with embedded ones doubled. What cmd.exe cannot be kept from expanding or splitting is refused. */
export function quoteForCmd(value: string): CmdQuoted {
  const found = /[%\r\n\0]/.exec(value)?.[0];
  if (found === undefined) return { kind: "quoted", text: `"${value.replaceAll('"', '""')}"` };
  const name = found === "%" ? "a percent sign" : found === "\0" ? "a NUL character" : "a line break";
  return { kind: "refused", problem: `Cannot pass a value to cmd.exe as it has ${name}, which no quoting there makes safe` };
}

/** No autorun, no delayed expansion; one outer pair of quotes, which `/s` takes off, so that the rest stays as it is. */
export function cmdArguments(script: string): readonly string[] {
  return ["/d", "/v:off", "/s", "/c", `"${script}"`];
}

export function isCmd(shell: string): boolean {
  return /^cmd(?:\.exe)?$/i.test(shell.slice(Math.max(shell.lastIndexOf("/"), shell.lastIndexOf("\\")) + 1));
}

/** What runs a script; `script` is the whole of it. */
export function shellCommand(
  shell: "bash" | "sh" | null,
  script: string,
  host: { readonly platform: string; readonly env: Readonly<Record<string, string | undefined>>; readonly hasBash: boolean },
): readonly [string, ...string[]] {
  if (shell !== null) return [`/bin/${shell}`, "-c", script];
  if (host.platform !== "win32") return [host.hasBash ? "/bin/bash" : "/bin/sh", "-c", script];
  const program = host.env["ComSpec"] || "cmd.exe";
  return isCmd(program) ? [program, ...cmdArguments(script)] : [program, "-c", script];
}

/** The folder of a person's own tools, or null if there is no home to look in. */
export function personalDirectory(platform: string, env: Readonly<Record<string, string | undefined>>, home: string | null): string | null {
  const named = env["NANOCODER_CONFIG_DIR"];
  const { join } = platform === "win32" ? win32 : posix;
  if (named !== undefined && named !== "") return join(named, "tools");
  if (platform === "win32") {
    const base = env["APPDATA"] || (home === null ? null : join(home, "AppData", "Roaming"));
    return base === null ? null : join(base, "nanocoder", "tools");
  }
  if (platform === "darwin") return home === null ? null : join(home, "Library", "Preferences", "nanocoder", "tools");
  const base = env["XDG_CONFIG_HOME"] || (home === null ? null : join(home, ".config"));
  return base === null ? null : join(base, "nanocoder", "tools");
}
