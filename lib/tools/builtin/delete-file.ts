import { lstatSync, unlinkSync } from "node:fs";
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

function remove(input: JsonObject, context: HostContext): HostReply {
  const given = textOf(input, "path");
  try {
    using place = entryInside(context.workspace, given);
    const entry = lstatSync(place.path, { throwIfNoEntry: false });
    if (entry === undefined) return failed(`There is no file "${given}"`);
    if (entry.isDirectory()) return failed(`"${given}" is a folder; only files can be deleted`);
    unlinkSync(place.path);
    return succeeded(`Deleted "${place.shown}".`, { path: place.shown });
  } catch (error) {
    return failed(pathProblem(error, given));
  }
}
