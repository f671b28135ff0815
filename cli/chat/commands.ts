/** What each command of a conversation does. */
import { relative } from "node:path";
import { calledName } from "../../lib/platform/called.ts";
import { listingsIn, type Runtime, type SessionSummary, type TurnOptions, type TurnResult, UsageError } from "../../mod.ts";
import { MODES } from "../flags.ts";
import { oneLine, printable, type Shell, wrap } from "../terminal.ts";
import { writeToolTable } from "../tool-table.ts";
import { creationPrompt } from "./creation.ts";
import { Draft } from "./draft.ts";
import type { Seat } from "./seat.ts";
import { type Slash, SLASH_COMMANDS } from "./slash.ts";

/** What a command may use of the conversation. */
export interface Room {
  readonly agent: Runtime;
  readonly seat: Seat;
  readonly shell: Shell;
  /** The sessions that were listed last, to be chosen from by number. */
  listed: readonly SessionSummary[];
  /** A tool's file to be looked at after every turn. */
  draft: Draft | null;
  /** Writes lines of their own. */
  say(text: string): void;
  turn(run: (options: TurnOptions) => Promise<TurnResult | null>): Promise<void>;
  leave(): void;
}

/** @throws what is wrong with the command, or what the agent throws. */
export async function runSlash({ name, argument }: Extract<Slash, { kind: "command" }>, room: Room): Promise<void> {
  switch (name) {
    case "mode":
      return await changeMode(argument, room);
    case "tools":
      return await listTools(room);
    case "tools create":
      return await createTool(argument, room);
    case "resume":
      return await resume(argument, room);
    case "help":
      return room.say(helpText(room.shell));
    case "quit":
      return room.leave();
  }
}

async function changeMode(argument: string, { seat, say }: Room): Promise<void> {
  if (argument === "") return say(`Mode ${seat.mode}. There are ${MODES.join(", ")}`);
  const mode = MODES.find((each) => each === argument);
  if (mode === undefined) throw new UsageError(unknownMode(argument));
  await seat.session.changeMode(mode, "user");
  say(`Mode ${mode}`);
}

function unknownMode(argument: string): string {
  // None of them is proposed: the nearest word may be the one that lets more run.
  return `Cannot change to the mode "${oneLine(argument, 40)}": there are ${MODES.join(", ")}`;
}

/** The files are looked at again, and the session goes on with what is there now. */
async function listTools({ agent, seat, shell, say }: Room): Promise<void> {
  await seat.renew();
  const workshop = await agent.equip(seat.workspace);
  const listings = listingsIn(seat.mode, workshop.toolbox);
  const offered = listings.filter(({ status }) => status === "offered").length;
  say(`${listings.length} tools, ${offered} offered to the model\n`);
  writeToolTable(shell.err, workshop, seat.mode);
}

async function createTool(name: string, room: Room): Promise<void> {
  if (name === "") throw new UsageError("Cannot create a tool without a name: write one like /tools create k8s-pods");
  const { agent, seat } = room;
  if (seat.workspace !== agent.workspace) {
    throw new UsageError(
      `Cannot create a tool in ${agent.workspace} as this session works in ${seat.workspace}: start ${calledName()} chat there`,
    );
  }
  checkIdle(seat);
  const { tool, files: [file = ""] } = await agent.createTool({ name, format: "nanocoder" });
  const path = relative(agent.workspace, file);
  room.say(`Created ${path}, the tool "${tool}"`);
  await seat.renew();
  room.draft = new Draft(tool, file);
  await room.turn((options) => seat.session.prompt(creationPrompt(tool, path), { source: "chat", ...options }));
}

async function resume(argument: string, room: Room): Promise<void> {
  const { seat, say } = room;
  if (argument === "" && !seat.hasOpenTurn) return await listSessions(room);
  if (argument !== "") {
    await seat.move(/^\d+$/.test(argument) ? pick(Number(argument), room.listed) : argument);
    say(describeSession(seat));
  }
  if (seat.hasOpenTurn) await room.turn((options) => seat.session.resume(options));
}

function pick(number: number, listed: readonly SessionSummary[]): string {
  const chosen = listed[number - 1];
  if (chosen !== undefined) return chosen.session;
  throw new UsageError(`Cannot choose session ${number}: /resume lists what there is to choose from`);
}

async function listSessions(room: Room): Promise<void> {
  room.listed = await room.seat.others(9);
  if (room.listed.length === 0) return room.say("There is no other session of this workspace");
  const { bold, dim } = room.shell.err.colors;
  const width = Math.max(20, room.shell.err.columns - 4);
  const rows = room.listed.flatMap(({ session, title, updated_at, turns, status }, index) => [
    `${bold(String(index + 1))}  ${oneLine(title, width)}`,
    `   ${dim(`${session}`)}`,
    `   ${dim(`${updated_at.replace("T", " ").slice(0, 16)} · ${turns} ${turns === 1 ? "turn" : "turns"} · ${status}`)}`,
  ]);
  room.say([...rows, "/resume with a number or an id goes on with one"].join("\n"));
}

const RECALLED_LINES = 12;

/** Where the conversation was left. */
export function describeSession(seat: Seat): string {
  const messages = seat.session.messages().filter(({ role, text }) => (role === "user" || role === "assistant") && text !== "");
  const lines = messages.slice(-2).flatMap(({ role, text }) => {
    const all = printable(text).trimEnd().split("\n").map((line) => `${role === "user" ? "> " : ""}${line}`);
    return all.length <= RECALLED_LINES ? all : ["…", ...all.slice(-RECALLED_LINES)];
  });
  return [...lines, `Session ${seat.session.id}, mode ${seat.mode}`].join("\n");
}

/** @throws {UsageError} */
export function checkIdle(seat: Seat): void {
  if (!seat.hasOpenTurn) return;
  throw new UsageError(`Cannot go on with session "${seat.session.id}" as its last turn is not finished: /resume finishes it`);
}

function helpText({ err }: Shell): string {
  const rows = SLASH_COMMANDS.map(({ usage, brief }) => [err.colors.bold(usage), ...indented(brief, err.columns)].join("\n"));
  const notes = [
    'A line that ends in a backslash goes on in the next one; lines between two lines of """ are one text.',
    "Ctrl-C stops a turn at a safe point; twice, it ends at once and you leave. Ctrl-D on an empty line leaves.",
    "What is shown waits while you type.",
  ];
  return [...rows, ...notes.flatMap((note) => wrap(note, err.columns))].join("\n");
}

function indented(text: string, columns: number): readonly string[] {
  return wrap(text, Math.max(20, columns - 4)).map((line) => `    ${line}`);
}
