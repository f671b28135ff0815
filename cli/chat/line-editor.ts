/**
 * Lines from the keyboard, by node:readline.
 *
 * Where the terminal can rewrite a line, keys come one by one (raw mode) and readline edits, shows and remembers the
 * line. On a dumb terminal its own driver does what it can: there are lines and no keys.
 *
 * L1  A line is drawn only between `show` and what ends it: a window that changes its size at another time changes
 *     nothing of what was written.
 */
import { EventEmitter } from "node:events";
import process from "node:process";
import { createInterface } from "node:readline";
import { type Out, printable } from "../terminal.ts";
import { type History, HISTORY_LINES } from "./history.ts";
import { KeyReader } from "./keys.ts";
import { LEAVE_PASTES, MARK_PASTES, PasteReader } from "./paste.ts";

export interface LineEditor {
  /** Shows a prompt at the beginning of a line. */
  show(prompt: string): void;
  /** What is typed so far; nothing where that cannot be known. */
  readonly line: string;
  /** Takes back what is typed and leaves the prompt's line. */
  drop(): void;
  /** Wipes an empty prompt from its line. */
  wipe(): void;
  /** Goes on to the next line. */
  leave(): void;
  close(): void;
}

export interface LineListener {
  /** A line was entered. `pasted`: it is one of a pasted text. */
  line(text: string, pasted: boolean): void;
  beforeKey(): void;
  afterKey(): void;
  interrupt(): void;
  /** There will be no more lines. */
  end(): void;
  /** Whether the line that was just entered is to be offered again. */
  isWorthKeeping(): boolean;
}

export function openLineEditor(err: Out, history: History, listener: LineListener): LineEditor {
  return err.canRewrite ? openKeys(history, listener) : openLines(err, listener);
}

function openKeys(history: History, listener: LineListener): LineEditor {
  const { stdin, stderr } = process;
  // What readline needs of its input, and no more: so that each piece is through when `emit` returns.
  const keys = Object.assign(new EventEmitter(), {
    pause: () => void stdin.pause(),
    resume: () => void stdin.resume(),
    setRawMode: (raw: boolean) => void stdin.setRawMode(raw),
  });
  // Without a `resize`, at which readline would draw its line wherever the cursor is.
  const screen = Object.defineProperty(
    Object.assign(new EventEmitter(), { write: (text: string) => stderr.write(text) }),
    "columns",
    { get: () => stderr.columns },
  );
  let isShown = false;
  keys.on("keypress", (_text: unknown, key?: { readonly ctrl?: boolean }) => {
    if (key?.ctrl !== true) listener.beforeKey();
  });
  const lines = createInterface({
    input: keys as unknown as NodeJS.ReadableStream,
    output: screen as unknown as NodeJS.WritableStream,
    terminal: true,
    history: [...history.lines],
    historySize: HISTORY_LINES,
    removeHistoryDuplicates: true,
  });
  keys.on("keypress", () => listener.afterKey());
  let pasting = false;
  lines.on("line", (line) => {
    isShown = false;
    listener.line(line, pasting);
  }).on("SIGINT", () => listener.interrupt()).on("close", () => listener.end());
  // After Ctrl-Z and fg.
  lines.on("SIGCONT", () => lines.resume());
  lines.on("history", (kept: string[]) => {
    if (!listener.isWorthKeeping()) kept.shift();
    else if (kept[0] !== undefined) history.add(kept[0]);
  });

  const countRows = () => void Object.assign(lines, { prevRows: lines.getCursorPos().rows });
  // The terminal has broken the rows anew already, so those of before are none to go back over.
  const redraw = () => {
    if (!isShown) return;
    countRows();
    lines.prompt(true);
  };
  stderr.on("resize", redraw);

  const insert = (text: string) => {
    const { line, cursor } = lines;
    Object.assign(lines, { line: line.slice(0, cursor) + text + line.slice(cursor), cursor: cursor + text.length });
    lines.prompt(true);
  };
  // Put in as text: keys in it are none, and Deno 2.9 takes 37 s for 10,000 characters one by one.
  const paste = (text: string) => {
    listener.beforeKey();
    pasting = true;
    for (const [index, line] of printable(text.replace(/\r\n?/g, "\n")).split("\n").entries()) {
      if (index > 0) keys.emit("data", Buffer.from("\r"));
      insert(line);
    }
    pasting = false;
    listener.afterKey();
  };

  const press = (text: string) => {
    keys.emit("data", Buffer.from(text));
    // Bun 1.4.5 appends without counting the rows that it fills.
    countRows();
  };
  // Only the first letter by readline: inside of a line Bun 1.4.5 writes several over what stands there.
  const type = (text: string) => {
    const [first = "", ...rest] = text;
    press(first);
    if (rest.length > 0) insert(rest.join(""));
  };

  const pastes = new PasteReader();
  const tokens = new KeyReader();
  const decoder = new TextDecoder();
  const receive = (bytes: Uint8Array) => {
    for (const { text, pasted } of pastes.read(decoder.decode(bytes, { stream: true }))) {
      if (pasted) paste(text);
      else for (const token of tokens.read(text)) token.typed ? type(token.text) : press(token.text);
    }
  };
  const hangUp = () => lines.close();
  stdin.on("data", receive).on("end", hangUp).on("error", hangUp);
  stderr.write(MARK_PASTES);

  return {
    show(prompt) {
      isShown = true;
      lines.setPrompt(prompt);
      lines.prompt();
    },
    get line() {
      return lines.line;
    },
    drop() {
      isShown = false;
      lines.write(null, { ctrl: true, name: "e" });
      lines.write(null, { ctrl: true, name: "u" });
      stderr.write("\n");
    },
    wipe() {
      isShown = false;
      stderr.write("\r\x1b[K");
    },
    leave() {
      isShown = false;
      stderr.write("\n");
    },
    close() {
      isShown = false;
      stdin.off("data", receive).off("end", hangUp);
      stderr.off("resize", redraw);
      stderr.write(LEAVE_PASTES);
      lines.close();
    },
  };
}

function openLines(err: Out, listener: LineListener): LineEditor {
  const lines = createInterface({ input: process.stdin, terminal: false });
  lines.on("line", (line) => listener.line(line, false)).on("close", () => listener.end());
  return {
    show: (prompt) => err.write(prompt),
    line: "",
    drop: () => err.write("\n"),
    wipe: () => undefined,
    leave: () => err.write("\n"),
    close: () => lines.close(),
  };
}
