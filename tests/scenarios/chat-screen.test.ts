/** `orrery chat` in tmux: what is on the screen, and where. `chat.test.ts` looks at what it does. */
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { chmod } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";
import { setTimeout as delay } from "node:timers/promises";
import { widthOf } from "../../cli/width.ts";
import { greetFile } from "../fixtures/greet.ts";
import { createWorkspace, type TestWorkspace } from "../fixtures/workspace.ts";
import { runOrrery } from "../host/orrery.ts";
import { noTmux, openWindow, type Window } from "../host/tmux.ts";

const LIMIT = 60_000;
const NARROW = 40;
const ESCAPE = "\x1b";

const PODS = `NAME                   READY   STATUS    RESTARTS   AGE
api-7d9f4b7c-x2x9p     1/1     Running   0          6d2h
web-5f6d8c9b7d-kq4tz   1/1     Running   2          41m`;

let workspace: TestWorkspace;
let open: Window[];
beforeEach(async () => {
  workspace = await createWorkspace();
  open = [];
});
afterEach(async () => {
  for (const window of open) window.close();
  await workspace.remove();
});

interface Chat {
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly columns?: number;
  readonly rows?: number;
}

const call = (name: string, input: object) => ({ calls: [{ name, arguments: input }] });
const bash = (command: string) => call("bash", { command });

async function chat(replies: readonly object[], { args = [], ...start }: Chat = {}): Promise<Window> {
  const model = await workspace.script(...replies);
  const window = openWindow(["chat", "--model", model, ...args], { cwd: workspace.path, home: workspace.home, ...start });
  open.push(window);
  return window;
}

/** Waits until the prompt stands alone in the last row. */
const prompted = (window: Window, prompt = "normal>") => window.until(`${prompt} at the end`, (rows) => rows.at(-1) === prompt);

async function enter(window: Window, text: string, prompt = "normal>"): Promise<void> {
  await prompted(window, prompt);
  window.type(text);
  await window.until("what was typed", (rows) => rows.at(-1) !== prompt);
  window.press("Enter");
}

async function leave(window: Window, prompt = "normal>"): Promise<void> {
  await prompted(window, prompt);
  window.press("C-d");
  expect(await window.ended()).toBe(0);
}

/** The end of the screen, row by row. */
async function endsWith(window: Window, expected: readonly string[]): Promise<void> {
  await window.until(`at the end:\n${expected.join("\n")}\n`, (rows) => isEqual(rows.slice(-expected.length), expected));
}

const isEqual = (left: readonly string[], right: readonly string[]) => left.join("\n") === right.join("\n");

const at = (path: string) => join(workspace.path, path);
async function appears(path: string): Promise<void> {
  while (!existsSync(at(path))) await delay(5);
}
const waitingFor = (go: string, begun: string) => `touch ${begun}; while [ ! -e ${go} ]; do sleep 0.02; done`;

/** What was sent to the model, oldest first. */
async function promptsOf(): Promise<readonly string[]> {
  const start = { cwd: workspace.path, home: workspace.home };
  const listed = JSON.parse((await runOrrery(["sessions", "list", "--json"], start)).stdout) as { sessions: { session: string }[] };
  const { stdout } = await runOrrery(["sessions", "show", listed.sessions[0]?.session ?? "", "--json"], start);
  const { messages } = JSON.parse(stdout) as { messages: readonly { role: string; text: string }[] };
  return messages.filter(({ role }) => role === "user").map(({ text }) => text);
}

/** Rows as a terminal breaks a line, and where its end is. A wide character that does not fit goes to the next row. */
function fold(text: string, columns: number): { readonly rows: readonly string[]; readonly row: number; readonly column: number } {
  const rows = [""];
  let column = 0;
  for (const character of text) {
    const width = widthOf(character);
    if (column + width > columns) {
      rows.push("");
      column = 0;
    }
    rows[rows.length - 1] += character;
    column += width;
  }
  const isFull = column === columns;
  return { rows: rows.map((row) => row.trimEnd()), row: rows.length - (isFull ? 0 : 1), column: isFull ? 0 : column };
}

describe.skipIf(noTmux !== null)(`orrery chat on a screen${noTmux === null ? "" : ` (not looked at, as ${noTmux})`}`, () => {
  for (const columns of [80, NARROW]) {
    test(`shows words, the exact command that is asked about, and the call with its result, at ${columns} columns`, async () => {
      await workspace.write(".nanocoder/tools/greet.md", greetFile());
      const who = "it's a name that is a good deal longer than a narrow window; touch canary";
      const window = await chat([{ text: "I look. ", ...call("greet", { who }) }, { text: "It is done." }], {
        args: ["--trust-workspace"],
        columns,
        rows: 40,
      });
      await enter(window, "greet me");
      await window.until("the question at the end", (rows) => rows.at(-1) === "Run it? [y/N]");
      const command = `    printf 'hello %s\\n' 'it'\\''s${who.slice(4)}'`;
      const asked = window.everything().split("\n");
      expect(asked.slice(asked.indexOf("normal> greet me"))).toEqual([
        "normal> greet me",
        "I look.",
        '"greet" needs approval in mode normal',
        `  greet, by /bin/bash in ${workspace.path}:`,
        command,
        "Run it? [y/N]",
      ]);
      window.type("y");
      window.press("Enter");
      await prompted(window);
      const rows = window.screen();
      const told = rows.slice(rows.indexOf("Run it? [y/N] y") + 1);
      expect([told[0]?.startsWith("  greet it's a "), told[0]?.includes("ok · ")]).toEqual([true, true]);
      expect([told[1], told[2]?.slice(0, 16), told[3]]).toEqual(["    EXIT_CODE: 0", "    hello it's a", "It is done."]);
      expect(told[4]).toMatch(/^completed · 2 steps, 1 call ·/);
      expect(existsSync(at("canary"))).toBe(false);
      await leave(window);
    }, LIMIT);
  }

  test("is what docs/chat.md shows", async () => {
    const page = readFileSync(join(import.meta.dirname, "../../docs/chat.md"), "utf8");
    const [, sample = ""] = /^```\n\$ orrery chat\n([\s\S]*?)^```/m.exec(page) ?? [];
    const file = readFileSync(join(import.meta.dirname, "../fixtures/nanocoder/k8s-pods.md"), "utf8");
    await workspace.write(".nanocoder/tools/k8s-pods.md", file.replace("approval: never", "approval: always"));
    await chmod(await workspace.write("bin/kubectl", `#!/bin/sh\ncat <<'END'\n${PODS}\nEND\n`), 0o755);
    const window = await chat([
      { text: "I look. ", ...call("k8s_pods", { namespace: "staging" }) },
      { text: "Two pods run, and web was restarted twice." },
    ], { args: ["--trust-workspace"], columns: 200, env: { PATH: `${at("bin")}:${process.env["PATH"] ?? ""}` } });
    await enter(window, "which pods run in staging?");
    await window.until("the question", (rows) => rows.at(-1) === "Run it? [y/N]");
    window.type("y");
    window.press("Enter");
    await prompted(window);
    const alike = (text: string) => text.replace(/ses_[-\w]+/g, "ses_ID").replace(/ok · .*/, "ok · TIME").trimEnd();
    const shown = window.everything().replace(/^script:\S+/, "openai/gpt-5-mini").replaceAll(workspace.path, "/home/me/site");
    expect(alike(shown)).toBe(alike(sample));
    await leave(window);
  }, LIMIT);

  test("shows words as they come, and what Ctrl-C makes of them", async () => {
    const window = await chat([{ stream: [{ text: "The first words" }, { wait_ms: 600_000, text: " and the last" }] }]);
    await enter(window, "go");
    await endsWith(window, ["normal> go", "The first words"]);
    window.press("C-c");
    await prompted(window);
    const rows = window.screen();
    expect(rows.slice(rows.indexOf("normal> go") + 1, -2)).toEqual([
      "The first words",
      "orrery: Stopping at the next safe point; once more to stop at once and leave",
      "  (that reply broke off: what it said above does not count)",
      "cancelled: stopped by the user",
    ]);
    await leave(window);
  }, LIMIT);

  test("shows what runs; Ctrl-C once says that it stops, and twice leaves", async () => {
    const window = await chat([bash("touch begun; exec sleep 600")], { args: ["--mode", "yolo"] });
    await enter(window, "go", "yolo>");
    await appears("begun");
    await endsWith(window, ["yolo> go", "  running bash touch begun; exec sleep 600"]);
    window.press("C-c");
    await endsWith(window, ["yolo> go", "orrery: Stopping at the next safe point; once more to stop at once and leave"]);
    window.press("C-c");
    expect(await window.ended()).toBe(130);
  }, LIMIT);

  test("Ctrl-C takes a line of several rows back, and twice on an empty line leaves", async () => {
    const window = await chat([], { columns: NARROW });
    await prompted(window);
    const before = window.screen().slice(0, -1);
    window.type("x".repeat(100));
    await endsWith(window, fold(`normal> ${"x".repeat(100)}`, NARROW).rows);
    window.press("C-c");
    await window.until("two prompts", (rows) => isEqual(rows, [...before, "normal>", "normal>"]));
    window.press("C-c");
    await endsWith(window, ["normal>", "Ctrl-C once more leaves, and so does Ctrl-D", "normal>"].flatMap((row) => fold(row, NARROW).rows));
    window.press("C-c");
    expect(await window.ended()).toBe(0);
  }, LIMIT);

  test("/mode changes the prompt", async () => {
    const window = await chat([]);
    await enter(window, "/mode plan");
    await endsWith(window, ["normal> /mode plan", "Mode plan", "plan>"]);
    await enter(window, "/mode", "plan>");
    await endsWith(window, ["Mode plan. There are normal, auto-accept, architect, yolo, plan, headless", "plan>"]);
    await leave(window, "plan>");
  }, LIMIT);

  test("/tools lists them by source; /tools create writes one and begins a turn about it", async () => {
    await workspace.write(".nanocoder/tools/greet.md", greetFile());
    await workspace.tool("shout", "echo HEY");
    const window = await chat([{ text: "What is it to do?" }], { args: ["--trust-workspace"], rows: 100 });
    await enter(window, "/tools");
    await prompted(window);
    const rows = window.screen();
    const places = ["Built-in", "  read_file", "Custom, Stella", "  shout", "Custom, Nanocoder", "  greet"].map((text) =>
      rows.findIndex((row) => row === text || row.startsWith(`${text} `))
    );
    expect([places.includes(-1), places]).toEqual([false, places.toSorted((left, right) => left - right)]);
    await enter(window, "/tools create say-hi");
    await prompted(window);
    const created = window.screen().slice(window.screen().indexOf("normal> /tools create say-hi") + 1);
    expect(created.slice(0, 2)).toEqual(['Created .nanocoder/tools/say-hi.md, the tool "say_hi"', "What is it to do?"]);
    expect(existsSync(at(".nanocoder/tools/say-hi.md"))).toBe(true);
    await leave(window);
  }, LIMIT);

  test("a text of several lines has a prompt for each, and Up brings back one after the other", async () => {
    const window = await chat([{ text: "first" }, { text: "second" }, { text: "third" }], { columns: NARROW });
    await enter(window, "one \\");
    await enter(window, "two", "...");
    await prompted(window);
    await enter(window, '"""');
    await enter(window, "in a block \\", "...");
    await enter(window, '"""', "...");
    await window.shows("second");
    await prompted(window);
    expect(window.screen().filter((row) => /^normal> .|^\.\.\. /.test(row))).toEqual([
      "normal> one \\",
      "... two",
      'normal> """',
      "... in a block \\",
      '... """',
    ]);
    for (const line of ['"""', "in a block \\", "two", "one \\"]) {
      window.press("Up");
      await window.until(line, (rows) => rows.at(-1) === `normal> ${line}`);
    }
    window.press("Down");
    await window.until("two", (rows) => rows.at(-1) === "normal> two");
    window.press("Enter");
    await window.shows("third");
    await prompted(window);
    expect(await promptsOf()).toEqual(["one \ntwo", "in a block \\", "two"]);
  }, LIMIT);

  for (const columns of [80, NARROW]) {
    test(`a line is edited anywhere, over several rows, with wide characters, at ${columns} columns`, async () => {
      const window = await chat([{ text: "sent" }], { columns });
      await prompted(window);
      const above = window.screen().slice(0, -1);
      const { line, steps } = editing(20261130, 60);
      for (const { keys, text, cursor } of steps) {
        keys(window);
        const whole = fold(`normal> ${text}`, columns);
        await window.until(`normal> ${text}`, (rows) => isEqual(rows.join("\n").trimEnd().split("\n"), [...above, ...whole.rows]));
        const { row, column } = fold(`normal> ${[...text].slice(0, cursor).join("")}`, columns);
        // Where the next character is wide and has no room in this row, it stands at the beginning of the next.
        if (column === columns - 1) continue;
        await window.until(
          `the cursor at ${column}, ${row}`,
          () => isEqual(Object.values(window.cursor()).map(String), [column, above.length + row].map(String)),
        );
      }
      window.press("Enter");
      await window.shows("sent");
      await prompted(window);
      expect(window.screen().slice(0, above.length + 1)).toEqual([...above, fold(`normal> ${line}`, columns).rows[0] ?? ""]);
      expect(await promptsOf()).toEqual([line]);
    }, LIMIT);
  }

  test("what comes while a line is typed neither breaks the line nor is lost", async () => {
    const words = Array.from({ length: 30 }, (_, index) => `word${index} `);
    const window = await chat([
      bash(`${waitingFor("go", "begun")}; echo result`),
      { stream: words.map((text) => ({ text, wait_ms: 5 })) },
      { text: "second answer" },
    ], { args: ["--mode", "yolo"], columns: NARROW, rows: 50 });
    await enter(window, "go", "yolo>");
    await appears("begun");
    const line = "typed while the turn runs, and longer than the window is wide";
    const typed = fold(`yolo> ${line}`, NARROW).rows;
    window.type(line.slice(0, 20));
    await window.until("the beginning", (rows) => rows.at(-1) === `yolo> ${line.slice(0, 20)}`.trimEnd());
    const before = window.screen().slice(0, -1);
    await workspace.write("go", "");
    for (const character of line.slice(20)) window.type(character);
    await window.until("the line below what was there", (rows) => isEqual(rows, [...before, ...typed]));
    while ((await turnsEnded()) === 0) await delay(20);
    expect(window.screen()).toEqual([...before, ...typed]);
    window.press("Enter");
    await window.shows("second answer");
    await prompted(window, "yolo>");
    const rows = window.screen();
    expect(rows.slice(0, before.length + typed.length)).toEqual([...before, ...typed]);
    expect(rows.includes("    result")).toBe(true);
    // The terminal's own breaks taken out again.
    expect(window.everything()).toContain(words.join("").trimEnd());
  }, LIMIT);

  describe("when the window changes its size", () => {
    test("a line that is being typed is broken anew, and nothing above it is touched", async () => {
      const window = await chat([{ text: "sent" }], { columns: 100, rows: 40 });
      await enter(window, "/mode normal");
      await prompted(window);
      const above = window.everything().split("\n").slice(0, -1);
      const line = "0123456789".repeat(15);
      window.type(line);
      await endsWith(window, fold(`normal> ${line}`, 100).rows);
      for (const columns of [63, 41, 120, 50, 100]) {
        await window.resize(columns, 40);
        await endsWith(window, fold(`normal> ${line}`, columns).rows);
        window.type("!");
        await endsWith(window, fold(`normal> ${line}!`, columns).rows);
        window.press("BSpace");
        await endsWith(window, fold(`normal> ${line}`, columns).rows);
        await window.until("one prompt", (rows) => rows.filter((row) => row.startsWith("normal> 0")).length === 1);
        expect(window.everything().split("\n")).toEqual([...above, `normal> ${line}`]);
      }
      window.press("Enter");
      await window.shows("sent");
      await prompted(window);
      expect(await promptsOf()).toEqual([line]);
    }, LIMIT);

    test("words that are being written go on where they were, and no prompt comes among them", async () => {
      const words = Array.from({ length: 40 }, (_, index) => `word${index} `);
      const stream = [...words.map((text) => ({ text, wait_ms: 50 }))];
      const window = await chat([{ stream }], { columns: 60, rows: 30 });
      await enter(window, "go");
      await window.shows("word5");
      await window.resize(43, 30);
      await window.shows("word15");
      await window.resize(70, 30);
      await prompted(window);
      const shown = window.everything().split("\n");
      expect(shown.slice(shown.indexOf("normal> go"), -2)).toEqual(["normal> go", words.join("").trimEnd()]);
    }, LIMIT);

    test("a question stays where it is, and is answered", async () => {
      const window = await chat([bash("touch canary"), { text: "done" }], { columns: 70 });
      await enter(window, "go");
      await window.until("the question", (rows) => rows.at(-1) === "Run it? [y/N]");
      const before = window.everything();
      await window.resize(45, 24);
      window.type("y");
      await window.until("the answer", (rows) => rows.at(-1) === "Run it? [y/N] y");
      expect(window.everything()).toBe(`${before} y`);
      window.press("Enter");
      await window.shows("done");
      await prompted(window);
      expect(existsSync(at("canary"))).toBe(true);
    }, LIMIT);
  });

  describe("writes for the terminal that it has:", () => {
    const talk = async (start: Chat): Promise<Window> => {
      const window = await chat([{ text: "I look. ", ...bash("echo done-it") }, { text: "The answer." }], { rows: 60, ...start });
      await enter(window, "go");
      await window.until("the question", (rows) => rows.at(-1) === "Run it? [y/N]");
      window.type("y");
      window.press("Enter");
      await window.shows("The answer.");
      await enter(window, "/help");
      await window.shows("/quit");
      await prompted(window);
      return window;
    };

    test("colours on one that has them", async () => {
      const window = await talk({});
      expect(window.coloured()).toContain(ESCAPE);
      await leave(window);
    }, LIMIT);

    test("no colour with NO_COLOR", async () => {
      const window = await talk({ env: { NO_COLOR: "1" } });
      expect(window.coloured()).not.toContain(ESCAPE);
      await leave(window);
    }, LIMIT);

    test("with TERM=dumb the same, where the terminal itself edits the line", async () => {
      const window = await talk({ env: { TERM: "dumb" } });
      expect(window.coloured()).not.toContain(ESCAPE);
      window.type("/helo");
      window.press("BSpace");
      window.type("p");
      await window.until("the line", (rows) => rows.at(-1) === "normal> /help");
      window.press("Enter");
      await prompted(window);
      await leave(window);
    }, LIMIT);

    test("at 40 columns rows of its own that the window does not have to break", async () => {
      const window = await talk({ columns: NARROW, env: { NO_COLOR: "1" } });
      const lines = window.everything().split("\n");
      // Paths and commands stay whole, so that they can be copied.
      expect(lines.filter((line) => widthOf(line) > NARROW && !/\S{30}|^ {2}bash, by /.test(line))).toEqual([]);
      expect(lines.filter((line) => /^ses_/.test(line)).length).toBe(2);
      await leave(window);
    }, LIMIT);
  });
});

async function turnsEnded(): Promise<number> {
  const start = { cwd: workspace.path, home: workspace.home };
  const listed = JSON.parse((await runOrrery(["sessions", "list", "--json"], start)).stdout) as { sessions: { session: string }[] };
  const { stdout } = await runOrrery(["sessions", "events", listed.sessions[0]?.session ?? ""], start);
  return stdout.split("\n").filter((line) => line.includes('"turn_ended"')).length;
}

interface Edit {
  keys(window: Window): void;
  /** What the line is afterwards, and before which of its characters the cursor stands. */
  readonly text: string;
  readonly cursor: number;
}

/** Edits of a line as somebody might make them, the same for the same seed. */
function editing(seed: number, count: number): { readonly line: string; readonly steps: readonly Edit[] } {
  const pick = randomBelow(seed);
  const pieces = ["hello world", "漢字かな", "🎉", "x", "naïve", "한글", "0123456789abcdef", "ｗｉｄｅ", "a b c"];
  let characters: string[] = [];
  let cursor = 0;
  const steps = Array.from({ length: count }, (): Edit => {
    const kind = pick(10);
    let keys: Edit["keys"];
    if (kind < 5) {
      const piece = pieces[pick(pieces.length)] ?? "";
      characters = [...characters.slice(0, cursor), ...piece, ...characters.slice(cursor)];
      cursor += [...piece].length;
      keys = (window) => window.type(piece);
    } else if (kind < 7) {
      const most = Math.min(cursor, 1 + pick(30));
      cursor -= most;
      keys = (window) => window.press(...Array.from({ length: most }, () => "Left"), ...(most === 0 ? ["Left"] : []));
    } else if (kind === 7) {
      const most = Math.min(characters.length - cursor, 1 + pick(20));
      cursor += most;
      keys = (window) => window.press(...Array.from({ length: most }, () => "Right"), ...(most === 0 ? ["Right"] : []));
    } else if (kind === 8) {
      const most = Math.min(cursor, 1 + pick(3));
      characters = [...characters.slice(0, cursor - most), ...characters.slice(cursor)];
      cursor -= most;
      keys = (window) => window.press(...Array.from({ length: most }, () => "BSpace"), ...(most === 0 ? ["Home"] : []));
    } else {
      const home = pick(2) === 0;
      cursor = home ? 0 : characters.length;
      keys = (window) => window.press(home ? "Home" : "End");
    }
    return { keys, text: characters.join(""), cursor };
  });
  return { line: characters.join(""), steps };
}

function randomBelow(seed: number): (limit: number) => number {
  let state = seed >>> 0;
  return (limit) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * limit);
  };
}
