/**
 * Whether sessions would work here, check by check. An examination never throws for what it finds: that is a finding,
 * and the other checks go on.
 */
import process from "node:process";
import { ConfigError } from "../../config/error.ts";
import { resolvePaths } from "../../config/paths.ts";
import { calledName } from "../../platform/called.ts";
import { openAgent } from "../agent.ts";
import type { AgentOptions } from "../options.ts";
import type { Workshop } from "../workshop.ts";
import { checkContainment } from "./containment.ts";
import type { Finding } from "./finding.ts";
import { checkGround } from "./ground.ts";
import { checkJournal } from "./journal.ts";
import { checkMachine } from "./machine.ts";
import { checkModel } from "./model.ts";
import { checkTemporary } from "./temporary.ts";
import { checkWorker } from "./worker.ts";
import { checkServers } from "./servers.ts";
import { checkHooks, checkSpeculation, checkTools } from "./workshop.ts";

/** @throws {UsageError} the workspace is not a folder. */
export async function* checkAll(options: AgentOptions): AsyncGenerator<Finding> {
  const env = options.env ?? process.env;
  yield* checkMachine();
  yield* checkTemporary(env);
  yield* checkContainment(env);
  let agent;
  try {
    agent = openAgent(options);
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    yield { check: "journal", level: "error", text: error.message, remedy: "Set ORRERY_HOME to a folder that this user can write to" };
    return;
  }
  try {
    yield* await checkJournal(agent, env);
    yield* await checkWorker(agent.workspace);
    const workshop = await agent.workshop().catch((error: unknown) => {
      if (error instanceof ConfigError) return error;
      throw error;
    });
    if (workshop instanceof ConfigError) {
      yield { check: "settings", level: "error", text: workshop.message, remedy: "Correct the file at the place that is named" };
      yield* await checkModel(options, env, null);
      return;
    }
    const paths = resolvePaths(env);
    yield checkSettings(workshop, paths.config);
    yield* await checkModel(options, env, workshop);
    yield* checkGround(workshop.workspace);
    yield* await checkTools(workshop);
    yield* await checkServers(workshop, paths);
    yield* await checkHooks(workshop);
    yield checkSpeculation(workshop);
  } finally {
    await agent.close();
  }
}

function checkSettings({ workspace, policy: { notices } }: Workshop, folder: string): Finding {
  const [first, ...others] = notices.filter(({ code }) => code.startsWith("settings_"));
  if (first === undefined) return { check: "settings", level: "ok", text: `Settings for ${workspace} are read; your own are in ${folder}` };
  const more = others.length === 0 ? "" : ` (and ${others.length} more)`;
  return {
    check: "settings",
    level: "warning",
    text: `${first.text}${more}`,
    remedy: `${calledName()} config shows what counts and where it comes from`,
  };
}
