import { expect, test } from "bun:test";
import { describeCall } from "../../cli/ask.ts";
import type { Question } from "../../mod.ts";

const plain = (text: string) => text;
const colors = { bold: plain, yellow: plain } as unknown as Parameters<typeof describeCall>[1];

function shown(text: string): string {
  const question = { name: "t", reason: "asks", input: { value: {}, text: "{}" }, script: { shell: "/bin/sh", cwd: "/w", text } };
  return describeCall(question as unknown as Question, colors).split("\n").slice(2).join("\n").trimEnd();
}

test("what is asked about shows every character that a terminal would hide, each as itself", () => {
  expect(shown("a\u2800b\u200bc\u00a0d")).toBe("    a<U+2800>b<U+200B>c<U+00A0>d");
  expect(shown("a\u001b[2Kb\u0007c\rd\u009be")).toBe("    a<U+001B>[2Kb<U+0007>c<U+000D>d<U+009B>e");
});

test("what is written like such a character is told from one", () => {
  expect(shown("a<U+200B>b")).toBe("    a<U+003C>U+200B>b");
  expect(shown("cat <U+x")).toBe("    cat <U+x");
});
