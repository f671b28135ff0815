/** Public bug reports about tool processes, each through the whole program: model, gate, supervisor, journal. */
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import process from "node:process";
import { setTimeout as sleep } from "node:timers/promises";
import { join } from "node:path";
import { listPids, readEnviron, readStat } from "../../lib/platform/proc.ts";
import { isAlive } from "../fixtures/alive.ts";
import { endServing, startServing } from "../fixtures/serving.ts";
import { createWorkspace, type TestWorkspace } from "../fixtures/workspace.ts";
import { ended, runOrrery, startOrrery } from "../host/orrery.ts";

let workspace: TestWorkspace;

beforeEach(async () => {
  workspace = await createWorkspace();
});

afterEach(async () => {
  await endServing();
  for (const pid of recordedPids()) if (isAlive(pid)) process.kill(pid, "SIGKILL");
  await workspace.remove();
});

const here = () => ({ cwd: workspace.path, home: workspace.home });

interface Report {
  readonly calls: readonly { readonly is_error: boolean; readonly outcome: Record<string, unknown> }[];
  readonly events: readonly (Record<string, unknown> & { readonly type: string })[];
  readonly status: string;
  readonly reason?: string;
}

interface Ending {
  readonly text: string;
  readonly is_error: boolean;
  readonly outcome: Record<string, unknown>;
  readonly event: Record<string, unknown>;
}

/** One call of one tool in one run; the invariants of every case are checked here. */
async function callTool(script: string, manifest = "timeout_ms = 10000", input: object = {}): Promise<Ending> {
  await workspace.tool("case", script, manifest);
  const model = await workspace.script({ calls: [{ name: "case", arguments: input }] }, { text: "done" });
  const { code, stdout, stderr } = await runOrrery([
    "run",
    "--trust-workspace",
    "--model",
    model,
    "--output-format",
    "json",
    "--events",
    "go",
  ], {
    cwd: workspace.path,
    home: workspace.home,
  });
  expect([code, stderr]).toEqual([0, expect.any(String)]);
  const report = JSON.parse(stdout) as Report;
  const ends = report.events.filter((event) => event.type === "call_ended");
  expect([report.status, ends.length]).toEqual(["completed", 1]);
  for (const pid of recordedPids()) expect([pid, isAlive(pid)]).toEqual([pid, false]);
  const end = ends[0] as unknown as Record<string, unknown> & {
    result: { text: string; is_error: boolean };
    outcome: Record<string, unknown>;
  };
  return { text: end.result.text, is_error: end.result.is_error, outcome: end.outcome, event: end };
}

/** Fixtures write the pids of what they start to files called `pid-…`. */
function recordedPids(): readonly number[] {
  return ["pid-1", "pid-2", "pid-3"].map((name) => join(workspace.path, name)).filter((file) => existsSync(file)).map((file) =>
    Number(readFileSync(file, "utf8"))
  );
}

describe("a descendant that holds the pipes", () => {
  test("case 1: a background loop that keeps writing does not hold the call, and is gone", async () => {
    const end = await callTool("( while :; do echo tick; sleep 0.05; done ) & echo $! > pid-1; echo started", "timeout_ms = 30000");
    expect([end.is_error, end.text.includes("started")]).toEqual([false, true]);
    expect(end.event["reaped"]).toBeDefined();
  });

  test("case 2: a silent one, and one that holds only one stream", async () => {
    for (const script of ["sleep 20 & echo $! > pid-1; echo hi", "sleep 20 </dev/null >/dev/null & echo $! > pid-1; echo hi"]) {
      const end = await callTool(script, "timeout_ms = 30000");
      expect([end.is_error, end.text]).toEqual([false, "hi\n"]);
      // It was alive when the call ended.
      expect(end.event["reaped"]).toBeDefined();
    }
  });

  test("case 4: a pipeline behind a timeout ends with it, and what it printed is kept", async () => {
    const end = await callTool("mkfifo p; (while :; do echo c; sleep 1; done) > p & echo $! > pid-1; cat p", "timeout_ms = 1000");
    expect(end.outcome).toEqual({ kind: "timed_out", after_ms: 1000 });
    expect(end.text).toContain("1000");
    expect(end.text).toContain("c");
  });
});

describe("orphans", () => {
  test("case 6: a shell that ignores TERM does not save its descendants", async () => {
    const end = await callTool("trap '' TERM; (sleep 3; touch canary) & echo $! > pid-1; sleep 60", "timeout_ms = 500");
    expect(end.outcome["kind"]).toBe("timed_out");
    await sleep(3500);
    expect(existsSync(join(workspace.path, "canary"))).toBe(false);
  }, 15_000);

  test("escapees by setsid and by a double fork are gone when the call ends", async () => {
    const end = await callTool(
      "setsid sh -c 'echo $$ > pid-1; sleep 60' & (setsid sh -c '(echo $$ > pid-2; exec sleep 60) &' &) ; while [ ! -s pid-1 ] || [ ! -s pid-2 ]; do sleep 0.02; done; echo out",
      "timeout_ms = 20000",
    );
    expect([end.is_error, end.text]).toEqual([false, "out\n"]);
  });

  test("what a module's call abandons in the moment of its end is gone, in every one of 25 runs", async () => {
    await workspace.write(
      ".orrery/tools/abandon.ts",
      `import { spawn } from "node:child_process";
      import { tool } from "orrery";
      import * as v from "valibot";
      export const abandon = tool({ name: "abandon", description: "Leaves a process.", parameters: v.object({}), execute: () => {
        spawn("sh", ["-c", "sleep 300 &"], { stdio: "ignore", detached: true });
        return "gone";
      } });`,
    );
    const model = await workspace.script({ calls: [{ name: "abandon", arguments: {} }] }, { text: "done" });
    for (let round = 0; round < 25; round++) {
      const start = { cwd: workspace.path, home: workspace.home };
      const { code } = await runOrrery(["run", "--trust-workspace", "--model", model, "go"], start);
      expect([round, code, sleepersOf(workspace.home)]).toEqual([round, 0, []]);
    }
  }, 60_000);

  /** Kills the runtime of a session whose first call runs. */
  async function killedInCall(model: string): Promise<string> {
    const runtime = startOrrery(["run", "--trust-workspace", "--model", model, "--output-format", "stream-json", "go"], here());
    const { promise: spawned, resolve } = Promise.withResolvers<string>();
    let seen = "";
    runtime.stdout?.on("data", (chunk: Uint8Array) => {
      seen += new TextDecoder().decode(chunk);
      if (seen.includes('"call_spawned"')) resolve(seen);
    });
    const session = /"session":"(ses_[^"]+)"/.exec(await spawned)?.[1] ?? "";
    while (!existsSync(join(workspace.path, "pid-1"))) await sleep(10);
    runtime.kill("SIGKILL");
    await ended(runtime);
    return session;
  }

  test("case 9: after kill -9 of the runtime the next start ends the tool and says that the outcome is unknown, once", async () => {
    await workspace.tool("case", "echo $$ > pid-1; echo run >> runs; exec sleep 300");
    const model = await workspace.script({ calls: [{ name: "case", arguments: {} }] }, { text: "done" });
    const session = await killedInCall(model);
    const start = here();
    const resumed = await runOrrery(["sessions", "resume", session, "--trust-workspace", "--output-format", "json", "--events"], start);
    expect([resumed.code, resumed.stderr]).toEqual([0, expect.any(String)]);
    const events = (await runOrrery(["sessions", "events", session], start)).stdout.trimEnd().split("\n").map((line) =>
      JSON.parse(line) as Record<string, unknown>
    );
    expect(events.filter((event) => event["type"] === "call_ended")).toMatchObject([{
      outcome: { kind: "unknown", cause: "runtime_died" },
    }]);
    expect(events.map((event) => event["seq"])).toEqual(events.map((_event, index) => index + 1));
    for (const pid of recordedPids()) expect([pid, isAlive(pid)]).toEqual([pid, false]);
    expect(readFileSync(join(workspace.path, "runs"), "utf8")).toBe("run\n");
  }, 30_000);

  test("whoever only opens a session whose runtime was killed leaves what is known of that to the one who resumes it", async () => {
    await workspace.tool("case", "echo $$ > pid-1; exec sleep 300");
    const model = await workspace.script({ calls: [{ name: "case", arguments: {} }] }, { text: "done" });
    const session = await killedInCall(model);
    const look = async (...args: string[]) => (await runOrrery(args, here())).code;
    expect(await look("run", "--session", session, "--trust-workspace", "hi")).toBe(2);
    expect(await look("sessions", "show", session)).toBe(0);
    expect(await look("sessions", "fork", session)).toBe(0);
    const server = await startServing(workspace, ["--trust-workspace", "--model", model]);
    await expect(server.client.prompt(session, "hi")).rejects.toMatchObject({ status: 409 });
    await server.end("SIGTERM");
    const resumed = await runOrrery(["sessions", "resume", session, "--trust-workspace", "--output-format", "json", "--events"], here());
    const report = JSON.parse(resumed.stdout) as Report;
    expect(report.events.filter((event) => event.type === "call_ended")).toMatchObject([{
      outcome: { kind: "unknown", cause: "runtime_died" },
      result: { text: expect.stringContaining("its runtime last gave a sign of life") as string },
    }]);
  }, 60_000);

  test("a terminal that goes away ends the call at once, and its end is recorded", async () => {
    await workspace.tool("case", "trap '' HUP; echo $$ > pid-1; exec sleep 300");
    const model = await workspace.script({ calls: [{ name: "case", arguments: {} }] }, { text: "never" });
    const runtime = startOrrery(["run", "--trust-workspace", "--model", model, "--output-format", "json", "go"], {
      cwd: workspace.path,
      home: workspace.home,
    });
    while (recordedPids().length === 0) await sleep(10);
    runtime.kill("SIGHUP");
    const { code, stdout } = await ended(runtime);
    const report = JSON.parse(stdout) as Report;
    expect([code, report.status, report.reason]).toEqual([143, "cancelled", "SIGHUP received"]);
    expect(report.calls).toMatchObject([{ is_error: true, outcome: { kind: "cancelled" } }]);
    for (const pid of recordedPids()) expect([pid, isAlive(pid)]).toEqual([pid, false]);
  }, 30_000);
});

/** Processes of tools that still sleep; they are ended, whatever the test says of them. */
function sleepersOf(home: string): readonly number[] {
  const own = (pid: number) => {
    const reading = readEnviron(pid, "ORRERY_HOME");
    return reading.kind === "read" && reading.value === home;
  };
  const sleepers = listPids().filter((pid) => readStat(pid)?.command === "sleep" && isAlive(pid) && own(pid));
  for (const pid of sleepers) process.kill(pid, "SIGKILL");
  return sleepers;
}

const compiled = process.env["ORRERY_BINARY"] !== undefined;

/** One call in one run, and the most memory the runtime had, in KiB. */
async function watchedRun(script: string, manifest = ""): Promise<{ readonly report: Report; readonly peak: number }> {
  await workspace.tool("case", script, `timeout_ms = 60000\n${manifest}`);
  const model = await workspace.script({ calls: [{ name: "case", arguments: {} }] }, { text: "done" });
  const runtime = startOrrery(["run", "--trust-workspace", "--model", model, "--output-format", "json", "--events", "go"], {
    cwd: workspace.path,
    home: workspace.home,
  });
  let peak = 0;
  const watch = setInterval(() => peak = Math.max(peak, residentKilobytes(runtime.pid ?? 0)), 20);
  const { code, stdout } = await ended(runtime);
  clearInterval(watch);
  expect(code).toBe(0);
  return { report: JSON.parse(stdout) as Report, peak };
}

describe("output", () => {
  for (const [stream, redirect] of [["stdout", ""], ["stderr", " >&2"]] as const) {
    test(`case 12: three gigabytes on ${stream} stay bounded, with the true count and the end`, async () => {
      const quiet = await watchedRun("echo TAIL");
      const { report, peak } = await watchedRun(`{ yes x | head -c 3000000000; echo TAIL; }${redirect}`);
      const end = report.events.find((event) => event.type === "call_ended") as unknown as Record<string, unknown> & {
        result: { text: string };
      };
      // Of a success the model reads what is on standard output.
      expect(end.result.text.endsWith("TAIL\n")).toBe(stream === "stdout");
      expect(end["truncated"]).toMatchObject({ [`${stream}_bytes`]: 3_000_000_005 });
      expect(new TextEncoder().encode(end.result.text).length).toBeLessThan(70_000);
      // From source the hosts' own memory goes up and down by more than that.
      expect(peak).toBeLessThan(compiled ? quiet.peak + 50_000 : 250_000);
    }, 120_000);
  }

  /** What of an output is of use only as a whole is given up once it cannot be had. */
  test("more room for a whole answer is no room for a flood: of a tool that promised JSON, and of hooks", async () => {
    const quiet = await watchedRun("echo TAIL");
    const flood = "yes x | head -c 300000000 & yes x | head -c 300000000 >&2; wait";
    const promised = await watchedRun(flood, '[output_schema]\ntype = "object"');
    expect(promised.report.calls).toMatchObject([{ is_error: true, outcome: { kind: "exited", code: 0 } }]);
    expect(JSON.stringify(promised.report.events)).toContain("it printed 300000000 bytes, and a result may have 8388608");
    const hooks = [{ hooks: [{ type: "command", command: flood, timeoutMs: 30_000 }] }];
    await workspace.write(".orrery/settings.json", JSON.stringify({ hooks: { PreToolUse: hooks, PostToolUse: hooks, Stop: hooks } }));
    const hooked = await watchedRun("echo TAIL");
    expect(hooked.report.calls).toMatchObject([{ is_error: true, outcome: { kind: "not_started" } }]);
    expect(JSON.stringify(hooked.report.events)).toContain("it printed more than can be read");
    if (!compiled) return; // As above.
    expect(promised.peak).toBeLessThan(quiet.peak + 50_000);
    expect(hooked.peak).toBeLessThan(quiet.peak + 50_000);
  }, 60_000);

  test("case 14: two gigabytes of NUL in one line settle as a success", async () => {
    const end = await callTool("head -c 2200000000 /dev/zero", "timeout_ms = 60000");
    expect([end.is_error, end.outcome]).toEqual([false, { kind: "exited", code: 0 }]);
  }, 120_000);

  test("case 15: a character that arrives in two pieces is one, half a character is U+FFFD", async () => {
    expect((await callTool("printf '\\342'; sleep 0.1; printf '\\202\\254'")).text).toBe("€");
    expect((await callTool("printf '\\342'")).text).toBe("\ufffd");
    const wide = await callTool("yes 你 | head -n 200000 | tr -d '\\n'");
    expect(wide.text.includes("\ufffd")).toBe(false);
    expect(new TextEncoder().encode(wide.text).length).toBeLessThan(66_000);
  });
});

describe("standard input", () => {
  test("case 17: one document, then the end of file, however often it is read", async () => {
    const end = await callTool("cat; echo; cat; echo done", undefined, { path: "src/lib.rs" });
    expect(end.text).toBe('{"path":"src/lib.rs"}\ndone\n');
  });

  test("P10: the standard streams can be opened by name", async () => {
    const end = await callTool("cat /dev/stdin; echo out > /dev/stdout; echo err > /dev/stderr", undefined, { a: 1 });
    expect([end.is_error, end.text]).toEqual([false, '{"a":1}out\n']);
  });

  test("case 18: there is no terminal to ask on", async () => {
    const end = await callTool("if exec 3</dev/tty; then echo opened; else echo none; fi 2>/dev/null");
    expect([end.outcome["kind"], end.text.includes("opened")]).toEqual(["exited", false]);
  });

  test("case 19: a tool that does not read two megabytes is judged by its exit code alone", async () => {
    const input = { text: "x".repeat(2_000_000) };
    expect((await callTool("exit 0", undefined, input)).is_error).toBe(false);
    expect((await callTool("exec 0<&-; sleep 0.3; echo ok", undefined, input)).text).toBe("ok\n");
  });
});

describe("the environment of a tool", () => {
  test("cases 21 and 22: a value that does not fit is only on standard input, and said", async () => {
    const end = await callTool('printf "%s %s %s" "${#STELLA_INPUT_PATH}" "${STELLA_INPUT_CONTENT-unset}" "$(wc -c)"', undefined, {
      content: "a".repeat(200_000),
      path: "x",
    });
    expect(end.text).toBe(`1 unset ${JSON.stringify({ content: "a".repeat(200_000), path: "x" }).length}`);
    expect(end.event["exports_withheld"]).toMatchObject([{ name: "STELLA_INPUT_CONTENT" }]);
    const nul = await callTool('printf "%s %s " "$STELLA_INPUT_N" "${STELLA_INPUT_PATH-unset}"; cat', undefined, {
      path: "a\u0000b",
      n: 1,
    });
    expect(nul.text).toBe('1 unset {"n":1,"path":"a\\u0000b"}');
    const many = Object.fromEntries(Array.from({ length: 3000 }, (_none, index) => [`k${index}`, "v".repeat(1024)]));
    expect((await callTool("wc -c | tr -d ' \\n'", undefined, many)).text).toBe(String(JSON.stringify(many).length));
  });

  test("case 24: the keys of providers are not in it, the user's own are", async () => {
    await workspace.tool("case", "env");
    const model = await workspace.script({ calls: [{ name: "case", arguments: {} }] }, { text: "done" });
    const { stdout } = await runOrrery(["run", "--trust-workspace", "--model", model, "--output-format", "json", "--events", "go"], {
      cwd: workspace.path,
      home: workspace.home,
      env: { OPENAI_API_KEY: "canary1", ANTHROPIC_API_KEY: "canary2", FOO: "keep", BUN_OPTIONS: "--smol", GH_TOKEN: "mine" },
    });
    expect(stdout).not.toContain("canary");
    for (const kept of ["FOO=keep", "GH_TOKEN=mine"]) expect(stdout).toContain(kept);
    expect(stdout).not.toContain("BUN_OPTIONS=");
  });
});

function residentKilobytes(pid: number): number {
  try {
    return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1] ?? 0);
  } catch {
    return 0;
  }
}
