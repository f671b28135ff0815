import { describe, expect, test } from "bun:test";
import { setTimeout as sleep } from "node:timers/promises";
import { toInput } from "../../../lib/session/json.ts";
import type { Run } from "../../../lib/session/launch.ts";
import { type Tool as SdkTool, tool, type ToolOptions } from "../../../lib/tools/sdk/define.ts";
import { embedTools } from "../../../lib/tools/sdk/embedded.ts";
import type { Tool } from "../../../lib/tools/tool.ts";
import { placeOf } from "./run-launch.ts";

const parameters = { type: "object", properties: {} };

describe("a tool of a program that embeds Orrery", () => {
  const cases: readonly ToolOptions[] = [
    { read_only: true, speculation_safe: true, approval: "always" },
    { approval: "destructive" },
    {},
  ];
  for (const given of cases) {
    test(`is gated and speculated as it says of itself: ${JSON.stringify(given)}`, async () => {
      const { read_only, speculation_safe, approval } = await embed(
        tool({ name: "t", description: "", parameters, inProcess: true, ...given, execute: () => 1 }),
      );
      expect({ read_only, speculation_safe, approval }).toEqual({ read_only: false, speculation_safe: false, approval: "never", ...given });
    });
  }

  test("must have an execute and a deadline that is a number of milliseconds, by the names its author writes", async () => {
    const bare = { name: "t", description: "", parameters, inProcess: true };
    expect(() => tool({ ...bare } as unknown as Parameters<typeof tool>[0])).toThrow(/"t" as it has no execute/);
    const refused = await embed(tool({ ...bare, timeoutMs: 0.5, execute: () => 1 })).catch(String);
    expect(refused).toContain("timeoutMs: must be a whole number");
    const nameless = { ...bare, name: undefined, execute: () => 1 } as unknown as Parameters<typeof tool>[0];
    expect(await embed(tool(nameless)).catch(String)).toContain("Cannot register a tool without a name as ");
  });
});

describe("a tool in this process whose time is over", () => {
  const cases: readonly (readonly [string, number, boolean, string])[] = [
    ["is told so at its deadline", 20, false, "timed out after 20 ms"],
    ["is told so when it is cancelled", 30_000, true, "was cancelled"],
  ];
  for (const [what, timeoutMs, cancels, text] of cases) {
    test(`${what}, and nobody is told that it was ended`, async () => {
      const began = Promise.withResolvers<AbortSignal>();
      const waits = await embed(tool({
        name: "waits",
        description: "",
        parameters,
        inProcess: true,
        timeoutMs,
        execute: (_input, { signal }) => {
          began.resolve(signal);
          return new Promise(() => {});
        },
      }));
      const now = new AbortController();
      const running = run(waits, now.signal);
      const signal = await began.promise;
      expect(signal.aborted).toBe(false);
      if (cancels) now.abort();
      const ended = await running;
      for (let turn = 0; turn < 100 && !signal.aborted; turn++) await sleep(10);
      expect(signal.aborted).toBe(true);
      const { result } = waits.read(ended, toInput({}));
      expect(result.is_error).toBe(true);
      expect(result.text).toContain(text);
      expect(result.text).toContain("it may still be at work");
      expect(result.text).not.toContain("everything it had started");
    });
  }
});

async function embed(given: SdkTool): Promise<Tool> {
  const [candidate] = await embedTools([given]);
  if (candidate?.kind !== "tool") throw new Error("it is no tool");
  return candidate.tool;
}

async function run(each: Tool, now: AbortSignal): Promise<Run> {
  const plan = each.plan(toInput({}), { ...placeOf(), state: { reads: {}, tasks: {}, scratch: {} } });
  if (plan.kind !== "remote") throw new Error(`planned as ${plan.kind}`);
  return await plan.call(now);
}
