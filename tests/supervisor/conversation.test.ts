/** Processes that are talked with (T1 to T6 in session/launch.ts, case 7). */
import { describe, expect, test } from "bun:test";
import process from "node:process";
import type { OpenConversation } from "../../lib/tools/mcp/transport.ts";
import { isAlive, onDeno, openBench, taggedPids, timed, until } from "../fixtures/supervision.ts";

describe("a conversation", () => {
  test("is lines to and fro, in order, until it is closed", async () => {
    await using bench = openBench();
    const open: OpenConversation = bench.supervisor.open;
    expect(typeof open).toBe("function");
    const talk = bench.talk('while read -r line; do echo "<$line>"; done; echo bye >&2; exit 4');
    for (let index = 0; index < 100; index++) await talk.send(`line ${index} €`);
    expect(await talk.heard(100)).toEqual(Array.from({ length: 100 }, (_, index) => `<line ${index} €>`));
    const live = bench.supervisor.live();
    expect(live).toHaveLength(1);
    talk.close();
    const run = await talk.ended;
    expect(run.outcome).toEqual({ kind: "exited", code: 4 });
    expect(run.stderr.text).toBe("bye\n");
    expect(run.reaped).toEqual([]);
    expect(isAlive(live[0]?.pid ?? 0)).toBe(false);
  });

  test("has lines whole, however they were written, and nothing of one that never ends", async () => {
    await using bench = openBench();
    const talk = bench.talk("printf 'a\\342'; sleep 0.1; printf '\\202\\254b\\n\\ncd\\377'; sleep 0.1; printf 'e\\nunfinished'; read x");
    expect(await talk.heard(3)).toEqual(["a€b", "", "cd\ufffde"]);
    talk.close();
    await talk.ended;
    expect(talk.lines).toHaveLength(3);
  });

  test("carries the tags of its call and real pipes", async () => {
    await using bench = openBench();
    const talk = bench.talk('echo "$ORRERY_LINEAGE $ORRERY_CALL" > /dev/stdout; head -n 1 /dev/stdin', { call: "mcp_1" });
    await talk.send("through the pipe");
    expect(await talk.heard(2)).toEqual([`${bench.runtime}/mcp_1 mcp_1`, "through the pipe"]);
    expect((await talk.ended).outcome).toEqual({ kind: "exited", code: 0 });
  });

  test("that cannot be started ends as not started, and takes no line", async () => {
    await using bench = openBench();
    const talk = bench.talk("", { argv: ["/no/such/program"] });
    await expect(talk.send("x")).rejects.toThrow("Cannot send");
    const run = await talk.ended;
    expect(run.outcome).toEqual({ kind: "not_started", reason: "cannot_start" });
    expect(run.problem).toContain("/no/such/program");
    talk.close();
  });

  test("that is closed before it began starts nothing", async () => {
    await using bench = openBench();
    const talk = bench.talk("touch started; cat");
    talk.close();
    expect(["not_started", "exited", "cancelled"]).toContain((await talk.ended).outcome.kind);
    await expect(talk.send("x")).rejects.toThrow("closed");
    expect(taggedPids(bench.runtime)).toEqual([]);
  });
});

describe("the end of a conversation", () => {
  test("by the process itself is its exit code, and what it left is ended", async () => {
    await using bench = openBench();
    const talk = bench.talk("setsid sleep 300 & echo one; exit 3");
    const run = await talk.ended;
    expect(run.outcome).toEqual({ kind: "exited", code: 3 });
    expect(talk.lines).toEqual(["one"]);
    expect(run.reaped.map(({ command }) => command)).toEqual(["sleep"]);
    await expect(talk.send("x")).rejects.toThrow("closed");
  });

  test("takes a wrapper and the server behind it along", async () => {
    await using bench = openBench();
    const talk = bench.talk("sh -c 'echo ready; while :; do sleep 0.05; done' & wait");
    await talk.heard(1);
    talk.close();
    expect((await talk.ended).outcome).toEqual({ kind: "cancelled" });
    expect(taggedPids(bench.runtime)).toEqual([]);
  });

  test("comes to one that ignores both the end of its input and SIGTERM", async () => {
    await using bench = openBench();
    const talk = bench.talk("trap '' TERM; echo ready; while :; do sleep 0.05; done");
    await talk.heard(1);
    const { value, ms } = await timed(() => {
      talk.close();
      talk.close();
      return talk.ended;
    });
    expect(value.outcome).toEqual({ kind: "cancelled" });
    expect(ms).toBeGreaterThan(1500);
    expect(taggedPids(bench.runtime)).toEqual([]);
  }, 10_000);

  test("with the supervisor leaves nothing", async () => {
    const bench = openBench();
    const talks = ["exec cat", "trap '' TERM; echo ready; while :; do sleep 0.05; done", "setsid sleep 300 & exec cat"].map((script) =>
      bench.talk(script)
    );
    await until("all of them run", () => bench.supervisor.live().length === 3);
    await bench[Symbol.asyncDispose]();
    for (const talk of talks) expect(["exited", "cancelled"]).toContain((await talk.ended).outcome.kind);
    expect(taggedPids(bench.runtime)).toEqual([]);
    const late = bench.supervisor.open({
      call: "c",
      launch: { argv: ["cat"], cwd: "/", env: {} },
      line_bytes: 1,
      window_bytes: 1,
      queue_bytes: 1,
      stderr_bytes: 1,
      onLine: () => {},
    });
    expect((await late.ended).outcome).toEqual({ kind: "not_started", reason: "cancelled" });
  }, 15_000);
});

describe("a process that does not keep to it", () => {
  test("ends at a line that is too long, and the end says so", async () => {
    await using bench = openBench();
    const talk = bench.talk("echo ok; head -c 200000 /dev/zero; echo; sleep 300", { line_bytes: 100_000 });
    const run = await talk.ended;
    expect(run.outcome).toEqual({ kind: "cancelled" });
    expect(run.problem).toContain("longer than 100000 bytes");
    expect(talk.lines).toEqual(["ok"]);
    expect(taggedPids(bench.runtime)).toEqual([]);
  });

  test("floods its own pipe, and nobody's memory, while nobody takes its lines", async () => {
    await using bench = openBench();
    let taken = 0;
    // A listener that blocks its thread for a while.
    const talk = bench.talk("yes xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx", {
      window_bytes: 64_000,
      onLine: () => {
        if (++taken === 1) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1000);
      },
    });
    const before = process.memoryUsage().rss;
    await until("some lines were taken", () => taken > 200_000, 15_000);
    expect(process.memoryUsage().rss - before).toBeLessThan(onDeno ? 200_000_000 : 100_000_000);
    talk.close();
    expect((await talk.ended).outcome.kind).toBe("cancelled");
  }, 20_000);

  test("and reads nothing holds only what is sent to it, up to a limit", async () => {
    await using bench = openBench();
    const deaf = bench.talk("echo ready; exec sleep 300", { queue_bytes: 300_000 });
    await deaf.heard(1);
    const line = "x".repeat(99_000);
    const sent = [deaf.send(line), deaf.send(line), deaf.send(line)].map((each) =>
      each.then(() => "taken", (error: Error) => error.message)
    );
    await expect(deaf.send(line)).rejects.toThrow("are waiting");
    const other = bench.talk("exec cat");
    await other.send("hello");
    expect(await other.heard(1)).toEqual(["hello"]);
    deaf.close();
    expect((await deaf.ended).outcome).toEqual({ kind: "cancelled" });
    expect((await Promise.all(sent)).at(-1)).toContain("Cannot send");
    expect((await bench.sh("echo fine")).stdout.text).toBe("fine\n");
  }, 10_000);

  test("and closes its input is still heard", async () => {
    await using bench = openBench();
    const talk = bench.talk("exec 0<&-; echo closed; sleep 0.3; echo still here; sleep 0.2; exit 5");
    await talk.heard(1);
    const answers = await Promise.all([talk.send("a"), talk.send("b")].map((each) => each.then(() => "taken", () => "refused")));
    expect(answers).toContain("refused");
    expect((await talk.ended).outcome).toEqual({ kind: "exited", code: 5 });
    expect(talk.lines).toEqual(["closed", "still here"]);
  });

  test("fails its own conversation alone, and so does a listener that throws", async () => {
    await using bench = openBench();
    const talk = bench.talk("echo one; echo two; exec cat", {
      onLine: () => {
        throw new Error("deaf");
      },
    });
    const run = await talk.ended;
    expect(run.problem).toContain("Who listens to it failed: deaf");
    expect((await bench.sh("echo fine")).stdout.text).toBe("fine\n");
  });
});
