/** Every command with its options and its help. The bodies are in `commands/` and are loaded when they run. */
import { buildCommand, buildRouteMap, type CommandContext } from "@stricli/core";
import type { Ending } from "./ending.ts";
import { explain } from "./errors.ts";
import {
  commonFlags,
  type EventsFlags,
  type JsonFlag,
  jsonFlag,
  type ListFlags,
  natural,
  type NoFlags,
  positive,
  type RunFlags,
  text,
  type ToolsFlags,
  type TurnFlags,
  turnFlags,
} from "./flags.ts";
import type { Shell } from "./terminal.ts";

/** What a command is called with as `this`. */
export interface CommandScope extends CommandContext {
  readonly shell: Shell;
  finish(ending: Ending): void;
}

const run = buildCommand<RunFlags, [prompt?: string], CommandScope>({
  loader: body(async () => (await import("./commands/run.ts")).run),
  parameters: {
    flags: {
      ...turnFlags,
      session: { kind: "parsed", parse: text, optional: true, placeholder: "id", brief: "Go on with this session instead of a new one" },
    },
    aliases: { w: "workspace", m: "model", o: "outputFormat" },
    positional: {
      kind: "tuple",
      parameters: [{ parse: text, optional: true, placeholder: "prompt", brief: "What to do; - or nothing: read it from standard input" }],
    },
  },
  docs: {
    brief: "Run one prompt to its end",
    customUsage: ["[options] [prompt|-]"],
    fullDescription: `Runs one prompt in a session to its end. The answer goes to standard output, what happens meanwhile to standard error.

EXAMPLES
  orrery run "How many words has README.md?"
  orrery run --model local/qwen3 --base-url http://127.0.0.1:8080/v1 "Explain lib/"
  orrery run --trust-workspace - < task.md
  orrery run --output-format json "List the TODOs" | jq -r .text
  orrery run --session ses_… "And now fix the first one"

EXIT CODES
  0 completed  1 failed  2 usage  3 stopped on purpose  4 approval needed and nobody to ask
  5 configuration  6 endpoint unreachable or key refused  124 --timeout  130/143 signal`,
  },
});

const tools = buildCommand<ToolsFlags, [], CommandScope>({
  loader: body(async () => (await import("./commands/tools.ts")).tools),
  parameters: { flags: { ...commonFlags, ...jsonFlag }, aliases: { w: "workspace" } },
  docs: {
    brief: "List the tools a session here is offered, and those it is not, with the reason",
    fullDescription: `Lists every tool that was found for the workspace, with where it comes from and whether a session is offered it.

EXAMPLES
  orrery tools
  orrery tools --trust-workspace --json | jq -r '.tools[] | select(.status == "offered") | .name'`,
  },
});

const list = buildCommand<ListFlags, [], CommandScope>({
  loader: body(async () => (await import("./commands/sessions-list.ts")).listSessions),
  parameters: {
    flags: {
      ...jsonFlag,
      limit: { kind: "parsed", parse: positive, default: "20", placeholder: "n", brief: "How many, the newest first" },
    },
  },
  docs: { brief: "List sessions, the newest first" },
});

const show = buildCommand<JsonFlag, [id: string], CommandScope>({
  loader: body(async () => (await import("./commands/sessions-show.ts")).showSession),
  parameters: { flags: jsonFlag, positional: { kind: "tuple", parameters: [{ parse: text, placeholder: "id", brief: "The session" }] } },
  docs: { brief: "Show what was said and done in a session" },
});

const events = buildCommand<EventsFlags, [id: string], CommandScope>({
  loader: body(async () => (await import("./commands/sessions-events.ts")).sessionEvents),
  parameters: {
    flags: {
      after: { kind: "parsed", parse: natural, default: "0", placeholder: "n", brief: "Only events with a higher number" },
      follow: { kind: "boolean", default: false, withNegated: false, brief: "Wait for more until interrupted" },
    },
    aliases: { f: "follow" },
    positional: { kind: "tuple", parameters: [{ parse: text, placeholder: "id", brief: "The session" }] },
  },
  docs: {
    brief: "Print a session's recorded events as JSON lines",
    fullDescription: `Prints the log of a session, one event a line. An event that cannot be read is a line of type "damaged".

EXAMPLES
  orrery sessions events ses_… | jq -c 'select(.type == "call_ended")'
  orrery sessions events ses_… --after 40 --follow`,
  },
});

const resume = buildCommand<TurnFlags, [id: string], CommandScope>({
  loader: body(async () => (await import("./commands/sessions-resume.ts")).resumeSession),
  parameters: {
    flags: turnFlags,
    aliases: { w: "workspace", m: "model", o: "outputFormat" },
    positional: { kind: "tuple", parameters: [{ parse: text, placeholder: "id", brief: "The session" }] },
  },
  docs: {
    brief: "Finish a turn that was interrupted",
    customUsage: ["[options] <id>"],
    fullDescription:
      `Takes up the last turn of a session where its runtime left it. A call that was running then has no known outcome: it is not
run again, and the model is told so. With nothing to finish this does nothing and exits 0. Output and exit codes are those of run.`,
  },
});

const demo = buildCommand<NoFlags, [], CommandScope>({
  loader: body(async () => (await import("./commands/demo.ts")).demo),
  parameters: {},
  docs: { brief: "Play a whole session with a scripted model: no key, no network" },
});

const version = buildCommand<JsonFlag, [], CommandScope>({
  loader: body(async () => (await import("./commands/version.ts")).version),
  parameters: { flags: jsonFlag },
  docs: { brief: "Print the version" },
});

export const commandTree = buildRouteMap({
  routes: {
    run,
    tools,
    sessions: buildRouteMap({
      routes: { list, show, events, resume },
      docs: { brief: "Look at sessions in the journal, and finish them" },
    }),
    demo,
    version,
  },
  docs: {
    brief: "Durable agent sessions with supervised tools",
    fullDescription: `Orrery runs agent sessions: your model endpoint, your folder of tools, a journal of everything that happened.

EXAMPLES
  orrery demo
  orrery run --model openai/gpt-5-mini "How many words has README.md?"
  orrery sessions list

Options of a command: orrery COMMAND --help`,
  },
});

/** A command's body as stricli wants it: every way out of it is an ending. */
function body<Flags, Args extends readonly unknown[]>(
  load: () => Promise<(shell: Shell, flags: Flags, ...args: Args) => Ending | Promise<Ending>>,
): () => Promise<(this: CommandScope, flags: Flags, ...args: Args) => Promise<void>> {
  return async () => {
    const run = await load();
    return async function (flags, ...args) {
      try {
        this.finish(await run(this.shell, flags, ...args));
      } catch (error) {
        this.finish(await explain(this.shell, error));
      }
    };
  };
}
