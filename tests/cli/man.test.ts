/** Manual pages: one for every command, whole, and accepted by what shows them. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { everyCommand, readReference } from "../../cli/reference.ts";
import { runOrrery } from "../host/orrery.ts";

const has = (program: string) => spawnSync("sh", ["-c", `command -v ${program}`]).status === 0;
const commands = everyCommand(readReference());
/** Each starts the program several times, from source. */
const LIMIT_MS = 30_000;
let home: string;
let pages: string;

beforeAll(async () => {
  home = mkdtempSync(join(tmpdir(), "orrery-man-"));
  pages = join(home, "man1");
  expect(await runOrrery(["man", "--output", pages], { home })).toMatchObject({ code: 0, stdout: "" });
});
afterAll(() => rmSync(home, { recursive: true, force: true }));

describe("orrery man", () => {
  test("writes a page for every command and group", () => {
    expect(readdirSync(pages).toSorted()).toEqual(commands.map(({ path }) => `${path.replaceAll(" ", "-")}.1`).toSorted());
  });

  test("names every option of a command in its page", () => {
    for (const { path, options } of commands) {
      const page = readFileSync(join(pages, `${path.replaceAll(" ", "-")}.1`), "utf8").replaceAll("\\-", "-");
      expect([path, options.filter(({ name }) => !page.includes(`\\fB${name}\\fR`))]).toEqual([path, []]);
    }
  });

  test("prints the page of a command, by its short name too, and of orrery itself", async () => {
    const page = readFileSync(join(pages, "orrery-tools-call.1"), "utf8");
    for (const name of ["tools-call", "orrery-tools-call"]) expect((await runOrrery(["man", name], { home })).stdout).toBe(page);
    expect((await runOrrery(["man"], { home })).stdout).toBe(readFileSync(join(pages, "orrery.1"), "utf8"));
  }, LIMIT_MS);

  test("writes the one page that is named, and none where there is none", async () => {
    const folder = join(home, "one");
    expect((await runOrrery(["man", "--output", folder, "tool"], { home })).code).toBe(2);
    expect(existsSync(folder)).toBe(false);
    expect(await runOrrery(["man", "--output", folder, "tools-call"], { home })).toMatchObject({
      code: 0,
      stderr: `Wrote 1 page to ${folder}\n`,
    });
    expect(readdirSync(folder)).toEqual(["orrery-tools-call.1"]);
  }, LIMIT_MS);

  test("dates a page by what it is made of, as the same commit makes the same pages", async () => {
    if (process.env["ORRERY_BINARY"] === undefined) {
      const { stdout } = await runOrrery(["man"], { home, env: { SOURCE_DATE_EPOCH: "1790000000" } });
      expect(stdout).toMatch(/^\.TH ORRERY 1 "2026-09-21" "Orrery /);
    }
    expect((await runOrrery(["man", "run"], { home })).stdout).toMatch(/^\.TH ORRERY-RUN 1 "20\d\d-\d\d-\d\d" "Orrery /);
  }, LIMIT_MS);

  test("says so where it cannot write, and what to do", async () => {
    writeFileSync(join(home, "file"), "");
    const { code, stderr } = await runOrrery(["man", "--output", join(home, "file/man1")], { home });
    expect([code, stderr]).toEqual([
      1,
      expect.stringMatching(/^orrery: Cannot write pages to ".*file\/man1" .*: name a folder that you may write to\n$/),
    ]);
  });

  test("refuses a page that there is none of, and proposes one", async () => {
    const { code, stderr } = await runOrrery(["man", "tool"], { home });
    expect([code, stderr]).toEqual([2, expect.stringContaining("orrery-tools")]);
  });

  test.skipIf(!has("mandoc"))("mandoc finds no mistake in any page", () => {
    const { status, stdout } = spawnSync(
      "mandoc",
      ["-T", "lint", ...readdirSync(pages).map((name) => join(pages, name))],
      {
        encoding: "utf8",
      },
    );
    expect([status, stdout]).toEqual([0, ""]);
  });

  test.skipIf(!has("man"))("man shows a page, with its examples as they are typed", () => {
    const { status, stdout } = spawnSync("man", ["-l", join(pages, "orrery-run.1")], {
      encoding: "utf8",
      env: { ...process.env, MANWIDTH: "100", LC_ALL: "C.UTF-8", MANPAGER: "cat" },
    });
    expect(status).toBe(0);
    expect(stdout).toContain('orrery run --output-format json "List the TODOs" | jq -r .text');
    expect(stdout).toMatch(/EXIT CODES\n\s+0 completed/);
  });
});
