/** Opens the runtime for one command and closes it whatever happens. */
import { concealVariables } from "../lib/platform/conceal.ts";
import { jitSwitch } from "../lib/platform/host.ts";
import { type AgentOptions, ConfigError, openAgent, type Runtime, runtimeSecrets } from "../mod.ts";
import type { CommonFlags } from "./flags.ts";
import { oneLine, type Shell } from "./terminal.ts";
import { clearWaiting } from "./waiting.ts";

/** @throws {ConfigError} the environment has turned off what every call needs. */
export async function withAgent<T>(shell: Shell, options: AgentOptions, use: (agent: Runtime) => Promise<T>): Promise<T> {
  const off = jitSwitch();
  if (off !== null) throw new ConfigError(`Cannot start tools as ${off} turns off the JIT of the engine, which they need: unset it`);
  // What is started here must not find in /proc what it is not given; the shell has a copy.
  concealVariables(runtimeSecrets());
  const agent = openAgent({
    env: shell.env,
    onNotice({ level, text }) {
      clearWaiting();
      shell.err.write(`orrery: ${level}: ${oneLine(text, 400)}\n`);
    },
    ...options,
  });
  try {
    return await use(agent);
  } finally {
    await agent.close();
  }
}

export function toAgentOptions(flags: CommonFlags): AgentOptions {
  return {
    ...(flags.workspace === undefined ? {} : { workspace: flags.workspace, onlyHere: true }),
    ...(flags.mode === undefined ? {} : { mode: flags.mode }),
    ...(flags.model === undefined ? {} : { model: flags.model }),
    ...(flags.baseUrl === undefined ? {} : { baseUrl: flags.baseUrl }),
    trustWorkspace: flags.trustWorkspace,
  };
}
