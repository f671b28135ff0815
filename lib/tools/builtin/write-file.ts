import { sha256 } from "../../platform/digest.ts";
import type { JsonObject } from "../../session/json.ts";
import type { HostContext, HostReply } from "../../session/launch.ts";
import { type BuiltinDefinition, failed, succeeded, textOf } from "./definition.ts";
import { overwriteProblem } from "./overwrite.ts";
import { lockPlace, presentFile, replaceFile } from "./replace-file.ts";
import { openInside, pathProblem, placeInside, readBytes } from "./workspace-path.ts";

export const writeFile: BuiltinDefinition = {
  kind: "host",
  description:
    "Create a file of the workspace, or replace one whose whole content was read in this session. Missing folders are made. To change a part of a file use edit_file.",
  input_schema: {
    type: "object",
    properties: {
      path: { type: "string", minLength: 1, description: "Path of the file, relative to the workspace." },
      content: { type: "string", description: "The whole new content." },
    },
    required: ["path", "content"],
    additionalProperties: false,
  },
  needs: ["reads"],
  run: write,
};

function write(input: JsonObject, context: HostContext): HostReply {
  const [given, content] = [textOf(input, "path"), textOf(input, "content")];
  if (!content.isWellFormed()) return failed("Cannot write the content as it contains half of a surrogate pair, which UTF-8 cannot hold");
  try {
    using place = placeInside(context.workspace, given);
    using _lock = lockPlace(place);
    const present = presentFile(place);
    const digest = () => digestOf(context, place.shown);
    const problem = present === null ? null : overwriteProblem(context.state, place.shown, present, digest);
    if (problem !== null) return failed(problem);
    const written = replaceFile(place, content, present);
    const summary = `${present === null ? "Created" : "Replaced"} "${place.shown}" (${written.size} bytes).`;
    return succeeded(summary, { path: place.shown, ...written, whole: true, digest: sha256(content) });
  } catch (error) {
    return failed(pathProblem(error, given));
  }
}

function digestOf({ workspace, secret_files }: HostContext, path: string): string {
  using file = openInside(workspace, path, secret_files);
  return sha256(readBytes(file));
}
