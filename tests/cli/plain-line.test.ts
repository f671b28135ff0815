import { describe, expect, test } from "bun:test";
import { buildApplication, buildCommand, run } from "@stricli/core";
import fc from "fast-check";
import { SCANNER } from "../../cli/application.ts";
import { type RunFlags, runParameters } from "../../cli/flags.ts";
import { readPlainLine } from "../../cli/plain-line.ts";

interface Line {
  readonly flags: object;
  readonly positional: readonly unknown[];
}

function readPlainly(words: readonly string[]): Line | null {
  return readPlainLine<RunFlags, [prompt?: string]>(runParameters, words);
}

/** What stricli makes of the same words; null: it refuses them, or does something else, such as to show help. */
async function readByStricli(words: readonly string[]): Promise<Line | null> {
  const lines: Line[] = [];
  const command = buildCommand<RunFlags, [prompt?: string]>({
    func: (flags, ...positional) =>
      void lines.push({ flags: withoutGaps(flags), positional: positional.filter((each) => each !== undefined) }),
    parameters: runParameters,
    docs: { brief: "" },
  });
  const silent = { write: () => {} };
  await run(buildApplication(command, { name: "run", scanner: SCANNER }), words, { process: { stdout: silent, stderr: silent } });
  return lines[0] ?? null;
}

function withoutGaps(flags: object): object {
  return Object.fromEntries(Object.entries(flags).filter(([, value]) => value !== undefined));
}

const plain: readonly (readonly string[])[] = [
  [],
  ["Say hello"],
  ["-"],
  ["--workspace", "/w", "--model", "local/x", "--base-url", "http://127.0.0.1:1/v1", "Say hello"],
  ["Say hello", "--model=openai/x=y", "-o", "json", "--events", "--trust-workspace"],
  ["-w", ".", "-m", "script:a", "--no-speculation", "--max-steps", "3", "--timeout", "1.5", "--mode", "plan"],
  ["--speculation", "--output-format", "text"],
  ["--session", "ses_1", ""],
];

const told: readonly (readonly string[])[] = [
  ["--help"],
  ["-mx"],
  ["--model", "--events"],
  ["--model"],
  ["a", "b"],
  ["--mode", "wild"],
  ["--max-steps", "0"],
  ["--model", "a", "-m", "b"],
];

const words = fc.oneof(
  fc.constantFrom(
    ...["--model", "--workspace", "--base-url", "--baseUrl", "--max-steps", "--timeout", "--mode", "--output-format", "--events"],
    ...["--no-events", "--speculation", "--no-speculation", "--no-model", "--trust-workspace", "--session", "--help", "--helpAll", "-h"],
    ...["-m", "-w", "-o", "-mw", "-m=x", "--", "-", "--model=", "--model=x", "--events=true", "--speculation=no", "--unknown", "-x", "-5"],
    ...["text", "json", "plan", "3", "0", "1.5", "", "x=y", "a b", "--mode=plan", "--mode=wild", "--Model", "--constructor", "--m"],
  ),
  fc.string({ maxLength: 4 }),
);

describe("a plain line", () => {
  for (const line of plain) {
    test(`is read: ${JSON.stringify(line)}`, async () => {
      const read = readPlainly(line);
      if (read === null) throw new Error("it was not read");
      expect(await readByStricli(line)).toEqual(read);
    });
  }

  test("of any words means what stricli takes them for, or is left to it", async () => {
    let readHere = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(words, { maxLength: 6 }), async (line) => {
        const read = readPlainly(line);
        if (read === null) return;
        readHere++;
        expect(await readByStricli(line)).toEqual(read);
      }),
      { numRuns: 3000 },
    );
    expect(readHere).toBeGreaterThan(100);
  });

  for (const line of told) {
    test(`is none where there is something to say: ${JSON.stringify(line)}`, () => {
      expect(readPlainly(line)).toBeNull();
    });
  }
});
