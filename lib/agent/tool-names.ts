/** What completions offer: the tools here, as far as files tell. */
import process from "node:process";
import { findWorkspace, resolvePaths } from "../config/paths.ts";
import { NOTHING_CAPTURED } from "../session/launch.ts";
import type { AgentOptions } from "./options.ts";
import type { RunAside } from "./tool-modules.ts";
import { openWorkshop } from "./workshop.ts";

/** @throws {ConfigError} */
export async function nameTools(
  { env = process.env, workspace }: Pick<AgentOptions, "env" | "workspace"> = {},
): Promise<readonly string[]> {
  const paths = resolvePaths(env);
  const here = findWorkspace(workspace, process.cwd(), paths.home);
  const options = { workspace: here, paths, env, platform: process.platform, trustFlag: false, flags: {} };
  const { toolbox } = await openWorkshop(options, startNothing);
  return toolbox.offered.map(({ name }) => name);
}

/** A tool file in code that was never asked what is in it stays unnamed. */
const startNothing: RunAside = () =>
  Promise.resolve({
    outcome: { kind: "not_started", reason: "nothing is started here" },
    stdout: NOTHING_CAPTURED,
    stderr: NOTHING_CAPTURED,
    duration_ms: 0,
    reaped: [],
  });
