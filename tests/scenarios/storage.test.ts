/**
 * Storage trouble through the whole program: what was told is kept, no tool starts without its intent, the trouble is
 * named, and once it is over the session goes on. Promises P1, P2, P3, P5.
 */
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { existsSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";
import { type Database, openDatabase } from "../../lib/platform/sqlite.ts";
import { isKnown, parseEvent, type SessionEvent } from "../../lib/session/event.ts";
import { createWorkspace, type TestWorkspace } from "../fixtures/workspace.ts";
import { type Ended, ended, orreryCommand, runOrrery, signal, startOrrery } from "../host/orrery.ts";

let workspace: TestWorkspace;
let children: ChildProcess[];
let databases: Database[];

beforeEach(async () => {
  workspace = await createWorkspace();
  children = [];
  databases = [];
  await workspace.tool("case", 'echo "$STELLA_INPUT_ID" >> effects; sleep 0.2; echo done');
});

afterEach(async () => {
  for (const child of children) signal(child, "SIGKILL");
  for (const database of databases) database.close();
  await workspace.remove();
});

const call = (id: string, name = "case") => ({ name, arguments: { id } });
const dataOf = (home: string) => join(home, "data");
const journalOf = (home: string) => join(home, "data/journal.sqlite");
const runFlags = (model: string) => ["run", "--trust-workspace", "--model", model, "--output-format", "stream-json"];

interface Run {
  readonly session: string;
  /** The events that it told of. */
  readonly told: readonly SessionEvent[];
  readonly ending: Ended;
}

/** Runs a prompt to its end; `on` is called with each event it tells of. */
async function run(args: readonly string[], home: string, on: (event: SessionEvent, child: ChildProcess) => void = () => {}): Promise<Run> {
  const child = startOrrery(args, { cwd: workspace.path, home, env: { HOME: workspace.home } });
  children.push(child);
  const told: SessionEvent[] = [];
  let text = "";
  const end = ended(child);
  child.stdout?.on("data", (chunk: string) => {
    const lines = (text + chunk).split("\n");
    text = lines.pop() ?? "";
    for (const line of lines) {
      const value = JSON.parse(line) as object;
      const event = "seq" in value ? parseEvent(value) : null;
      if (event === null || !isKnown(event)) continue;
      told.push(event);
      on(event, child);
    }
  });
  const ending = await end;
  return { session: told[0]?.session ?? "", told, ending };
}

async function eventsOf(session: string, home = workspace.home): Promise<readonly SessionEvent[]> {
  const { stdout } = await runOrrery(["sessions", "events", session], { cwd: workspace.path, home });
  return stdout.split("\n").filter((line) => line !== "").map((line) => parseEvent(JSON.parse(line))).filter(isKnown);
}

function effects(): readonly string[] {
  const path = join(workspace.path, "effects");
  return existsSync(path) ? readFileSync(path, "utf8").split("\n").filter((line) => line !== "") : [];
}

/** What was told is there, as it was told, and the log is whole. */
function checkKept(told: readonly SessionEvent[], events: readonly SessionEvent[]): void {
  expect(events.slice(0, told.length)).toEqual([...told]);
  expect(events.map((event) => event.seq)).toEqual(events.map((_event, index) => index + 1));
  const started = events.flatMap((event) => event.type === "call_started" ? [event.call] : []);
  expect(started.length).toBe(new Set(started).size);
}

async function resume(session: string, home = workspace.home): Promise<readonly SessionEvent[]> {
  const { code, stderr } = await runOrrery(["sessions", "resume", session, "--trust-workspace"], { cwd: workspace.path, home });
  expect([code, stderr]).toEqual([0, expect.any(String)]);
  const events = await eventsOf(session, home);
  expect(events.at(-1)).toMatchObject({ type: "turn_ended", reason: "completed" });
  return events;
}

function lock(home: string): Database {
  const database = openDatabase(journalOf(home), { busy_timeout_ms: 2000 });
  databases.push(database);
  database.exec("BEGIN IMMEDIATE");
  return database;
}

/** What standard error says of the journal: once is enough. */
function troubleIn(stderr: string): readonly string[] {
  return stderr.split("\n").filter((line) => /Journal|journal\.sqlite/.test(line));
}

function integrity(home: string): unknown {
  const database = openDatabase(journalOf(home), { busy_timeout_ms: 2000 });
  const found = database.prepare("PRAGMA integrity_check").get()?.["integrity_check"];
  database.close();
  return found;
}

describe("a journal that another process keeps locked", () => {
  test("for 3 s is waited for, and the turn completes", async () => {
    const model = await workspace.script({ calls: [call("a")] }, { calls: [call("b")] }, { text: "done" });
    let locked = 0;
    const { told, session, ending } = await run([...runFlags(model), "go"], workspace.home, (event) => {
      if (event.type !== "call_spawned" || locked > 0) return;
      locked = performance.now();
      const database = lock(workspace.home);
      setTimeout(() => database.exec("COMMIT"), 3000);
    });
    expect([ending.code, performance.now() - locked >= 3000]).toEqual([0, true]);
    expect(effects()).toEqual(["a", "b"]);
    checkKept(told, await eventsOf(session));
  }, 30_000);

  test("for a minute ends the run with that, no tool starts without its intent, and the session goes on afterwards", async () => {
    // One is locked between the reply and the start of its call, the other while its call runs.
    const hooked = join(workspace.home, "hooked");
    await mkdir(join(hooked, "config"), { recursive: true });
    const settings = {
      hooks: { PreToolUse: [{ matcher: "case", hooks: [{ type: "command", command: "until [ -e locked ]; do sleep 0.02; done" }] }] },
    };
    await writeFile(join(hooked, "config/settings.json"), JSON.stringify(settings));
    const model = await workspace.script({ calls: [call("a"), call("b")] }, { text: "done" });
    const [before, during] = await Promise.all([
      run([...runFlags(model), "go"], hooked, (event) => {
        if (event.type !== "reply_committed" || event.calls.length === 0) return;
        lock(hooked);
        writeFileSync(join(workspace.path, "locked"), "");
      }),
      run([...runFlags(model), "go"], workspace.home, (event) => void (event.type === "call_spawned" && lock(workspace.home))),
    ]);
    for (const { ending } of [before, during]) {
      expect([ending.code, troubleIn(ending.stderr)]).toEqual([1, [expect.stringContaining("locked for 30 s")]]);
    }
    expect(before.told.some((event) => event.type === "call_started")).toBe(false);
    expect(effects()).toEqual(["a"]);
    for (const database of databases) database.exec("COMMIT");

    const later = await resume(before.session, hooked);
    checkKept(before.told, later);
    expect(effects()).toEqual(["a", "a", "b"]);
    const rest = await resume(during.session);
    checkKept(during.told, rest);
    const ends = rest.flatMap((event) => event.type === "call_ended" ? [event.outcome.kind] : []);
    expect(ends).toEqual(["unknown", "exited"]);
    expect(effects()).toEqual(["a", "a", "b", "b"]);
  }, 100_000);
});

describe("whoever is to end at once does not wait for a lock", () => {
  test("that a new session would have to wait for: --timeout", async () => {
    const model = await workspace.script({ calls: [call("a")] }, { text: "done" });
    const args = ["run", "--trust-workspace", "--model", model, "--output-format", "json", "--timeout", "1", "go"];
    await run([...runFlags(model), "go"], workspace.home);
    lock(workspace.home);
    const { ending } = await run(args, workspace.home);
    expect([ending.code, JSON.parse(ending.stdout)]).toEqual([
      124,
      expect.objectContaining({ status: "failed", reason: expect.stringContaining("locked") }),
    ]);
    expect(troubleIn(ending.stderr)).toEqual([expect.stringContaining("locked")]);
    expect(effects()).toEqual(["a"]);
  }, 30_000);

  test("that is held in the middle of a turn: a second signal", async () => {
    await workspace.tool("long", "touch begun; sleep 60");
    const model = await workspace.script({ calls: [call("a", "long")] }, { text: "done" });
    let signalled = 0;
    const { ending } = await run([...runFlags(model), "go"], workspace.home, (event, child) => {
      if (event.type !== "call_spawned") return;
      lock(workspace.home);
      child.stderr?.on("data", (text: string) => {
        if (!text.includes("once more") || signalled > 1) return;
        signalled = 2;
        signal(child, "SIGINT");
      });
      signalled = 1;
      signal(child, "SIGINT");
    });
    expect([ending.code, ending.signal, signalled]).toEqual([130, null, 2]);
    expect(troubleIn(ending.stderr)).toEqual([expect.stringContaining("locked")]);
  }, 25_000);
});

describe("what runs before a session is open", () => {
  const withStart = async (command: string) => {
    await mkdir(join(workspace.home, "config"), { recursive: true });
    const settings = { hooks: { SessionStart: [{ hooks: [{ type: "command", command }] }] } };
    await writeFile(join(workspace.home, "config/settings.json"), JSON.stringify(settings));
    return await workspace.script({ text: "done" });
  };
  const json = (model: string, ...more: string[]) => ["run", "--model", model, "--output-format", "json", ...more, "go"];

  test("is not run where no session can be kept", async () => {
    const model = await withStart("echo ran >> effects");
    expect((await run(json(model), workspace.home)).ending.code).toBe(0);
    expect(effects()).toEqual(["ran"]);
    const database = openDatabase(journalOf(workspace.home), { busy_timeout_ms: 2000 });
    database.exec("ALTER TABLE predecessors RENAME COLUMN session TO sess");
    database.close();
    const { ending } = await run(json(model), workspace.home);
    expect([ending.code, troubleIn(ending.stderr)]).toEqual([1, [expect.stringContaining("its tables are not those of a journal")]]);
    expect(effects()).toEqual(["ran"]);
  });

  test("is ended by --timeout, and the time of the turn is over with it", async () => {
    const model = await withStart("sleep 60");
    const { ending } = await run(json(model, "--timeout", "1"), workspace.home);
    expect(ending.stderr).not.toContain("Warning");
    expect([ending.code, JSON.parse(ending.stdout)]).toEqual([
      124,
      expect.objectContaining({ status: "stopped", reason: "wall clock of 1 s reached" }),
    ]);
  }, 25_000);

  test("is ended by a second signal", async () => {
    const model = await withStart("touch begun; sleep 60");
    const child = startOrrery(json(model), { cwd: workspace.path, home: workspace.home, env: { HOME: workspace.home } });
    children.push(child);
    const end = ended(child);
    let asked = false;
    child.stderr?.on("data", (text: string) => {
      if (!text.includes("once more") || asked) return;
      asked = true;
      signal(child, "SIGINT");
    });
    while (!existsSync(join(workspace.path, "begun"))) await new Promise((resolve) => setTimeout(resolve, 10));
    signal(child, "SIGINT");
    const ending = await end;
    expect([ending.code, JSON.parse(ending.stdout)]).toEqual([
      130,
      expect.objectContaining({ status: "cancelled", reason: "SIGINT received" }),
    ]);
  }, 25_000);
});

/** A shell that sees its own mounts only, with the rights to make them; null where that is not allowed. */
function namespaceShell(): readonly string[] | null {
  const shell = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c"];
  const [program = "", ...args] = shell;
  const works = spawnSync(program, [...args, 'mount -t tmpfs none "$0"', tmp()], { stdio: "ignore" }).status === 0;
  return works ? shell : null;
}

function tmp(): string {
  return process.env["TMPDIR"] ?? "/tmp";
}

const namespace = namespaceShell();
const withMounts = (title: string, body: () => Promise<void>, timeout: number) =>
  namespace === null ? test.skip(`${title} (not here: no right to mount in a namespace)`, body, timeout) : test(title, body, timeout);

/** Runs a shell text in which `"$@"` is the program. */
async function shell(before: readonly string[], text: string, env: Readonly<Record<string, string>> = {}): Promise<Ended> {
  const [program = "", ...args] = [...before, text, "sh", ...orreryCommand()];
  const { home, path } = workspace;
  const child = spawn(program, args, {
    cwd: path,
    stdio: ["ignore", "pipe", "pipe"],
    env: { PATH: process.env["PATH"] ?? "", HOME: home, ORRERY_HOME: home, DENO_NO_UPDATE_CHECK: "1", DATA: dataOf(home), ...env },
  });
  children.push(child);
  return await ended(child);
}

function toEvents(jsonLines: string): readonly SessionEvent[] {
  return jsonLines.split("\n").filter((line) => line !== "").map((line) => JSON.parse(line) as object).filter((value) => "seq" in value)
    .map((value) => parseEvent(value)).filter(isKnown);
}

describe("a disk that is full", () => {
  withMounts("ends the run with that, keeps what was told, and the session goes on once there is space", async () => {
    await mkdir(dataOf(workspace.home));
    await workspace.tool("fill", 'echo fill >> effects; head -c 50000000 /dev/zero > "$DATA/filler"; head -c 50000 /dev/zero | tr "\\0" x');
    const model = await workspace.script({ calls: [call("a"), call("f", "fill"), call("b")] }, { text: "done" });
    const { stdout, stderr } = await shell(
      namespace ?? [],
      `mount -t tmpfs -o size=4m none "$DATA"
       "$@" run --trust-workspace --model "$MODEL" --output-format stream-json go > told.jsonl 2> trouble
       echo "run $?"
       rm "$DATA/filler"
       session=$("$@" sessions list --json | sed 's/.*"session":"\\(ses_[^"]*\\)".*/\\1/')
       "$@" sessions resume "$session" --trust-workspace 2>&1
       echo "resume $?"
       "$@" sessions events "$session" > kept.jsonl`,
      { MODEL: model },
    );
    const read = (name: string) => readFileSync(join(workspace.path, name), "utf8");
    expect([stdout, stderr]).toEqual([expect.stringMatching(/^run 1\n[\s\S]*resume 0\n$/), expect.any(String)]);
    expect(troubleIn(read("trouble"))).toEqual([expect.stringContaining("its disk is full: free some space there")]);
    expect(read("trouble")).toMatch(/The turn is left open: .* sessions resume ses_/);
    const kept = toEvents(read("kept.jsonl"));
    checkKept(toEvents(read("told.jsonl")), kept);
    expect(kept.flatMap((event) => event.type === "call_ended" ? [event.outcome.kind] : [])).toEqual(["exited", "unknown", "exited"]);
    expect(effects()).toEqual(["a", "fill", "b"]);
  }, 60_000);

  test("or a limit on the size of files: likewise", async () => {
    await workspace.tool("much", "echo much >> effects; head -c 60000 /dev/zero | tr '\\0' x");
    const model = await workspace.script(...Array.from({ length: 30 }, (_none, n) => ({ calls: [call(String(n), "much")] })), {
      text: "done",
    });
    // Blocks are of 512 bytes, or of 1024 in some shells.
    const limited = await shell(
      ["sh", "-c"],
      `trap '' XFSZ; ulimit -f 700; "$@" run --trust-workspace --model "$MODEL" --output-format stream-json go 2> trouble`,
      { MODEL: model },
    );
    expect(limited.code).toBe(1);
    expect(readFileSync(join(workspace.path, "trouble"), "utf8")).toMatch(/Cannot use the journal ".*journal.sqlite"/);
    const told = toEvents(limited.stdout);
    const begun = effects().length;
    const events = await resume(told[0]?.session ?? "");
    checkKept(told, events);
    expect(begun).toBeGreaterThan(1);
    expect(effects()).toHaveLength(30);
    expect(integrity(workspace.home)).toBe("ok");
  }, 60_000);
});

describe("a journal that cannot be used", () => {
  withMounts("as its folder is read-only: nothing is run, and what would be right is said", async () => {
    const model = await workspace.script({ calls: [call("a")] }, { text: "done" });
    expect((await run([...runFlags(model), "go"], workspace.home)).ending.code).toBe(0);
    const { code, stderr } = await shell(
      namespace ?? [],
      `mount --bind "$DATA" "$DATA" && mount -o remount,bind,ro "$DATA" && "$@" run --trust-workspace --model "$MODEL" go`,
      { MODEL: model },
    );
    expect([code, stderr]).toEqual([1, expect.stringContaining("must be writable, or ORRERY_HOME name a folder that is")]);
    expect(effects()).toEqual(["a"]);
  }, 30_000);

  test("as its folder cannot be made: likewise", async () => {
    const home = join(workspace.path, "home-is-a-file");
    writeFileSync(home, "");
    const model = await workspace.script({ calls: [call("a")] }, { text: "done" });
    const { ending } = await run([...runFlags(model), "go"], home);
    expect([ending.code, ending.stderr]).toEqual([1, expect.stringMatching(/Cannot use the journal .*: ORRERY_HOME names another folder/)]);
    expect(effects()).toEqual([]);
  });

  test("as a newer program made it: it is left as it is", async () => {
    const model = await workspace.script({ calls: [call("a")] }, { text: "done" });
    await run([...runFlags(model), "go"], workspace.home);
    const database = openDatabase(journalOf(workspace.home), { busy_timeout_ms: 1000 });
    database.exec("PRAGMA user_version = 99; PRAGMA wal_checkpoint(TRUNCATE)");
    database.close();
    const before = readFileSync(journalOf(workspace.home));
    for (const args of [[...runFlags(model), "go"], ["sessions", "list"]]) {
      const { code, stderr } = await runOrrery(args, { cwd: workspace.path, home: workspace.home });
      expect([code, stderr]).toEqual([1, expect.stringContaining("format 99 is newer")]);
    }
    expect(readFileSync(journalOf(workspace.home)).equals(before)).toBe(true);
    expect(effects()).toEqual(["a"]);
  }, 30_000);

  test("as pages of it are destroyed: it is named as damaged, not taken for empty", async () => {
    const model = await workspace.script({ calls: [call("a")] }, { text: "x".repeat(100_000) });
    const { session } = await run([...runFlags(model), "go"], workspace.home);
    const bytes = readFileSync(journalOf(workspace.home));
    writeFileSync(journalOf(workspace.home), bytes.fill(0xab, 8192));
    const { code, stderr } = await runOrrery(["sessions", "events", session], { cwd: workspace.path, home: workspace.home });
    expect([code, stderr]).toEqual([1, expect.stringContaining("it is damaged")]);
  }, 30_000);
});

for (const type of ["prompted", "step_started"]) {
  test(`an event that does not decode (${type}) is named, the others are there, and the session goes on`, async () => {
    const model = await workspace.script({ calls: [call("a")] }, { text: "done" }, { text: "more" });
    const { session, told } = await run([...runFlags(model), "go"], workspace.home);
    const database = openDatabase(journalOf(workspace.home), { busy_timeout_ms: 1000 });
    const damaged = told.find((event) => event.type === type)?.seq ?? 0;
    database.prepare("UPDATE events SET body = '{\"v\":1}' WHERE session = ? AND seq = ?").run(session, damaged);
    database.close();
    const start = { cwd: workspace.path, home: workspace.home };
    const lines = (await runOrrery(["sessions", "events", session], start)).stdout.trimEnd().split("\n").map((line) =>
      JSON.parse(line) as { readonly type: string; readonly seq: number }
    );
    expect(lines.filter((line) => line.type === "damaged").map((line) => line.seq)).toEqual([damaged]);
    expect(lines.map((line) => line.seq)).toEqual(told.map((event) => event.seq));
    const { code, stdout, stderr } = await runOrrery(["run", "--session", session, "--model", model, "-o", "json", "on"], start);
    expect([code, JSON.parse(stdout), stderr]).toEqual([
      0,
      expect.objectContaining({ text: "more", calls: [] }),
      expect.stringContaining(`Event ${damaged} cannot be read`),
    ]);
  }, 30_000);
}

test("a session whose first event does not decode is told as damaged by each command that would go on with it", async () => {
  const model = await workspace.script({ calls: [call("a")] }, { text: "done" });
  const { session } = await run([...runFlags(model), "go"], workspace.home, (event, child) => {
    if (event.type === "call_spawned") signal(child, "SIGKILL");
  });
  const database = openDatabase(journalOf(workspace.home), { busy_timeout_ms: 1000 });
  database.prepare("UPDATE events SET body = '{\"v\":1}' WHERE session = ? AND seq = 1").run(session);
  database.close();
  const start = { cwd: workspace.path, home: workspace.home };
  const commands = [["run", "--session", session, "go"], ["sessions", "resume", session], ["sessions", "cancel", session], [
    "sessions",
    "fork",
    session,
  ]];
  for (const args of commands) {
    const { code, stdout, stderr } = await runOrrery(args, start);
    expect([args, code, stdout, stderr]).toEqual([args, 1, "", expect.stringMatching(/as its first event cannot be read: restore a copy/)]);
  }
}, 30_000);

describe("P3: a call whose start cannot be read", () => {
  const changes: Readonly<Record<string, (body: string) => string>> = {
    "as its row is damaged": () => '{"garbage',
    "as a newer program wrote it": (body) => body.replace('"v":1', '"v":2'),
  };
  for (const [why, change] of Object.entries(changes)) {
    test(`${why}: is not started again by a resume, and its outcome is unknown`, async () => {
      const model = await workspace.script({ calls: [call("a"), call("b")] }, { text: "done" });
      const { session, told } = await run([...runFlags(model), "go"], workspace.home, (event, child) => {
        if (event.type === "call_spawned") signal(child, "SIGKILL");
      });
      const damaged = told.find((event) => event.type === "call_started")?.seq ?? 0;
      const database = openDatabase(journalOf(workspace.home), { busy_timeout_ms: 1000 });
      const { body } = database.prepare("SELECT body FROM events WHERE session = ? AND seq = ?").get(session, damaged) as { body: string };
      expect(body).toContain('"type":"call_started"');
      database.prepare("UPDATE events SET body = ? WHERE session = ? AND seq = ?").run(change(body), session, damaged);
      database.close();
      const start = { cwd: workspace.path, home: workspace.home };
      const { code, stderr } = await runOrrery(["sessions", "resume", session, "--trust-workspace"], start);
      expect([code, stderr]).toEqual([0, expect.stringContaining(`Event ${damaged} cannot be read`)]);
      const lines = (await runOrrery(["sessions", "events", session], start)).stdout.trimEnd().split("\n").map((line) =>
        JSON.parse(line) as { readonly type: string; readonly call?: string; readonly outcome?: { readonly kind: string } }
      );
      const first = told.find((event) => event.type === "call_allowed")?.call;
      expect(lines.filter((line) => line.type === "call_started").map((line) => line.call)).not.toContain(first);
      expect(lines.filter((line) => line.type === "call_ended").map((line) => line.outcome?.kind)).toEqual(["unknown", "exited"]);
      expect(effects().filter((effect) => effect === "a").length).toBeLessThan(2);
      expect(effects()).toContain("b");
    }, 30_000);
  }
});

describe("a journal whose folder goes away while it is used", () => {
  test("ends the run with that instead of writing into nothing, and what was told is there when it is back", async () => {
    await workspace.tool("away", 'echo away >> effects; mv "$ORRERY_HOME/data" "$ORRERY_HOME/gone"');
    const model = await workspace.script({ calls: [call("a"), call("w", "away"), call("b")] }, { text: "done" });
    const { session, told, ending } = await run([...runFlags(model), "go"], workspace.home);
    expect([ending.code, ending.stderr]).toEqual([1, expect.stringContaining("was moved or removed while it was in use")]);
    expect(effects()).toEqual(["a", "away"]);
    rmSync(dataOf(workspace.home), { recursive: true, force: true });
    renameSync(join(workspace.home, "gone"), dataOf(workspace.home));
    checkKept(told, await resume(session));
    expect(effects()).toEqual(["a", "away", "b"]);
    expect(integrity(workspace.home)).toBe("ok");
  }, 30_000);

  test("for good: likewise, and nothing runs on", async () => {
    await workspace.tool("away", 'echo away >> effects; rm -rf "$ORRERY_HOME/data"');
    const model = await workspace.script({ calls: [call("w", "away"), call("b")] }, { text: "done" });
    const { ending } = await run([...runFlags(model), "go"], workspace.home);
    expect([ending.code, ending.stderr]).toEqual([1, expect.stringContaining("was moved or removed while it was in use")]);
    expect(effects()).toEqual(["away"]);
  }, 30_000);
});

describe("processes that share a journal", () => {
  test("eight of them with 20 calls each all complete, and the file is sound", async () => {
    await workspace.tool("quick", 'echo "$STELLA_INPUT_ID" >> effects');
    const scripts = await Promise.all(
      Array.from(
        { length: 8 },
        (_none, runtime) =>
          workspace.script(...Array.from({ length: 20 }, (_each, n) => ({ calls: [call(`${runtime}-${n}`, "quick")] })), { text: "done" }),
      ),
    );
    const runs = await Promise.all(scripts.map((model) => run([...runFlags(model), "go"], workspace.home)));
    expect(runs.map(({ ending }) => [ending.code, ending.stderr])).toEqual(runs.map(() => [0, expect.any(String)]));
    expect(effects()).toHaveLength(160);
    expect(new Set(effects()).size).toBe(160);
    for (const { session, told } of runs) checkKept(told, await eventsOf(session));
    expect(integrity(workspace.home)).toBe("ok");
  }, 120_000);

  test("two that want to drive one session: one does, the other is told who, and nothing of both is mixed", async () => {
    await workspace.tool("wait", "while [ ! -e go-on ]; do sleep 0.02; done; echo waited");
    const model = await workspace.script({ text: "ready" }, { calls: [call("x", "wait")] }, { text: "done" });
    const { session } = await run([...runFlags(model), "first"], workspace.home);
    const running = Promise.withResolvers<number>();
    const first = run(["run", "--session", session, ...runFlags(model).slice(1), "second"], workspace.home, (event, child) => {
      if (event.type === "call_spawned") running.resolve(child.pid ?? 0);
    });
    const holder = await running.promise;
    const start = { cwd: workspace.path, home: workspace.home };
    const refused = await Promise.all([
      runOrrery(["run", "--session", session, "--model", model, "third"], start),
      runOrrery(["sessions", "resume", session], start),
    ]);
    for (const { code, stdout, stderr } of refused) {
      expect([code, stdout, stderr]).toEqual([1, "", expect.stringContaining(`process ${holder}`)]);
    }
    await workspace.write("go-on", "");
    expect((await first).ending.code).toBe(0);
    const events = await eventsOf(session);
    expect(events.flatMap((event) => event.type === "prompted" ? [event.text] : [])).toEqual(["first", "second"]);
    expect(events.map((event) => event.seq)).toEqual(events.map((_event, index) => index + 1));
  }, 60_000);
});
