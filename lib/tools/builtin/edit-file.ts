import { relative } from "node:path";
import { sha256 } from "../../platform/digest.ts";
import type { JsonObject } from "../../session/json.ts";
import type { HostContext, HostReply } from "../../session/launch.ts";
import { type BuiltinDefinition, failed, succeeded, textOf } from "./definition.ts";
import { overwriteProblem } from "./overwrite.ts";
import { lockPlace, type PresentFile, presentOf, replaceFile } from "./replace-file.ts";
import { locateInside, openInside, pathProblem, PathRefused, placeInside, readBytes } from "./workspace-path.ts";

const MAX_FILE_BYTES = 16 * 1024 * 1024;
const edit = {
  old_string: { type: "string", minLength: 1, description: "The exact text to replace, white space included." },
  new_string: { type: "string", description: "The text to put in its place." },
  replace_all: { type: "boolean", description: "Replace every occurrence; otherwise the text must occur once." },
};

export const editFile: BuiltinDefinition = {
  kind: "host",
  description:
    "Replace exact text in a file of the workspace. The text must occur exactly once unless replace_all is true. Give edits to make several replacements, all or none.",
  input_schema: {
    type: "object",
    properties: {
      path: { type: "string", minLength: 1, description: "Path of the file, relative to the workspace." },
      ...edit,
      edits: {
        type: "array",
        minItems: 1,
        maxItems: 100,
        items: { type: "object", properties: edit, required: ["old_string", "new_string"], additionalProperties: false },
        description: "Several replacements, made in order.",
      },
    },
    required: ["path"],
    additionalProperties: false,
  },
  needs: ["reads"],
  run: editOnce,
};

function editOnce(input: JsonObject, context: HostContext): HostReply {
  const given = textOf(input, "path");
  const edits = editsOf(input);
  if (edits === null) return failed("Give either old_string and new_string, or edits; nothing was changed.");
  try {
    using place = placeInside(context.workspace, pathOf(context.workspace, given));
    using _lock = lockPlace(place);
    const before = readWhole(context, given);
    if (before === null) return failed(`Cannot edit "${given}" as it has more than ${MAX_FILE_BYTES} bytes`);
    const text = decode(before.bytes);
    if (text === null) return failed(`Cannot edit "${given}" as it is not UTF-8 text`);
    const edited = applyEdits(text, edits, given);
    if (edited.kind === "refused") return failed(edited.problem);
    if (before.path !== place.shown) return failed(`"${given}" was changed meanwhile. Nothing was written.`);
    const written = replaceFile(place, edited.text, before.present);
    // Who knew all of the file before the edit knows all of it afterwards.
    const whole = overwriteProblem(context.state, place.shown, before.present, () => sha256(before.bytes)) === null;
    const summary = `Edited "${place.shown}": ${edited.replaced} replacement${edited.replaced === 1 ? "" : "s"}.`;
    return succeeded(summary, { path: place.shown, ...written, whole, digest: sha256(edited.text) });
  } catch (error) {
    return failed(pathProblem(error, given));
  }
}

/** Of the file that is there: no folder is made for one that is not. */
function pathOf(workspace: string, given: string): string {
  const { root, real, kind } = locateInside(workspace, given);
  if (kind === "folder") throw new PathRefused(`"${given}" is a folder, not a file`);
  return relative(root, real);
}

interface Before {
  readonly path: string;
  readonly bytes: Uint8Array;
  readonly present: PresentFile;
}

function readWhole({ workspace, secret_files }: HostContext, given: string): Before | null {
  using file = openInside(workspace, given, secret_files);
  const { found } = file;
  if (found.size > MAX_FILE_BYTES) return null;
  return { path: file.path, bytes: readBytes(file), present: presentOf(found) };
}

/** Some providers refuse alternatives at the root of a schema, so this one is checked here. */
function editsOf(input: JsonObject): readonly JsonObject[] | null {
  const single = typeof input["old_string"] === "string" && typeof input["new_string"] === "string";
  const batch = input["edits"] as readonly JsonObject[] | undefined;
  if (batch === undefined) return single ? [input] : null;
  return input["old_string"] === undefined && input["new_string"] === undefined ? batch : null;
}

type Edited = { readonly kind: "edited"; readonly text: string; readonly replaced: number } | {
  readonly kind: "refused";
  readonly problem: string;
};

function applyEdits(original: string, edits: readonly JsonObject[], path: string): Edited {
  let text = original;
  let replaced = 0;
  for (const [index, step] of edits.entries()) {
    const [wanted, replacement] = [textOf(step, "old_string"), textOf(step, "new_string")];
    const which = edits.length === 1 ? "old_string" : `old_string of edit ${index + 1}`;
    if (wanted === replacement) return { kind: "refused", problem: `${which} and its new_string are the same; nothing was changed.` };
    const parts = text.split(wanted);
    const count = parts.length - 1;
    if (count === 0) {
      return {
        kind: "refused",
        problem: `${which} does not occur in "${path}"; nothing was changed. Read the file and copy the text exactly.`,
      };
    }
    if (count > 1 && step["replace_all"] !== true) {
      return {
        kind: "refused",
        problem: `${which} occurs ${count} times in "${path}"; nothing was changed. Give more of the text around it, or set replace_all.`,
      };
    }
    text = parts.join(replacement);
    replaced += count;
  }
  if (!text.isWellFormed()) return { kind: "refused", problem: "A new_string contains half of a surrogate pair; nothing was changed." };
  return { kind: "edited", text, replaced };
}

/** With its byte order mark, if it has one. */
function decode(bytes: Uint8Array): string | null {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    // Not UTF-8, which is the question.
    return null;
  }
}
