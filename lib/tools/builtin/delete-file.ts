import { lstat, unlink } from "node:fs/promises";
import type { JsonObject } from "../../session/json.ts";
import type { HostContext, HostReply } from "../../session/launch.ts";
import { type BuiltinDefinition, failed, succeeded, textOf } from "./definition.ts";
import { entryInside, pathProblem } from "./workspace-path.ts";

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
  const given = textOf(input, "path");
  try {
    await using place = await entryInside(context.workspace, given);
    const entry = await lstat(place.path).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== "ENOENT") throw error;
      return null;
    });
    if (entry === null) return failed(`There is no file "${given}"`);
    if (entry.isDirectory()) return failed(`"${given}" is a folder; only files can be deleted`);
    await unlink(place.path);
    return succeeded(`Deleted "${place.shown}".`, { path: place.shown });
  } catch (error) {
    return failed(pathProblem(error, given));
  }
}
