/** The commands of a conversation, and how a line becomes one. */
import { nearest } from "../../mod.ts";

export interface SlashCommand {
  readonly name: string;
  /** As the help shows it. */
  readonly usage: string;
  readonly brief: string;
  /** Whether it waits for the end of a turn that runs. */
  readonly waits: boolean;
}

export const SLASH_COMMANDS = [
  { name: "mode", usage: "/mode [MODE]", brief: "say or change what may run unasked, also while a turn runs", waits: false },
  { name: "tools", usage: "/tools", brief: "look for tools again and list them, by source", waits: true },
  { name: "tools create", usage: "/tools create NAME", brief: "write a new tool and fill it in together", waits: true },
  { name: "resume", usage: "/resume [ID]", brief: "go on with another session, or finish a turn that was left open", waits: true },
  { name: "help", usage: "/help", brief: "show this", waits: false },
  { name: "quit", usage: "/quit", brief: "leave; a turn that runs is stopped at a safe point", waits: false },
] as const satisfies readonly SlashCommand[];

export type SlashName = typeof SLASH_COMMANDS[number]["name"];

export type Slash =
  | { readonly kind: "command"; readonly name: SlashName; readonly argument: string; readonly waits: boolean }
  | { readonly kind: "unknown"; readonly problem: string };

/** Null for what is not a command: text for the model, also a path such as /etc/hosts. */
export function parseSlash(text: string): Slash | null {
  const [, word, rest = ""] = /^\/([A-Za-z][\w-]*)(?:[ \t]+(.*))?$/.exec(text.trimEnd()) ?? [];
  if (word === undefined) return null;
  const argument = rest.trim();
  const [first = "", ...more] = argument.split(/\s+/);
  if (word === "tools" && argument !== "") {
    return first === "create" ? command("tools create", more.join(" ")) : unknown(`tools ${first}`);
  }
  const found = SLASH_COMMANDS.find(({ name }) => name === word);
  return found === undefined ? unknown(word) : command(found.name, argument);
}

function command(name: SlashName, argument: string): Slash {
  return { kind: "command", name, argument, waits: SLASH_COMMANDS.find((each) => each.name === name)?.waits ?? true };
}

function unknown(word: string): Slash {
  const near = nearest(word, SLASH_COMMANDS.map(({ name }) => name));
  const hint = near === null ? "" : ` Did you mean /${near}?`;
  return {
    kind: "unknown",
    problem: `Cannot run "/${word}" as there is no such command.${hint} /help lists them; a space before it makes it text for the model`,
  };
}
