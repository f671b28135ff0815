/** `orrery serve` as its users meet it: a process that is started, asked, told to stop, killed, and started again. */
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { mkdir, rmdir, symlink, unlink, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import process from "node:process";
import { setTimeout as sleep } from "node:timers/promises";
import type { ApiProblem } from "../../lib/http/client-request.ts";
import type { ClientEvent } from "../../lib/http/client-events.ts";
import { isAlive } from "../fixtures/alive.ts";
import { httpClientExample, runPython } from "../fixtures/python.ts";
import { endServing, type Serving, startServing } from "../fixtures/serving.ts";
import { createWorkspace, type TestWorkspace } from "../fixtures/workspace.ts";
import { ended, runOrrery, signal, startOrrery } from "../host/orrery.ts";

const LIMIT = 30_000;
let workspace: TestWorkspace;

beforeEach(async () => {
  workspace = await createWorkspace();
});
afterEach(async () => {
  await endServing();
  await workspace.remove();
});

const at = (name: string) => join(workspace.path, name);
const call = (name: string, input: object = {}) => ({ name, arguments: input });
const bash = (command: string) => ({ calls: [call("bash", { command })] });

async function serving(replies: readonly object[], ...args: string[]): Promise<Serving> {
  return await startServing(workspace, ["--trust-workspace", "--model", await workspace.script(...replies), ...args]);
}

async function appears(name: string): Promise<void> {
  while (!existsSync(at(name))) await sleep(20);
}

/** The same server again, where it was. */
async function again(before: Serving, replies: readonly object[] = [], ...args: string[]): Promise<Serving> {
  return await serving(replies, "--port", before.port, ...args);
}

function descendantsOf(pid: number): readonly number[] {
  const threads = readdirSync(`/proc/${pid}/task`);
  const children = threads.flatMap((thread) =>
    readFileSync(`/proc/${pid}/task/${thread}/children`, "utf8").trim().split(" ").filter((each) => each !== "")
  );
  return children.map(Number).flatMap((each) => [each, ...descendantsOf(each)]);
}

/** One that the end of another has ended is gone. */
function ask(pid: number): void {
  try {
    process.kill(pid, "SIGTERM");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}

const BAD_GATEWAY = "HTTP/1.1 502 Bad Gateway\r\nConnection: close\r\nContent-Length: 0\r\n\r\n";
const numbers = (events: readonly ClientEvent[]) => events.flatMap((event) => "seq" in event ? [event.seq] : []);
const upTo = (last: number) => Array.from({ length: last }, (_each, index) => index + 1);

describe("orrery serve", () => {
  test("prints one line when it listens, logs to standard error without content, and ends with 0", async () => {
    await workspace.tool("hello", "echo canary-output");
    const server = await serving([{ text: "canary-reply", calls: [call("hello")] }, { text: "done" }], "--mode", "yolo");
    const ready = JSON.parse(server.line) as Record<string, unknown>;
    expect(Object.keys(ready)).toEqual(["schema_version", "url", "token_file", "login_url"]);
    expect(server.url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
    expect(String(ready["login_url"])).toStartWith(`${server.url}/#login=`);
    expect(statSync(String(ready["token_file"])).mode & 0o777).toBe(0o600);

    const { session, seq } = await server.client.create({});
    const seen = await Array.fromAsync(server.client.run(session, "canary-prompt"));
    expect(numbers(seen)).toEqual(upTo(seq + numbers(seen).length).slice(seq));
    expect((await server.client.state(session)).calls).toMatchObject([{ name: "hello", result: { text: "canary-output\n" } }]);

    const { code, stdout, stderr } = await server.end("SIGTERM");
    expect([code, stdout]).toEqual([0, `${server.line}\n`]);
    const messages = stderr.trim().split("\n").map((line) => (JSON.parse(line) as { message: string }).message);
    expect([messages[0], messages.at(-1)]).toEqual(["Listening", "Stopped"]);
    expect(stderr).not.toContain("canary");
    for (const text of [stdout, stderr]) expect(text).not.toContain(server.token);
  }, LIMIT);

  // As systemd does with KillMode=control-group, which the unit of the documents has.
  test.skipIf(process.platform !== "linux")(
    "a SIGTERM for it and all beneath it (found by /proc: Linux) ends the calls that run, and their turns still go on",
    async () => {
      await workspace.tool("slow", "touch started; sleep 60");
      const server = await serving([{ calls: [call("slow")] }, { text: "It was ended." }], "--mode", "yolo");
      const { session } = await server.client.create({});
      const turn = Array.fromAsync(server.client.run(session, "go")).catch(() => []);
      await appears("started");
      const { pid = 0 } = server.child;
      for (const each of [pid, ...descendantsOf(pid)]) ask(each);
      const [{ code }] = await Promise.all([server.ended, turn]);
      expect(code).toBe(0);
      const { stdout } = await runOrrery(["sessions", "show", session, "--json"], { cwd: workspace.path, home: workspace.home });
      const events = await runOrrery(["sessions", "events", session], { cwd: workspace.path, home: workspace.home });
      const recorded = events.stdout.trim().split("\n").map((line) => JSON.parse(line) as Record<string, unknown>);
      expect(recorded.find(({ type }) => type === "call_ended")).toMatchObject({ outcome: { kind: "signalled", signal: "SIGTERM" } });
      expect(recorded.findLast(({ type }) => type === "turn_ended")).toMatchObject({ reason: "completed" });
      expect(stdout).toContain("It was ended.");
    },
    LIMIT,
  );

  test("says in words where it listens, where the token is, and how a browser signs in", async () => {
    const child = startOrrery(["serve", "--port", "0", "--log-format", "text"], { cwd: workspace.path, home: workspace.home });
    const end = ended(child);
    const ready = new Promise<void>((resolve) => {
      let text = "";
      child.stdout?.on("data", (part: string) => (text += part).includes("(once)\n") && resolve());
    });
    await Promise.race([ready, end]);
    signal(child, "SIGTERM");
    const { code, stdout, stderr } = await end;
    expect(code).toBe(0);
    const url = /^Listening on (http:\/\/127\.0\.0\.1:\d+)$/m.exec(stdout)?.[1] ?? "none";
    expect(stdout.split("\n").slice(1, 3)).toEqual([
      `Token:   ${join(workspace.home, "data/server.token")}`,
      expect.stringMatching(/^Sign in: http:\/\/127\.0\.0\.1:\d+\/#login=\S{43} \(once\)$/),
    ]);
    expect(stderr).toMatch(new RegExp(`^\\S+Z info orrery\\.server: Listening url=${url}$`, "m"));
  }, LIMIT);

  test("refuses what it cannot be started with, before it listens", async () => {
    await writeFile(join(workspace.home, "open.token"), "a-token-that-all-can-read", { mode: 0o644 });
    const refused = (...args: string[]) => runOrrery(["serve", ...args], { cwd: workspace.path, home: workspace.home });
    const { port } = await serving([]);
    const refusals: readonly (readonly [number, string, readonly string[]])[] = [
      [2, "--token-file", ["--host", "0.0.0.0"]],
      [2, "does not exist", ["--workspace", at("missing")]],
      [2, "does not exist", ["--workspace", workspace.path, "--workspace", at("missing")]],
      [2, "must be a port", ["--port", "65536"]],
      [5, "others may read it", ["--token-file", join(workspace.home, "open.token")]],
      [5, `Cannot listen on 127.0.0.1:${port}`, ["--port", port]],
    ];
    for (const [code, text, args] of refusals) {
      const end = await refused(...args);
      expect([args, end.code, end.stdout, end.stderr.includes(text)]).toEqual([args, code, "", true]);
    }
    await mkdir(join(workspace.home, "config"), { recursive: true });
    await writeFile(join(workspace.home, "config/settings.json"), '{ "mode": 7 }');
    expect((await refused("--port", "0")).code).toBe(5);
  }, LIMIT);

  test("serves several folders: a session works in the first or where it says, and each folder's tools are trusted", async () => {
    const [one, two] = [at("one"), at("two")];
    for (const folder of ["one", "two"]) {
      await mkdir(at(`${folder}/.stella/tools`), { recursive: true });
      await workspace.write(`${folder}/.stella/tools/where.toml`, 'name = "where"\ndescription = "Says where."\ncommand = ["/bin/pwd"]\n');
    }
    const server = await serving([{ calls: [call("where")] }, { text: "done" }], "--mode", "yolo", "--workspace", one, "--workspace", two);
    expect((await server.client.capabilities()).workspaces).toEqual([one, two]);
    for (const [workspace, place] of [[undefined, one], [two, two]] as const) {
      const { session } = await server.client.create(workspace === undefined ? {} : { workspace });
      await Array.fromAsync(server.client.run(session, "go"));
      expect((await server.client.state(session)).calls[0]?.result?.text).toBe(`${place}\n`);
    }
    const outside = await server.client.create({ workspace: workspace.path }).catch((error: { code: string }) => error);
    expect(outside).toMatchObject({ name: "ApiProblem", status: 422, code: "unacceptable" });
  }, LIMIT);

  test("asks in mode normal, unless a session or the server says otherwise", async () => {
    const server = await serving([bash("touch made"), { text: "done" }]);
    const { session, mode } = await server.client.create({});
    expect(mode).toBe("normal");
    for await (const event of server.client.run(session, "go")) {
      if (event.type === "approval_requested") await server.client.answer(session, event.call, { decision: "deny" });
    }
    expect(existsSync(at("made"))).toBe(false);
    const free = await server.client.create({ mode: "yolo" });
    await Array.fromAsync(server.client.run(free.session, "go"));
    expect(existsSync(at("made"))).toBe(true);
  }, LIMIT);
});

describe("a server that is told to stop", () => {
  test("lets a running turn finish, tells its followers to the end, and exits with 0", async () => {
    const server = await serving([bash("touch begun; while [ ! -e open ]; do sleep 0.02; done"), { text: "finished" }], "--mode", "yolo");
    const { session } = await server.client.create({});
    const events = Array.fromAsync(server.client.run(session, "go"));
    await appears("begun");
    signal(server.child, "SIGTERM");
    let status = 200;
    while (status === 200) status = (await fetch(`${server.url}/readyz`)).status;
    expect(status).toBe(503);
    await workspace.write("open", "");
    expect((await events).at(-1)).toMatchObject({ type: "turn_ended", reason: "completed" });
    expect((await server.ended).code).toBe(0);
  }, LIMIT);

  test("stops what does not finish within the time it is given, and says so by its exit code", async () => {
    const server = await serving([bash("echo $$ > pid; exec sleep 600")], "--mode", "yolo", "--drain", "0.1");
    const { session } = await server.client.create({});
    await server.client.prompt(session, "go");
    await appears("pid");
    const { code, stderr } = await server.end("SIGTERM");
    expect(code).toBe(143);
    expect(stderr).toContain('"turns_cut_off":1');
    expect(isAlive(Number(readFileSync(at("pid"), "utf8")))).toBe(false);
  }, LIMIT);

  test("twice stops at once", async () => {
    const server = await serving([bash("echo $$ > pid; exec sleep 600")], "--mode", "yolo", "--drain", "600");
    const { session } = await server.client.create({});
    await server.client.prompt(session, "go");
    await appears("pid");
    signal(server.child, "SIGINT");
    while ((await fetch(`${server.url}/readyz`)).status === 200);
    expect((await server.end("SIGINT")).code).toBe(130);
    expect(isAlive(Number(readFileSync(at("pid"), "utf8")))).toBe(false);
  }, LIMIT);

  test("by a terminal that goes away stops too, unless it was started to outlive that", async () => {
    const model = await workspace.script({ text: "done" });
    const deaf = await startServing(workspace, ["--model", model], ["/bin/sh", "-c", 'trap "" HUP; exec "$@"', "sh"]);
    process.kill(deaf.child.pid ?? 0, "SIGHUP");
    const { session } = await deaf.client.create({});
    expect((await Array.fromAsync(deaf.client.run(session, "go"))).at(-1)).toMatchObject({ reason: "completed" });
    expect((await deaf.end("SIGTERM")).code).toBe(0);
    const other = await startServing(workspace, ["--model", model]);
    process.kill(other.child.pid ?? 0, "SIGHUP");
    expect(await other.ended).toMatchObject({ code: 0, signal: null });
  }, LIMIT);

  test("leaves a question open, and the next server asks it", async () => {
    const replies = [bash("echo x >> made"), { text: "done" }];
    const server = await serving(replies);
    const { session } = await server.client.create({});
    const events: ClientEvent[] = [];
    for await (const event of server.client.run(session, "go")) {
      events.push(event);
      if (event.type === "approval_requested") break;
    }
    expect((await server.end("SIGTERM")).code).toBe(0);
    await answersAfterRestart(server, session, Math.max(...numbers(events)));
  }, LIMIT);
});

describe("a server that is killed", () => {
  test("leaves a question open, and the next server asks it", async () => {
    const server = await serving([bash("echo x >> made"), { text: "done" }]);
    const { session } = await server.client.create({});
    const events: ClientEvent[] = [];
    for await (const event of server.client.run(session, "go")) {
      events.push(event);
      if (event.type === "approval_requested") break;
    }
    await server.end("SIGKILL");
    await answersAfterRestart(server, session, Math.max(...numbers(events)));
  }, LIMIT);

  test("and started again goes on with clients that never noticed: every event once, nothing run twice", async () => {
    const replies = [bash("echo x >> runs; echo $$ > pid; exec sleep 600"), bash("echo y >> runs"), { text: "picked up" }];
    const server = await serving(replies, "--mode", "yolo");
    const { session, seq } = await server.client.create({});
    const events = Array.fromAsync(server.client.run(session, "go"));
    const watching = Array.fromAsync(untilEnd(server.client.follow(session)));
    await appears("pid");
    await server.end("SIGKILL");
    await again(server, [], "--mode", "yolo");
    const seen = await events;
    expect(seen.at(-1)).toMatchObject({ type: "turn_ended", reason: "completed" });
    expect(numbers(seen)).toEqual(upTo(seq + numbers(seen).length).slice(seq));
    expect(numbers(await watching)).toEqual(upTo(seq + numbers(seen).length));
    expect(seen.filter((event) => event.type === "call_ended").map((event) => event.type === "call_ended" && event.outcome.kind)).toEqual([
      "unknown",
      "exited",
    ]);
    expect(readFileSync(at("runs"), "utf8")).toBe("x\ny\n");
    while (isAlive(Number(readFileSync(at("pid"), "utf8")))) await sleep(50);
  }, LIMIT);

  test("knows a prompt by its key afterwards: sent again it begins nothing", async () => {
    const server = await serving([{ text: "done" }, { text: "never" }]);
    const { session } = await server.client.create({});
    const key = { idempotency_key: "one" };
    expect(await server.client.prompt(session, "go", key)).toEqual({ turn: 1 });
    await Array.fromAsync(untilEnd(server.client.follow(session)));
    await server.end("SIGKILL");
    const { client } = await again(server);
    const { seq } = await client.state(session);
    expect(await client.prompt(session, "go", key)).toEqual({ turn: 1 });
    expect(await client.prompt(session, "stop", key).catch((error: { code: string }) => error.code)).toBe("key_reused");
    expect((await client.state(session)).seq).toBe(seq);
  }, LIMIT);

  test("works in no folder that leads elsewhere by then, and plays no file that it was not started with", async () => {
    const server = await serving([bash("touch made"), { text: "done" }], "--mode", "yolo");
    await mkdir(at("inner"));
    const { session } = await server.client.create({ workspace: at("inner") });
    const refusal = (work: Promise<unknown>) =>
      work.then(() => "none", ({ code, errors }: ApiProblem) => [code, ...errors.map(({ pointer }) => pointer)].join(" "));
    await rmdir(at("inner"));
    await symlink(workspace.home, at("inner"));
    expect(await refusal(server.client.prompt(session, "go"))).toBe("workspace_gone");
    expect(await refusal(server.client.create({ workspace: at("inner") }))).toBe("unacceptable /workspace");
    expect(await refusal(server.client.create({ model: await workspace.script({ text: "another" }) }))).toBe("unacceptable /model");
    await server.end("SIGKILL");
    const { client } = await again(server, [bash("touch made"), { text: "done" }], "--mode", "yolo");
    expect(await refusal(client.prompt(session, "go"))).toBe("workspace_gone");
    expect(existsSync(join(workspace.home, "made"))).toBe(false);
    await unlink(at("inner"));
    await mkdir(at("inner"));
    const seen = await Array.fromAsync(client.run(session, "go"));
    expect(seen.at(-1)).toMatchObject({ type: "turn_ended", reason: "completed" });
    expect(existsSync(at("inner/made"))).toBe(true);
  }, LIMIT);

  test("is waited for by clients while it is away", async () => {
    const server = await serving([{ text: "done" }]);
    const { session } = await server.client.create({});
    const watching = Array.fromAsync(untilEnd(server.client.follow(session)));
    await server.end("SIGKILL");
    // Something else is on its port for a while, and it is no server of ours.
    const stranger = createServer((socket) => void socket.on("error", () => undefined).resume().end(BAD_GATEWAY));
    await new Promise<void>((resolve) => void stranger.listen(Number(server.port), "127.0.0.1", () => resolve()));
    await new Promise<void>((resolve) => void stranger.once("connection", () => resolve()));
    await new Promise<void>((resolve) => void stranger.close(() => resolve()));
    const next = await again(server, []);
    await next.client.prompt(session, "go");
    expect(numbers(await watching)).toEqual(upTo((await next.client.state(session)).seq));
  }, LIMIT);
});

test("the example in Python goes on over a restart of the server", async () => {
  const server = await serving([bash("touch begun; exec sleep 600"), { text: "picked up" }], "--mode", "yolo");
  const { token_file } = JSON.parse(server.line) as { readonly token_file: string };
  const running = runPython([httpClientExample, server.url, token_file, "go"], workspace.path);
  await appears("begun");
  await server.end("SIGKILL");
  await again(server, [], "--mode", "yolo");
  const { code, stdout } = await running;
  expect([code, stdout]).toEqual([0, "\npicked up\n"]);
}, LIMIT);

async function* untilEnd(events: AsyncIterable<ClientEvent>): AsyncGenerator<ClientEvent, void> {
  for await (const event of events) {
    yield event;
    if (event.type === "turn_ended") return;
  }
}

/** Whoever had seen the events up to `seen` finds the question in the state, resumes, answers, and sees the rest once. */
async function answersAfterRestart(before: Serving, session: string, seen: number): Promise<void> {
  const { client } = await again(before);
  const state = await client.state(session);
  expect(state).toMatchObject({ status: "interrupted", approvals: [{ name: "bash", input: { command: "echo x >> made" } }] });
  expect(existsSync(at("made"))).toBe(false);
  const [question] = state.approvals;
  expect(await client.answer(session, question?.call ?? "", { decision: "allow" }).catch((error: { code: string }) => error.code)).toBe(
    "interrupted",
  );
  const rest = Array.fromAsync(untilEnd(client.follow(session, { after: seen })));
  await client.resume(session);
  await client.answer(session, question?.call ?? "", { decision: "allow" });
  const events = await rest;
  expect(events.at(-1)).toMatchObject({ type: "turn_ended", reason: "completed" });
  expect(numbers(events)).toEqual(upTo(seen + numbers(events).length).slice(seen));
  expect(readFileSync(at("made"), "utf8")).toBe("x\n");
}

test("the token of a server reaches neither its tools nor any command line", async () => {
  await writeFile(join(workspace.home, "own.token"), "a-canary-of-a-token-0\n", { mode: 0o600 });
  // Up from the command to the server, then all that the server has started: nobody else's processes are looked at.
  const look = [
    "env; p=$$",
    "while [ $p -gt 1 ]; do tr '\\0' ' ' < /proc/$p/cmdline; grep -qz '^serve$' /proc/$p/cmdline && break",
    "p=$(sed -n 's/^PPid:[[:space:]]*//p' /proc/$p/status); done; echo reached $(tr '\\0' ' ' < /proc/$p/cmdline | grep -c ' serve ')",
    "for each in $(grep -ls \"^PPid:[[:space:]]*$p$\" /proc/[0-9]*/status); do tr '\\0' ' ' < ${each%status}cmdline; done 2>/dev/null",
  ].join("; ");
  const server = await serving([bash(look), { text: "done" }], "--mode", "yolo", "--token-file", join(workspace.home, "own.token"));
  expect(server.token).toBe("a-canary-of-a-token-0");
  const { session } = await server.client.create({});
  await Array.fromAsync(server.client.run(session, "go"));
  const [ran] = (await server.client.state(session)).calls;
  expect(ran?.result?.text).toContain("PATH=");
  expect(ran?.result?.text).toContain("reached 1");
  expect(ran?.result?.text).not.toContain("canary");
}, LIMIT);
