import { resolve } from "node:path";
import { type AgentOptions, openServerLog, type RunningServer, startServer } from "../../mod.ts";
import { toAgentOptions, withAgent } from "../agent.ts";
import type { Ending } from "../ending.ts";
import type { ServeFlags } from "../flags.ts";
import { type Interruption, listenForInterruption } from "../interruption.ts";
import type { Shell } from "../terminal.ts";

/** Serves until a signal comes. The ending is that of the signal only if a turn had to be cut off. */
export async function serve(shell: Shell, flags: ServeFlags): Promise<Ending> {
  const log = await openServerLog(flags.logFormat ?? (shell.err.isTerminal ? "text" : "json"), (line) => shell.err.write(line));
  const interruption = listenForInterruption(shell, { told: "", hangUpIsFinal: false });
  try {
    return await withAgent<Ending>(shell, { ...agentOptions(flags), onNotice: log.notice, now: interruption.now }, async (agent) => {
      const server = await startServer(agent, { ...serverOptions(flags), env: shell.env });
      announce(shell, server, flags.json);
      await aborted(interruption.stop);
      const { stopped } = await server.close(flags.drain === undefined ? undefined : flags.drain * 1000, interruption.now);
      return stopped === 0 ? "completed" : interruption.cause ?? "completed";
    });
  } finally {
    interruption.close();
  }
}

function agentOptions({ workspace: folders = [], tokenFile, ...flags }: ServeFlags): AgentOptions {
  const [first] = folders;
  return {
    ...toAgentOptions(first === undefined ? flags : { ...flags, workspace: first }),
    ...(flags.trustWorkspace && folders.length > 0 ? { trustWorkspace: folders } : {}),
    ...(flags.maxSteps === undefined ? {} : { maxSteps: flags.maxSteps }),
    ...(flags.speculation === undefined ? {} : { speculation: flags.speculation }),
    ...(tokenFile === undefined ? {} : { secretFiles: [resolve(tokenFile)] }),
    defaultMode: "normal",
  };
}

function serverOptions({ workspace, host, port, tokenFile, allowedHost }: ServeFlags) {
  return {
    port,
    ...(workspace === undefined ? {} : { roots: workspace }),
    ...(host === undefined ? {} : { host }),
    ...(tokenFile === undefined ? {} : { token_file: tokenFile }),
    ...(allowedHost === undefined ? {} : { allowed_hosts: allowedHost }),
  };
}

function announce(shell: Shell, { url, token_file, login_url }: RunningServer, json: boolean): void {
  if (json) return shell.out.write(`${JSON.stringify({ schema_version: 1, url, token_file, login_url })}\n`);
  shell.out.write(`Listening on ${url}\nToken:   ${token_file}\nSign in: ${login_url} (once)\n`);
}

async function aborted(signal: Interruption["stop"]): Promise<void> {
  if (signal.aborted) return;
  await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
}
