/**
 * Whether sessions would work here, check by check. An examination never throws for what it finds: that is a finding,
 * and the other checks go on.
 */
import process from "node:process";
import { ConfigError, SettingsError } from "../../config/error.ts";
import { type Environment, type Paths, resolvePaths } from "../../config/paths.ts";
import { calledName } from "../../platform/called.ts";
import { type Agent, openAgent } from "../agent.ts";
import type { AgentOptions } from "../options.ts";
import { openWorkshop, type Workshop } from "../workshop.ts";
import { checkContainment } from "./containment.ts";
import type { Check, Finding } from "./finding.ts";
import { checkGround } from "./ground.ts";
import { checkJournal } from "./journal.ts";
import { checkMachine } from "./machine.ts";
import { checkModel } from "./model.ts";
import { checkTemporary } from "./temporary.ts";
import { checkWorker } from "./worker.ts";
import { checkServers } from "./servers.ts";
import { checkHooks, checkSpeculation, checkTools } from "./workshop.ts";

/** A folder that nobody can make: what is looked for below it is not there. */
const NOWHERE = "/dev/null/orrery";

/** @throws {UsageError} the workspace is not a folder. */
export async function* checkAll(options: AgentOptions): AsyncGenerator<Finding> {
  const env = options.env ?? process.env;
  yield* checkMachine();
  yield* checkTemporary(env);
  yield* checkContainment(env);
  const agent = open(options);
  if (!(agent instanceof ConfigError)) return yield* checkWith(agent, { ...options, env }, true);
  yield { check: "journal", level: "error", text: agent.message, remedy: "Set ORRERY_HOME to a folder that this user can write to" };
  const homeless = { ...options, env: { ...env, ORRERY_HOME: NOWHERE }, journal: "memory" } as const;
  const other = open(homeless);
  yield* other instanceof ConfigError ? skip(WORKSHOP, other) : checkWith(other, homeless, false);
}

function open(options: AgentOptions): Agent | ConfigError {
  try {
    return openAgent(options);
  } catch (error) {
    if (error instanceof ConfigError) return error;
    throw error;
  }
}

type Options = AgentOptions & { readonly env: Environment };

async function* checkWith(agent: Agent, options: Options, hasHome: boolean): AsyncGenerator<Finding> {
  try {
    if (hasHome) yield* await checkJournal(agent, options.env);
    yield* await checkWorker(agent.workspace);
    const workshop = await caught(agent.workshop());
    if (workshop instanceof ConfigError) return yield* checkWithout(agent.workspace, options, workshop);
    const paths = resolvePaths(options.env);
    yield checkSettings(workshop, hasHome ? paths.config : null);
    yield* checkWorkshop(workshop, options, paths);
  } finally {
    await agent.close();
  }
}

async function caught(opening: Promise<Workshop>): Promise<Workshop | ConfigError> {
  return await opening.catch((error: unknown) => {
    if (error instanceof ConfigError) return error;
    throw error;
  });
}

/** What settings with a fault leave to be seen. */
async function* checkWithout(workspace: string, options: Options, error: ConfigError): AsyncGenerator<Finding> {
  const remedy = "Correct it at the place that is named: no session starts before";
  const faults = error instanceof SettingsError ? error.faults : [error.message];
  for (const text of faults) yield { check: "settings", level: "error", text, remedy };
  const workshop = await caught(openSound(workspace, options));
  if (workshop instanceof ConfigError) {
    yield* await checkModel(options, options.env, null);
    return yield* skip(WORKSHOP, workshop);
  }
  const text = "What follows leaves out settings files with errors, as if they were not there, and tool files in code";
  yield { check: "settings", level: "note", text, remedy: `Run ${calledName()} doctor again once they are corrected` };
  yield* checkWorkshop(workshop, options, resolvePaths(options.env));
}

/** What there would be without the settings files at fault. Of that nothing is started. */
async function openSound(workspace: string, { env, trustWorkspace = false, model, baseUrl, mode }: Options): Promise<Workshop> {
  const trustFlag = typeof trustWorkspace === "boolean" ? trustWorkspace : trustWorkspace.includes(workspace);
  const place = { workspace, paths: resolvePaths(env), env, platform: process.platform, trustFlag };
  return await openWorkshop({ ...place, settings: "sound", flags: { model, base_url: baseUrl, mode } }, () => {
    throw new Error("Cannot start a tool file here");
  });
}

async function* checkWorkshop(workshop: Workshop, options: Options, paths: Paths): AsyncGenerator<Finding> {
  yield* await checkModel(options, options.env, workshop);
  yield* checkGround(workshop.workspace);
  yield* await checkTools(workshop);
  yield* await checkServers(workshop, paths);
  yield* await checkHooks(workshop);
  yield checkSpeculation(workshop);
}

const WORKSHOP = ["tools", "servers", "hooks", "speculation"] as const;

/** Whoever reads that all is well but for this must not take it for all. */
function skip(checks: readonly Check[], { message }: ConfigError): readonly Finding[] {
  const [reason = ""] = message.split("\n");
  return checks.map((check) => ({
    check,
    level: "note",
    text: `Not checked, as long as this stands: ${reason}`,
    remedy: `Run ${calledName()} doctor again once that is corrected`,
  }));
}

function checkSettings({ workspace, policy: { notices } }: Workshop, folder: string | null): Finding {
  const own = folder === null ? "there is no folder for your own" : `your own are in ${folder}`;
  const [first, ...others] = notices.filter(({ code }) => code.startsWith("settings_"));
  if (first === undefined) return { check: "settings", level: "ok", text: `Settings for ${workspace} are read; ${own}` };
  const more = others.length === 0 ? "" : ` (and ${others.length} more)`;
  return {
    check: "settings",
    level: "warning",
    text: `${first.text}${more}`,
    remedy: `${calledName()} config shows what counts and where it comes from`,
  };
}
