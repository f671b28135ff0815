/** The built-ins as a model meets them: through the gate, the supervisor and real tool hosts, with what they change in the log. */
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Agent, openAgent } from "../../../lib/agent/agent.ts";
import type { AgentOptions } from "../../../lib/agent/options.ts";
import { isKnown, type SessionEvent } from "../../../lib/session/event.ts";
import { chatReply, delta, DONE, sse, startEndpoint } from "../../fixtures/endpoint.ts";
import { createWorkspace, type TestWorkspace } from "../../fixtures/workspace.ts";

let workspace: TestWorkspace;
let agents: Agent[];

beforeEach(async () => {
  workspace = await createWorkspace();
  agents = [];
});

afterEach(async () => {
  await Promise.all(agents.map((agent) => agent.close()));
  await workspace.remove();
});

const call = (name: string, input: object = {}) => ({ name, arguments: input });

interface Played {
  readonly results: readonly string[];
  readonly events: readonly SessionEvent[];
}

/** One turn in which the model makes these calls, a list for each step. */
async function play(...steps: readonly (readonly object[])[]): Promise<Played> {
  return await drive({ model: await workspace.script(...steps.map((calls) => ({ calls })), { text: "done" }) });
}

async function drive(model: Pick<AgentOptions, "model" | "baseUrl">, onEvent: (type: string) => void = () => {}): Promise<Played> {
  const env = { PATH: process.env["PATH"] ?? "", HOME: workspace.home, ORRERY_HOME: workspace.home };
  const agent = openAgent({ workspace: workspace.path, trustWorkspace: true, env, mode: "auto-accept", ...model });
  agents.push(agent);
  const session = await agent.create();
  session.watch((event) => onEvent(event.type));
  await session.prompt("go", { source: "test" });
  const events = (await agent.events(session.id)).flatMap((row) => row.kind === "event" && isKnown(row.event) ? [row.event] : []);
  return { results: session.messages().flatMap((message) => message.role === "tool" ? [message.text] : []), events };
}

describe("in a session", () => {
  test("task calls of one reply see each other's tasks, and each change is recorded with its call's end", async () => {
    const { results, events } = await play(
      [call("task_create", { subject: "a" }), call("task_create", { subject: "b" }), call("task_start", { id: "t2" })],
      [call("task_list")],
    );
    expect(results).toEqual(["t1 [pending] a", "t2 [pending] b", "t2 [in_progress] b", "t1 [pending] a\nt2 [in_progress] b"]);
    const ends = events.filter(({ type }) => type === "call_ended" || type === "task_changed").map(({ type }) => type);
    expect(ends.filter((type) => type === "task_changed").length).toBe(3);
    expect(ends.length).toBe(7);
  }, 20_000);

  test("what was saved can be read in a later step, whatever its key", async () => {
    const { results } = await play(
      [call("save_state", { key: "__proto__", content: "odd" }), call("save_state", { key: "k", content: "v\u0000" })],
      [call("get_state", { key: "__proto__" }), call("get_state", { key: "k" }), call("list_state")],
      [call("delete_state", { key: "k" }), call("list_state")],
    );
    expect(results.slice(2)).toEqual(["odd", "v\u0000", "__proto__ (3 bytes)\nk (2 bytes)", 'Deleted "k".', "__proto__ (3 bytes)"]);
  }, 20_000);

  test("a file read whole, alone or among others, may be replaced, and after an edit again", async () => {
    await workspace.write("a.txt", "one\n");
    await workspace.write("b.txt", "two\n");
    symlinkSync("b.txt", `${workspace.path}/link`);
    const { results } = await play(
      [call("read_file", { files: [{ path: "a.txt" }, { path: "link" }, { path: "missing" }] })],
      [call("edit_file", { path: "a.txt", old_string: "one", new_string: "1" }), call("write_file", { path: "a.txt", content: "uno\n" })],
      [call("write_file", { path: "link", content: "dos\n" }), call("write_file", { path: "missing", content: "new\n" })],
    );
    expect(results.slice(1)).toEqual([
      'Edited "a.txt": 1 replacement.',
      'Replaced "a.txt" (4 bytes).',
      'Replaced "b.txt" (4 bytes).',
      'Created "missing" (4 bytes).',
    ]);
  }, 20_000);

  test("search answers from a tool host, and leaves no process behind", async () => {
    for (let index = 0; index < 250; index++) await workspace.write(`src/f${index}.txt`, index % 50 === 0 ? "a needle\n" : "hay\n");
    const { results, events } = await play([call("search", { query: "needle" }), call("search", { pattern: "need.e$", glob: "f1*" })]);
    expect(results[0]).toContain("5 matching lines in 5 files.");
    expect(results[1]).toContain("src/f100.txt\n     1: a needle");
    expect(events.flatMap((event) => event.type === "call_ended" ? [event.reaped ?? []] : [])).toEqual([[], []]);
  }, 20_000);
});

describe("an early read is thrown away and made again", () => {
  /** One turn whose first reply holds this read and goes on when the early run has ended and `meanwhile` is done. */
  async function readEarly(input: object, meanwhile: () => void = () => {}): Promise<Played> {
    const goOn = Promise.withResolvers<void>();
    const call = { index: 0, id: "c", type: "function", function: { name: "read_file", arguments: JSON.stringify(input) } };
    const reply = {
      steps: [{ write: sse(delta({ tool_calls: [call] })) }, { until: goOn.promise }, { write: sse(delta({}, "tool_calls"), DONE) }],
    };
    const endpoint = await startEndpoint([reply, chatReply({ text: "done" })]);
    try {
      return await drive({ model: "local/test", baseUrl: endpoint.url }, (type) => {
        if (type !== "speculation_ended") return;
        meanwhile();
        goOn.resolve();
      });
    } finally {
      await endpoint.close();
    }
  }
  const discards = (events: readonly SessionEvent[]) =>
    events.flatMap((event) => event.type === "speculation_discarded" ? [event.reason] : []);

  test("when the link that it went through leads elsewhere by now (case 40)", async () => {
    await workspace.write("a.txt", "from a\n");
    await workspace.write("b.txt", "from b\n");
    const link = join(workspace.path, "link");
    symlinkSync("a.txt", link);
    const { results, events } = await readEarly({ path: "link" }, () => {
      rmSync(link);
      symlinkSync("b.txt", link);
    });
    expect(results[0]).toContain("from b");
    expect(discards(events)).toEqual(["stale"]);
  }, 20_000);

  test("when one of several files was missing then, or has changed since (cases 39 and 40)", async () => {
    for (const [late, reason] of [["missing.txt", "failed"], ["b.txt", "stale"]] as const) {
      await workspace.write("a.txt", "from a\n");
      await workspace.write("b.txt", "from b\n");
      const files = [{ path: "a.txt" }, { path: "b.txt" }, { path: "missing.txt" }].slice(0, late === "b.txt" ? 2 : 3);
      const { results, events } = await readEarly({ files }, () => writeFileSync(join(workspace.path, late), "there now\n"));
      expect(results[0]).toContain("there now");
      expect(discards(events)).toEqual([reason]);
    }
  }, 20_000);

  test("never, while all of several files are what they were", async () => {
    await workspace.write("a.txt", "from a\n");
    await workspace.write("b.txt", "from b\n");
    symlinkSync("b.txt", join(workspace.path, "link"));
    const { results, events } = await readEarly({ files: [{ path: "a.txt" }, { path: "link" }] });
    expect(results[0]).toContain("from b");
    expect(discards(events)).toEqual([]);
    expect(events.some((event) => event.type === "call_ended" && event.speculation !== undefined)).toBe(true);
  }, 20_000);
});
