import { realpath, stat } from "node:fs/promises";
import { relative } from "node:path";
import type { JsonObject } from "../../session/json.ts";
import type { HostContext, HostReply } from "../../session/launch.ts";
import { type BuiltinDefinition, failed, succeeded, textOf } from "./definition.ts";
import { overwriteProblem } from "./overwrite.ts";
import { describeFile, replaceFile } from "./replace-file.ts";
import { PathRefused, placeInside } from "./workspace-path.ts";

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

async function write(input: JsonObject, context: HostContext): Promise<HostReply> {
  const content = textOf(input, "content");
  if (!content.isWellFormed()) return failed("Cannot write the content as it contains half of a surrogate pair, which UTF-8 cannot hold");
  try {
    const path = await placeInside(context.workspace, textOf(input, "path"));
    const shown = relative(await realpath(context.workspace), path);
    const present = await stat(path).catch(() => null);
    const problem = present === null ? null : overwriteProblem(context.state, shown, { mtime_ms: present.mtimeMs, size: present.size });
    if (problem !== null) return failed(problem);
    await replaceFile(path, content, present === null ? null : present.mode & 0o7777);
    const verb = present === null ? "Created" : "Replaced";
    return succeeded(`${verb} "${shown}" (${Buffer.byteLength(content)} bytes).`, await describeFile(path, shown));
  } catch (error) {
    if (error instanceof PathRefused) return failed(error.message);
    throw error;
  }
}
