import { lstat, unlink } from "node:fs/promises";
import type { JsonObject } from "../../session/json.ts";
import type { HostContext, HostReply } from "../../session/launch.ts";
import { type BuiltinDefinition, failed, succeeded, textOf } from "./definition.ts";
import { entryInside, PathRefused } from "./workspace-path.ts";

export const deleteFile: BuiltinDefinition = {
  kind: "host",
  description: "Delete one file of the workspace. A symbolic link is removed itself, not what it points to. Folders are not deleted.",
  input_schema: {
    type: "object",
    properties: { path: { type: "string", minLength: 1, description: "Path of the file, relative to the workspace." } },
    required: ["path"],
    additionalProperties: false,
  },
  run: remove,
};

async function remove(input: JsonObject, context: HostContext): Promise<HostReply> {
  try {
    const given = textOf(input, "path");
    const { path, shown } = await entryInside(context.workspace, given);
    const entry = await lstat(path).catch(() => null);
    if (entry === null) return failed(`There is no file "${given}"`);
    if (entry.isDirectory()) return failed(`"${given}" is a folder; only files can be deleted`);
    await unlink(path);
    return succeeded(`Deleted "${shown}".`, { path: shown });
  } catch (error) {
    if (error instanceof PathRefused) return failed(error.message);
    throw error;
  }
}
