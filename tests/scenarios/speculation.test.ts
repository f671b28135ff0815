/** What a user sees of early runs, and how they are turned off and on. */
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { createWorkspace, type TestWorkspace } from "../fixtures/workspace.ts";
import { runOrrery } from "../host/orrery.ts";

let workspace: TestWorkspace;

beforeEach(async () => {
  workspace = await createWorkspace();
  await workspace.tool("look", 'sleep 0.2; echo "seen $STELLA_INPUT_N"', "read_only = true\nspeculation_safe = true");
});

afterEach(() => workspace.remove());

const look = (n: number) => ({ call: { index: 0, id: "c0", name: "look", arguments: { n } } });
const ANSWER = { text: "done" };

async function run(args: readonly string[], env: Readonly<Record<string, string>> = {}) {
  // The first attempt breaks after its read has begun; the second asks for the same, and for long enough to see it end.
  const attempts = [
    { stream: [look(1), { call: { index: 1, id: "c1", name: "look", arguments: { n: 2 } } }, { wait_ms: 800, drop: true }] },
    { stream: [look(1)] },
  ];
  const model = await workspace.script({ attempts }, ANSWER);
  const common = ["run", "--trust-workspace", "--model", model, "--output-format", "json", "--events"];
  const { code, stdout } = await runOrrery([...common, ...args, "go"], { cwd: workspace.path, home: workspace.home, env });
  const object = JSON.parse(stdout) as {
    readonly session: string;
    readonly speculation: { readonly saved_ms: number; readonly wasted: number; readonly wasted_ms: number };
    readonly events: readonly { readonly type: string }[];
  };
  return { code, ...object, early: object.events.filter(({ type }) => type === "speculation_started").length };
}

const show = (...args: readonly string[]) => runOrrery(["sessions", "show", ...args], { cwd: workspace.path, home: workspace.home });

describe("early runs", () => {
  test("are summed up by run and by sessions show, in words and as JSON", async () => {
    const { code, session, speculation, early } = await run([]);
    expect([code, early, speculation.wasted]).toEqual([0, 2, 1]);
    // The tool sleeps for 0.2 s, and its run had ended long before the reply.
    expect(speculation.saved_ms).toBeGreaterThan(0);
    expect(speculation.wasted_ms).toBeGreaterThanOrEqual(200);
    expect(JSON.parse((await show(session, "--json")).stdout)).toMatchObject({ speculation });
    const words = (await show(session)).stdout;
    const seconds = (ms: number) => `${(ms / 1000).toFixed(1)} s`;
    expect(words).toContain(
      `early runs saved ${seconds(speculation.saved_ms)}, 1 of 2 were thrown away (${seconds(speculation.wasted_ms)})`,
    );
    expect(words).toContain("look ran early and was thrown away: input_changed");
  }, 30_000);

  test("are turned off by a flag, by the environment and by a setting, and on again by the flag", async () => {
    expect((await run(["--no-speculation"])).early).toBe(0);
    expect((await run([], { ORRERY_SPECULATION: "off" })).early).toBe(0);
    expect((await run(["--speculation"], { ORRERY_SPECULATION: "off" })).early).toBe(2);
    await workspace.write("../home/config/settings.json", '{ "speculation": "off" }');
    expect((await run([])).early).toBe(0);
    expect((await run(["--speculation"])).early).toBe(2);
  }, 60_000);
});
