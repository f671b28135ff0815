/** Every command with its options and its help. The bodies are in `commands/` and are loaded when they run. */
import { buildCommand, buildRouteMap } from "@stricli/core";
import { body, type CommandScope } from "./command-body.ts";
import {
  type ChatFlags,
  commonFlags,
  type ConfigFlags,
  type EventsFlags,
  type ForkFlags,
  type JsonFlag,
  jsonFlag,
  type ListFlags,
  natural,
  type NoFlags,
  positive,
  type RunFlags,
  sessionFlag,
  text,
  type TrustFlags,
  type TurnFlags,
  turnFlags,
} from "./flags.ts";
import { tools } from "./tools-tree.ts";

const run = buildCommand<RunFlags, [prompt?: string], CommandScope>({
  loader: body(async () => (await import("./commands/run.ts")).run),
  parameters: {
    flags: { ...turnFlags, ...sessionFlag },
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

const chat = buildCommand<ChatFlags, [], CommandScope>({
  loader: body(async () => (await import("./commands/chat.ts")).chat),
  parameters: { flags: { ...commonFlags, ...sessionFlag }, aliases: { w: "workspace", m: "model" } },
  docs: {
    brief: "Talk with a model that uses the workspace's tools",
    fullDescription:
      `Runs one prompt after the other in one session, on a terminal. A call that needs approval is asked about, with what exactly
would run. In the conversation, /help lists the commands: /mode, /tools, /tools create NAME, /resume, /quit.

EXAMPLES
  orrery chat
  orrery chat --model local/qwen3 --base-url http://127.0.0.1:8080/v1 --mode plan
  orrery chat --session ses_…

KEYS
  Ctrl-C once stops a turn at a safe point, twice leaves; Ctrl-D on an empty line leaves`,
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

const fork = buildCommand<ForkFlags, [id: string], CommandScope>({
  loader: body(async () => (await import("./commands/sessions-fork.ts")).forkSession),
  parameters: {
    flags: {
      at: { kind: "parsed", parse: positive, optional: true, placeholder: "n", brief: "The last event to copy (default: all)" },
      ...jsonFlag,
    },
    positional: { kind: "tuple", parameters: [{ parse: text, placeholder: "id", brief: "The session" }] },
  },
  docs: {
    brief: "Begin a new session with the events of another",
    fullDescription: `Prints the id of a new session that begins as the other one did. Calls that were under way are not run in it.

EXAMPLES
  orrery run --session "$(orrery sessions fork ses_… --at 12)" "Try it the other way"`,
  },
});

const trust = buildCommand<TrustFlags, [folder?: string], CommandScope>({
  loader: body(async () => (await import("./commands/trust.ts")).trust),
  parameters: {
    flags: {
      forget: { kind: "boolean", default: false, withNegated: false, brief: "Take the trust back" },
      ...jsonFlag,
    },
    positional: {
      kind: "tuple",
      parameters: [{ parse: text, optional: true, placeholder: "dir", brief: "The workspace (default: the project around this folder)" }],
    },
  },
  docs: {
    brief: "Let a workspace's own tools, hooks and servers run",
    fullDescription: `Shows what a workspace could start and records that it may, as it is now: when one of these files is added, changed or
removed, it has to be trusted again. The scripts that they run are not part of this.

EXAMPLES
  orrery trust
  orrery trust ~/code/site
  orrery trust --forget`,
  },
});

const config = buildCommand<ConfigFlags, [], CommandScope>({
  loader: body(async () => (await import("./commands/config.ts")).config),
  parameters: {
    flags: { origin: { kind: "boolean", default: true, brief: "Say where each value comes from" }, ...commonFlags, ...jsonFlag },
    aliases: { w: "workspace" },
  },
  docs: {
    brief: "Show the settings that count here, and where each comes from",
    fullDescription:
      `Shows every setting that results from the flags, the environment, and the files of the project, the user and the organisation.

EXAMPLES
  orrery config
  orrery config --json | jq -r '.settings[] | select(.key == "model") | .value'`,
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
    chat,
    tools,
    sessions: buildRouteMap({
      routes: { list, show, events, resume, fork },
      docs: { brief: "Look at sessions in the journal, finish them and fork them" },
    }),
    trust,
    config,
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
