/** The parts of `orrery chat` that need no terminal; tests/scenarios/chat.test.ts has the whole. */
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { chmodSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { Composer } from "../../cli/chat/composer.ts";
import { HISTORY_LINES, openHistory } from "../../cli/chat/history.ts";
import { PasteReader } from "../../cli/chat/paste.ts";
import { Screen } from "../../cli/screen.ts";
import { parseSlash, SLASH_COMMANDS } from "../../cli/chat/slash.ts";
import { createColors } from "../../cli/colors.ts";
import { describeCall } from "../../cli/ask.ts";
import type { Out } from "../../cli/terminal.ts";

describe("Composer", () => {
  const compose = (...lines: readonly string[]) => {
    const composer = new Composer();
    return lines.map((line) => composer.add(line));
  };

  test("takes a line as a text", () => {
    expect(compose("one", "two")).toEqual(["one", "two"]);
  });

  test("goes on after a backslash at the end of a line", () => {
    expect(compose("one \\", "two\\", "three", "four")).toEqual([null, null, "one \ntwo\nthree", "four"]);
  });

  test("takes what is between two lines of three quotes as it is", () => {
    expect(compose('"""', "a\\", "", "  b", ' """ ', "next")).toEqual([null, null, null, null, "a\\\n\n  b", "next"]);
  });

  test("keeps pasted lines until a line is entered by hand", () => {
    const composer = new Composer();
    expect([composer.add("one\\", true), composer.add('"""', true), composer.isOpen]).toEqual([null, null, true]);
    expect([composer.add("end"), composer.isOpen]).toEqual(['one\\\n"""\nend', false]);
  });

  test("forgets on request", () => {
    const composer = new Composer();
    composer.add('"""');
    composer.add("secret");
    composer.clear();
    expect([composer.isOpen, composer.add("next")]).toEqual([false, "next"]);
  });
});

describe("PasteReader", () => {
  const [begin, end] = ["\x1b[200~", "\x1b[201~"];

  test("tells pasted from typed, whatever the chunks are", () => {
    const piece = fc.string({ unit: fc.constantFrom("a", "é", "\r", "[", "2", "~"), minLength: 1, maxLength: 8 });
    fc.assert(
      fc.property(fc.array(fc.tuple(piece, piece), { maxLength: 4 }), fc.array(fc.nat(40), { maxLength: 6 }), (pairs, cuts) => {
        const sent = pairs.map(([typed, pasted]) => `${typed}${begin}${pasted}${end}`).join("");
        const places = [...new Set([0, ...cuts.map((cut) => Math.min(cut, sent.length)), sent.length])].sort((a, b) => a - b);
        const reader = new PasteReader();
        const got = places.slice(1).flatMap((place, index) => reader.read(sent.slice(places[index], place)));
        const of = (pasted: boolean) => got.filter((each) => each.pasted === pasted).map(({ text }) => text).join("");
        // A lone escape may be the key, so a mark that is cut right behind it is not one.
        fc.pre(places.every((place) => sent[place - 1] !== "\x1b"));
        expect([of(false), of(true)]).toEqual([pairs.map(([typed]) => typed).join(""), pairs.map(([, pasted]) => pasted).join("")]);
      }),
      { seed: 7, numRuns: 300 },
    );
  });

  test("does not hold back the escape key", () => {
    expect(new PasteReader().read("\x1b")).toEqual([{ text: "\x1b", pasted: false }]);
  });
});

describe("parseSlash()", () => {
  test("knows every command by its name, with what follows it", () => {
    for (const { name } of SLASH_COMMANDS) {
      expect(parseSlash(`/${name}`)).toMatchObject({ kind: "command", name, argument: "" });
    }
    expect(parseSlash("/mode  plan ")).toMatchObject({ name: "mode", argument: "plan" });
    expect(parseSlash("/tools create k8s-pods")).toMatchObject({ name: "tools create", argument: "k8s-pods" });
  });

  test("names the nearest for one that is not there", () => {
    for (
      const [text, near] of [["/moed", "/mode"], ["/tool", "/tools"], ["/exit", "/help"], ["/tools creat x", "/tools create"]] as const
    ) {
      const slash = parseSlash(text);
      expect(slash?.kind).toBe("unknown");
      expect(slash?.kind === "unknown" ? slash.problem : "").toContain(near);
    }
  });

  test("leaves paths, several lines and whatever does not begin with a slash to the model", () => {
    for (const text of ["/etc/hosts", "/ mode", " /mode", "say /mode", "/mode\nplan", "//", ""]) {
      expect([text, parseSlash(text)]).toEqual([text, null]);
    }
  });
});

describe("Screen", () => {
  let written = "";
  const paper = (isTerminal: boolean): Out => ({
    write: (text) => void (written += text),
    isTerminal,
    canRewrite: true,
    columns: 80,
    colors: createColors(false),
    flushed: () => Promise.resolve(),
    failure: null,
    isLost: false,
    isUsed: true,
    seal: () => {},
  });
  const open = (out: Out, err: Out) => new Screen({ out, err, env: {}, held: null });
  beforeEach(() => void (written = ""));

  test("keeps what is written while it is held, in its order over both streams", () => {
    const screen = open(paper(true), paper(true));
    screen.shell.out.write("a");
    screen.hold();
    screen.shell.err.write("b");
    screen.shell.out.write("c");
    expect([written, screen.next, screen.shell.out.columns]).toEqual(["a", "b", 80]);
    screen.release();
    screen.shell.err.write("d");
    expect([written, screen.next]).toEqual(["abcd", ""]);
  });

  test("keeps nothing that goes elsewhere than to the terminal", () => {
    const screen = open(paper(false), paper(true));
    screen.hold();
    screen.shell.err.write("held");
    screen.shell.out.write("an event\n");
    expect(written).toBe("an event\n");
  });
});

describe("describeCall()", () => {
  const colors = createColors(false);
  const input = { value: { command: "a\u001b[2Jb" }, text: '{"command":"a\u001b[2Jb"}' };

  test("shows the text for the shell, every line of it, without what would act on the terminal", () => {
    const script = { shell: "/bin/sh", text: "one \u001b[2J\n\ntwo\u202e\n", cwd: "/w" };
    const shown = describeCall({ call: "call_1", name: "greet", input, reason: "why", script }, colors);
    expect(shown).toBe("why\n  greet, by /bin/sh in /w:\n    one <U+001B>[2J\n\n    two<U+202E>\n");
  });

  test("shows what a terminal hides, and spaces that are none to a shell", () => {
    const text = "rm\u00a0-rf\u200b x\u3000y\r\n\u{e0041}z\u2028 é日本語 e\u0301 😀";
    const script = { shell: "/bin/sh", text, cwd: "/w" };
    const shown = describeCall({ call: "call_1", name: "greet", input, reason: "why", script }, colors);
    expect(shown).toContain("    rm<U+00A0>-rf<U+200B> x<U+3000>y<U+000D>\n    <U+E0041>z<U+2028> é日本語 e\u0301 😀\n");
  });

  test("shows a text of several lines as such, and no line of it can be another value", () => {
    const text = '---\nname: "x"\n\n# \u001b[2J\n    path: y\n';
    const value = { path: "a/b.md", content: text };
    const shown = describeCall({ call: "call_1", name: "write_file", input: { value, text: "" }, reason: "why" }, colors);
    expect(shown).toBe(
      'why\n  write_file\n    path: "a/b.md"\n    content:\n      ---\n      name: "x"\n\n      # <U+001B>[2J\n          path: y\n',
    );
    const numbers = { value: { ...value, n: 1 }, text: '{"n":1.0}' };
    expect(describeCall({ call: "call_1", name: "x", input: numbers, reason: "why" }, colors)).toBe('why\n  x {"n":1.0}\n');
  });

  test("shows the canonical input of any other call", () => {
    expect(describeCall({ call: "call_1", name: "x", input, reason: "why" }, colors)).toBe('why\n  x {"command":"a<U+001B>[2Jb"}\n');
  });
});

describe("openHistory()", () => {
  let folder = "";
  const complaints: string[] = [];
  const open = (path: string) => openHistory(path, (text) => void complaints.push(text));
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "orrery-history-"));
    complaints.length = 0;
  });
  afterEach(() => {
    chmodSync(folder, 0o700);
    rmSync(folder, { recursive: true });
  });

  test("gives the newest line first, each once, from a file that only its owner can read", () => {
    const path = join(folder, "data/history");
    const first = open(path);
    first.add("one");
    first.add("two");
    first.add("one");
    expect(open(path).lines).toEqual(["one", "two"]);
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(complaints).toEqual([]);
  });

  test("does not grow without end", () => {
    const path = join(folder, "history");
    writeFileSync(path, Array.from({ length: 5 * HISTORY_LINES }, (_, index) => `line ${index}\n`).join(""));
    expect(open(path).lines[0]).toBe(`line ${5 * HISTORY_LINES - 1}`);
    expect(readFileSync(path, "utf8").split("\n").length).toBe(HISTORY_LINES + 1);
  });

  test("says once where it cannot be kept, and goes on", () => {
    writeFileSync(join(folder, "file"), "");
    const history = open(join(folder, "file/history"));
    history.add("one");
    history.add("two");
    expect([history.lines, complaints.length]).toEqual([[], 1]);
    expect(complaints[0]).toContain(join(folder, "file/history"));
  });
});
