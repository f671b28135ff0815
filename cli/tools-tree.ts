/** `orrery tools` and what goes with it. */
import { buildCommand, buildRouteMap } from "@stricli/core";
import { body, type CommandScope, everyday } from "./command-body.ts";
import { commonFlags, type CreateToolFlags, filled, jsonFlag, text, type ToolCallFlags, type ToolsFlags, workspaceFlag } from "./flags.ts";

const list = buildCommand<ToolsFlags, [folder?: string], CommandScope>({
  loader: body(async () => (await everyday()).tools),
  parameters: {
    flags: {
      validate: { kind: "boolean", default: false, withNegated: false, brief: "Check the tool files instead; exits 5 if one has errors" },
      ...commonFlags,
      ...jsonFlag,
    },
    aliases: { w: "workspace" },
    positional: {
      kind: "tuple",
      parameters: [{ parse: filled, optional: true, placeholder: "dir", brief: "With --validate: check this folder only" }],
    },
  },
  docs: {
    brief: "List the tools that were found here, or check their files with --validate",
    customUsage: ["[options]", "--validate [options] [dir]"],
    fullDescription:
      `Lists every tool that was found for the workspace, by source, with what became of it and why: offered to a session, hidden
in its mode, off, untrusted, shadowed or broken. With --validate it reports everything there is to say about the tool files of the workspace and
the user, or of one folder. No trust is needed, and nothing is started but trusted .ts, .js and .py files, which are asked what is
in them.

EXAMPLES
  orrery tools
  orrery tools --json | jq -r '.tools[] | select(.status == "offered") | .name'
  orrery tools --validate
  orrery tools --validate ./mytools --json`,
  },
});

const call = buildCommand<ToolCallFlags, [name: string], CommandScope>({
  loader: body(async () => (await everyday()).callTool),
  parameters: {
    flags: {
      input: {
        kind: "parsed",
        parse: text,
        optional: true,
        placeholder: "json",
        brief: "The input, one JSON object; - reads it from standard input",
      },
      ...commonFlags,
      ...jsonFlag,
    },
    aliases: { w: "workspace", i: "input" },
    positional: { kind: "tuple", parameters: [{ parse: filled, placeholder: "name", brief: "The tool" }] },
  },
  docs: {
    brief: "Run one tool as a session would, without a model",
    customUsage: ["[options] <name>"],
    fullDescription:
      `Runs one call through the same checks, hooks and supervision as in a session and prints what a model would read. Nothing is
left in the journal.

EXAMPLES
  orrery tools call read_file --input '{"path":"README.md"}'
  orrery tools call wordcount --trust-workspace --json --input - < input.json

EXIT CODES
  0 it ran well  1 an error result, also for an input that does not fit  2 no such tool
  4 refused: by mode, hook, trust, switch or a person  5 its definition is broken`,
  },
});

const create = buildCommand<CreateToolFlags, [name: string], CommandScope>({
  loader: body(async () => (await everyday()).createTool),
  parameters: {
    flags: {
      format: {
        kind: "enum",
        values: ["stella", "nanocoder", "ts", "py"],
        default: "stella",
        brief: "A TOML manifest and a script, a Markdown file, or a function in TypeScript or Python",
      },
      ...workspaceFlag,
      ...jsonFlag,
    },
    aliases: { w: "workspace", f: "format" },
    positional: { kind: "tuple", parameters: [{ parse: filled, placeholder: "name", brief: "The tool's name" }] },
  },
  docs: {
    brief: "Write a new tool that works as it is",
    customUsage: ["[options] <name>"],
    fullDescription: `Writes the files of a new tool into the workspace and trusts them as they are. No file is ever replaced.

EXAMPLES
  orrery tools create word_count
  orrery tools create k8s-pods --format nanocoder
  orrery tools create greet --format ts`,
  },
});

export const tools = buildRouteMap({
  routes: { list, call, create },
  defaultCommand: "list",
  docs: {
    brief: "List, check, call and create tools",
    fullDescription: `Without a command: orrery tools list.

EXAMPLES
  orrery tools                                  every tool, by source, and what became of it
  orrery tools --validate [dir]                 check tool files; exits 5 if one has errors
  orrery tools call NAME --input '{"a":1}'      run one
  orrery tools create NAME                      write a new one

Options: orrery tools list --help`,
  },
});
