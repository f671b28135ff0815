import type { BuiltinDefinition } from "./definition.ts";

export const DEFAULT_RESULTS = 100;
export const MAX_RESULTS = 500;

export const search: BuiltinDefinition = {
  kind: "host",
  description:
    "Find text in the files of the workspace, or files by name. Give query (plain text) or pattern (a regular expression); or only glob, to list files. Ignored files, binary files and .git are left out. The best matches come first.",
  input_schema: {
    type: "object",
    properties: {
      query: { type: "string", minLength: 1, maxLength: 1000, description: "Text to find in single lines, as it is." },
      pattern: {
        type: "string",
        minLength: 1,
        maxLength: 1000,
        description: "A regular expression (RE2: no look-around, no backreferences), matched against single lines.",
      },
      glob: {
        type: "string",
        minLength: 1,
        maxLength: 256,
        description: 'Only these files: "*.ts" (in any folder), "src/**/*.{js,css}", or "!*.md" for all others.',
      },
      path: { type: "string", minLength: 1, description: "Folder or file to search, relative to the workspace. Default: all of it." },
      ignore_case: { type: "boolean", description: "Upper and lower case are the same." },
      limit: { type: "integer", minimum: 1, maximum: MAX_RESULTS, description: `Results to show, ${DEFAULT_RESULTS} if not given.` },
    },
    additionalProperties: false,
  },
  // Loaded when it is used: a host that only reads a file need not wait for what a search needs.
  run: async (input, context) => await (await import("./search/run.ts")).runSearch(input, context),
};
