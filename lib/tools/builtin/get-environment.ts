import { stat } from "node:fs/promises";
import { platform, release } from "node:os";
import { join } from "node:path";
import type { JsonObject } from "../../session/json.ts";
import type { HostContext, HostReply } from "../../session/launch.ts";
import { type BuiltinDefinition, succeeded } from "./definition.ts";

export const getEnvironment: BuiltinDefinition = {
  kind: "host",
  description: "Tell where this session works: the workspace, whether it is a git repository, the operating system and the shell.",
  input_schema: { type: "object", properties: {}, additionalProperties: false },
  run: describe,
};

async function describe(_input: JsonObject, context: HostContext): Promise<HostReply> {
  const git = await stat(join(context.workspace, ".git")).catch(() => null);
  const data = {
    workspace: context.workspace,
    git: git === null ? "none" : git.isDirectory() ? "repository" : "worktree",
    platform: platform(),
    release: release(),
    shell: context.env["SHELL"] ?? "/bin/sh",
  };
  return succeeded(Object.entries(data).map(([name, value]) => `${name}: ${value}`).join("\n"), data);
}
