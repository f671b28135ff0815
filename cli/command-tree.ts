/** Every command with its options and its help. The bodies are in `commands/` and are loaded when they run. */
import { buildChoiceParser, buildCommand, buildRouteMap } from "@stricli/core";
import { body, type CommandScope, everyday } from "./command-body.ts";
import {
  type CancelFlags,
  type ChatFlags,
  commonFlags,
  COMPLETIONS_SHELLS,
  type CompletionsFlags,
  type CompletionsShell,
  type ConfigFlags,
  type DoctorFlags,
  type EventsFlags,
  filled,
  type ForkFlags,
  type JsonFlag,
  jsonFlag,
  type ListFlags,
  type ManFlags,
  natural,
  type NoFlags,
  positive,
  type RunFlags,
  runParameters,
  secondsOrNone,
  type ServeFlags,
  serveFlags,
  sessionFlag,
  text,
  type TrustFlags,
  type TurnFlags,
  turnFlags,
  type VersionFlags,
} from "./flags.ts";
import { tools } from "./tools-tree.ts";

const run = buildCommand<RunFlags, [prompt?: string], CommandScope>({
  loader: body(async () => (await import("./commands/run.ts")).run),
  parameters: runParameters,
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
  loader: body(async () => (await everyday()).listSessions),
  parameters: {
    flags: {
      ...jsonFlag,
      limit: { kind: "parsed", parse: positive, default: "20", placeholder: "n", brief: "How many, the newest first" },
    },
  },
  docs: { brief: "List sessions, the newest first" },
});

const show = buildCommand<JsonFlag, [id: string], CommandScope>({
  loader: body(async () => (await everyday()).showSession),
  parameters: { flags: jsonFlag, positional: { kind: "tuple", parameters: [{ parse: filled, placeholder: "id", brief: "The session" }] } },
  docs: { brief: "Show what was said and done in a session" },
});

const events = buildCommand<EventsFlags, [id: string], CommandScope>({
  loader: body(async () => (await everyday()).sessionEvents),
  parameters: {
    flags: {
      after: { kind: "parsed", parse: natural, default: "0", placeholder: "n", brief: "Only events with a higher number" },
      follow: { kind: "boolean", default: false, withNegated: false, brief: "Wait for more until interrupted" },
    },
    aliases: { f: "follow" },
    positional: { kind: "tuple", parameters: [{ parse: filled, placeholder: "id", brief: "The session" }] },
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
  loader: body(async () => (await everyday()).resumeSession),
  parameters: {
    flags: turnFlags,
    aliases: { w: "workspace", m: "model", o: "outputFormat" },
    positional: { kind: "tuple", parameters: [{ parse: filled, placeholder: "id", brief: "The session" }] },
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
  loader: body(async () => (await everyday()).forkSession),
  parameters: {
    flags: {
      at: { kind: "parsed", parse: positive, optional: true, placeholder: "n", brief: "The last event to copy (default: all)" },
      ...jsonFlag,
    },
    positional: { kind: "tuple", parameters: [{ parse: filled, placeholder: "id", brief: "The session" }] },
  },
  docs: {
    brief: "Begin a new session with the events of another",
    fullDescription: `Prints the id of a new session that begins as the other one did. Calls that were under way are not run in it.

EXAMPLES
  orrery run --session "$(orrery sessions fork ses_… --at 12)" "Try it the other way"`,
  },
});

const cancel = buildCommand<CancelFlags, [id: string], CommandScope>({
  loader: body(async () => (await everyday()).cancelSession),
  parameters: {
    flags: {
      grace: { kind: "parsed", parse: secondsOrNone, default: "0", placeholder: "s", brief: "Seconds that calls which run have to finish" },
      ...jsonFlag,
    },
    positional: { kind: "tuple", parameters: [{ parse: filled, placeholder: "id", brief: "The session" }] },
  },
  docs: {
    brief: "End the open turn of a session, whoever drives it",
    fullDescription:
      `Ends the turn that is open: in the orrery that drives it, or here if that one is gone. Nothing new begins, calls that run are
ended, and every call gets its result, so that the next prompt can go on. With no open turn this does nothing and exits 0.

EXAMPLES
  orrery sessions cancel ses_…
  orrery sessions cancel ses_… --grace 10`,
  },
});

const exportLog = buildCommand<NoFlags, [id: string], CommandScope>({
  loader: body(async () => (await everyday()).exportSession),
  parameters: { positional: { kind: "tuple", parameters: [{ parse: filled, placeholder: "id", brief: "The session" }] } },
  docs: {
    brief: "Print a session as JSON lines that import takes",
    fullDescription:
      `Prints the log of a session, one event a line, byte for byte as it is stored. Sessions that worked for it (delegate) have
logs of their own.

EXAMPLES
  orrery sessions export ses_… > session.jsonl
  orrery sessions export ses_… | ssh build orrery sessions import -`,
  },
});

const importLog = buildCommand<JsonFlag, [file: string], CommandScope>({
  loader: body(async () => (await everyday()).importSession),
  parameters: {
    flags: jsonFlag,
    positional: {
      kind: "tuple",
      parameters: [{ parse: filled, placeholder: "file", brief: "What export printed; - reads standard input" }],
    },
  },
  docs: {
    brief: "Take in a session that export printed",
    fullDescription:
      `Takes in one session under its own id and prints that. A file that is not sound is refused with the line and the reason, and
nothing of it is taken in; so is a session that is there already.

EXAMPLES
  orrery sessions import session.jsonl
  orrery run --session "$(orrery sessions import session.jsonl)" "Go on"`,
  },
});

const serve = buildCommand<ServeFlags, [], CommandScope>({
  loader: body(async () => (await import("./commands/serve.ts")).serve),
  parameters: { flags: serveFlags, aliases: { w: "workspace", m: "model" } },
  docs: {
    brief: "Serve sessions over HTTP",
    fullDescription:
      `Listens on a loopback port and serves sessions to whoever has the token, which is in a file that only its owner can read. Prints
where it listens, the token's file and a link that signs one browser in; what happens is logged to standard error.
The options for the model and the mode hold for sessions that do not choose their own.

EXAMPLES
  orrery serve
  orrery serve --workspace ~/code/site --workspace ~/code/api --model local/qwen3 --base-url http://127.0.0.1:8080/v1
  orrery serve --port 0 --json | jq -r .url
  orrery serve --host 0.0.0.0 --token-file /run/secrets/orrery --allowed-host https://orrery.example

SIGNALS
  SIGTERM or SIGINT: takes no new work, lets running turns finish (--drain), then stops them; once more stops them at once`,
  },
});

const trust = buildCommand<TrustFlags, [folder?: string], CommandScope>({
  loader: body(async () => (await everyday()).trust),
  parameters: {
    flags: {
      forget: { kind: "boolean", default: false, withNegated: false, brief: "Take the trust back" },
      ...jsonFlag,
    },
    positional: {
      kind: "tuple",
      parameters: [{ parse: filled, optional: true, placeholder: "dir", brief: "The workspace (default: the project around this folder)" }],
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
  loader: body(async () => (await everyday()).config),
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

const doctor = buildCommand<DoctorFlags, [], CommandScope>({
  loader: body(async () => (await import("./commands/doctor.ts")).doctor),
  parameters: {
    flags: {
      ...commonFlags,
      server: {
        kind: "parsed",
        parse: filled,
        optional: true,
        placeholder: "url",
        brief: "Only ask a running server whether it takes work",
      },
      ...jsonFlag,
    },
    aliases: { w: "workspace" },
  },
  docs: {
    brief: "Check that everything works here, with a remedy for what does not",
    fullDescription:
      `Looks at the settings, the model's endpoint, the journal, the tools, the hooks, early reads, the worker and its processes, the C
library and the processor, and what contains this machine. It asks the endpoint for its models, which costs nothing, and starts
one harmless built-in; nothing of the workspace is started. Exits 1 if something does not work.

EXAMPLES
  orrery doctor
  orrery doctor --model local/qwen3 --base-url http://127.0.0.1:8080/v1
  orrery doctor --json | jq -r '.findings[] | select(.level == "error") | .remedy'
  orrery doctor --server http://127.0.0.1:4760`,
  },
});

const completions = buildCommand<CompletionsFlags, [shell: CompletionsShell], CommandScope>({
  loader: body(async () => (await import("./commands/completions.ts")).completions),
  parameters: {
    flags: {
      name: {
        kind: "parsed",
        parse: text,
        optional: true,
        placeholder: "command",
        brief: "For another name of this program, such as a link called stella (default: the one it is called by)",
      },
    },
    positional: {
      kind: "tuple",
      parameters: [{ parse: buildChoiceParser(COMPLETIONS_SHELLS), placeholder: "shell", brief: "bash, zsh or fish" }],
    },
  },
  docs: {
    brief: "Print completions for a shell",
    fullDescription: `Prints a script that completes commands, options, sessions and tools.

EXAMPLES
  orrery completions bash > ~/.local/share/bash-completion/completions/orrery
  orrery completions zsh > ~/.zfunc/_orrery
  orrery completions fish > ~/.config/fish/completions/orrery.fish
  orrery completions --name stella bash > ~/.local/share/bash-completion/completions/stella`,
  },
});

const man = buildCommand<ManFlags, [page?: string], CommandScope>({
  loader: body(async () => (await import("./commands/man.ts")).man),
  parameters: {
    flags: {
      output: {
        kind: "parsed",
        parse: filled,
        optional: true,
        placeholder: "dir",
        brief: "Write the page, or every page if none is named, to this folder",
      },
    },
    positional: {
      kind: "tuple",
      parameters: [{
        parse: filled,
        optional: true,
        placeholder: "page",
        brief: "run, tools-call and so on (default: the page of orrery itself)",
      }],
    },
  },
  docs: {
    brief: "Print a manual page",
    fullDescription: `Prints the source of a manual page, for man to show.

EXAMPLES
  orrery man run | man -l -
  orrery man --output /usr/local/share/man/man1`,
  },
});

const demo = buildCommand<NoFlags, [], CommandScope>({
  loader: body(async () => (await everyday()).demo),
  parameters: {},
  docs: { brief: "Play a whole session with a scripted model: no key, no network" },
});

const version = buildCommand<VersionFlags, [], CommandScope>({
  loader: body(async () => (await import("./commands/version.ts")).version),
  parameters: {
    flags: {
      licenses: { kind: "boolean", default: false, withNegated: false, brief: "Print the licences of what this executable is made of" },
      ...jsonFlag,
    },
  },
  docs: { brief: "Print the version" },
});

export const commandTree = buildRouteMap({
  routes: {
    run,
    chat,
    tools,
    sessions: buildRouteMap({
      routes: { list, show, events, resume, fork, cancel, export: exportLog, import: importLog },
      docs: { brief: "Look at sessions in the journal, finish, cancel, fork and move them" },
    }),
    serve,
    trust,
    config,
    doctor,
    demo,
    completions,
    man,
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
