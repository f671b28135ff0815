/** What may run, as a person meets it: modes, hooks, trust, switches and the organisation's ceiling, through the whole program. */
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { chmod, mkdir, rename, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { isAlive } from "../fixtures/alive.ts";
import { createWorkspace, type TestWorkspace } from "../fixtures/workspace.ts";
import { runOrrery } from "../host/orrery.ts";

const LIMIT = 60_000;

let workspace: TestWorkspace;
beforeEach(async () => {
  workspace = await createWorkspace();
  await mkdir(join(workspace.home, "config"), { recursive: true });
});
afterEach(() => workspace.remove());

const start = (env: Readonly<Record<string, string>> = {}) => ({ cwd: workspace.path, home: workspace.home, env });
const orrery = (...args: readonly string[]) => runOrrery(args, start());
const there = (name: string) => existsSync(join(workspace.path, name));
const userSettings = (settings: object) => writeFile(join(workspace.home, "config/settings.json"), JSON.stringify(settings));
const projectSettings = (settings: object) => workspace.write(".orrery/settings.json", JSON.stringify(settings));

interface Called {
  readonly is_error: boolean;
  readonly text: string;
  readonly outcome: { readonly kind: string };
  readonly refusal?: { readonly by: string; readonly reason: string };
}

async function call(name: string, input: object, ...args: readonly string[]) {
  const { code, stdout } = await orrery("tools", "call", name, "--json", "--input", JSON.stringify(input), ...args);
  return { code, ...JSON.parse(stdout) as Called };
}

interface Ran {
  readonly status: string;
  readonly session: string;
  readonly text: string;
  readonly calls: readonly { readonly name: string; readonly is_error: boolean; readonly outcome: { readonly kind: string } }[];
  readonly events: readonly {
    readonly type: string;
    readonly by?: string;
    readonly reason?: string;
    readonly result?: { readonly text: string };
  }[];
}

async function run(replies: readonly object[], ...args: readonly string[]) {
  const model = await workspace.script(...replies);
  const { code, stdout, stderr } = await orrery("run", "--model", model, "--output-format", "json", "--events", ...args, "go");
  return { code, stderr, ...JSON.parse(stdout) as Ran };
}

const calls = (...each: readonly (readonly [name: string, input: object])[]) => ({
  calls: each.map(([name, input]) => ({ name, arguments: input })),
});
const DONE = { text: "done" };
const guard = (command: string, matcher?: string) => ({
  hooks: { PreToolUse: [{ ...(matcher === undefined ? {} : { matcher }), hooks: [{ type: "command", command, timeoutMs: 1000 }] }] },
});

describe("what an organisation and a project take away", () => {
  test("a limit of time is not lifted by --timeout", async () => {
    await writeFile(join(workspace.home, "managed.json"), JSON.stringify({ limits: { timeout_s: 1 } }));
    const model = await workspace.script(calls(["bash", { command: "sleep 30" }]), DONE);
    const managed = start({ ORRERY_MANAGED_SETTINGS: join(workspace.home, "managed.json") });
    const { code, stdout } = await runOrrery(["run", "--model", model, "--timeout", "100", "--output-format", "json", "go"], managed);
    expect([code, (JSON.parse(stdout) as Ran).status]).toEqual([124, "stopped"]);
  }, LIMIT);

  test("an off of one file is not lifted by another's on that nobody trusts", async () => {
    await projectSettings({ tools: { "*": "off" } });
    await workspace.write(".stella/settings.json", JSON.stringify({ tools: { bash: "on" } }));
    expect(await call("bash", { command: "touch canary" })).toMatchObject({ code: 4 });
    expect(there("canary")).toBe(false);
  }, LIMIT);

  test("a server's token in the workspace is not told to a tool", async () => {
    await mkdir(join(workspace.home, "data"), { recursive: true });
    await writeFile(join(workspace.home, "data/server.token"), "tok3n-abc\n", { mode: 0o600 });
    const path = "data/server.token";
    for (const [name, input] of [["read_file", { path }], ["search", { query: "tok3n-a" }]] as const) {
      const { text } = await call(name, input, "--workspace", workspace.home);
      expect(text).not.toContain("tok3n-abc");
    }
    expect((await call("read_file", { path }, "--workspace", workspace.home)).text).toContain("secret of the runtime");
  }, LIMIT);
});

describe("a mode", () => {
  test("hides in the listing what it never lets run, also what is always allowed", async () => {
    await userSettings({ alwaysAllow: ["bash"] });
    const status = async (mode: string) => {
      const { stdout } = await orrery("tools", "--mode", mode, "--json");
      const { tools } = JSON.parse(stdout) as { tools: { name: string; status: string; reason?: string }[] };
      return ["read_file", "write_file", "bash"].map((name) => tools.find((tool) => tool.name === name)).map((tool) =>
        tool?.reason ?? tool?.status
      );
    };
    const hidden = "not available in mode ";
    expect(await status("plan")).toEqual(["offered", `${hidden}plan`, `${hidden}plan`]);
    expect(await status("headless")).toEqual(["offered", `${hidden}headless`, `${hidden}headless`]);
    expect(await status("normal")).toEqual(["offered", "offered", "offered"]);
    const { stdout } = await orrery("tools", "--mode", "plan");
    expect(stdout).toContain("hidden: not available in mode plan");
    expect(stdout).not.toContain("does not ask");
  }, LIMIT);

  test("decides by what a tool does and asks: what would need a person is refused at once where there is none", async () => {
    await workspace.tool("careful", "echo ran", 'approval = "always"');
    const tools = [["read_file", { path: "a" }], ["task_create", { subject: "a" }], ["bash", { command: "true" }], [
      "careful",
      {},
    ]] as const;
    await workspace.write("a", "x");
    const seen: Record<string, readonly string[]> = {};
    for (const mode of ["normal", "auto-accept", "architect", "yolo", "plan", "headless"]) {
      const ends = await Promise.all(tools.map(([name, input]) => call(name, input, "--mode", mode, "--trust-workspace")));
      seen[mode] = ends.map(({ code, refusal }) => `${code}${refusal === undefined ? "" : ` ${refusal.by}`}`);
    }
    // A pin: read_file, task_create, bash, and a tool that always asks.
    expect(seen).toEqual({
      "normal": ["0", "0", "4 approval", "4 approval"],
      "auto-accept": ["0", "0", "0", "4 approval"],
      "architect": ["0", "0", "0", "4 approval"],
      "yolo": ["0", "0", "0", "0"],
      "plan": ["0", "4 mode", "4 mode", "4 mode"],
      "headless": ["0", "0", "4 mode", "4 mode"],
    });
  }, LIMIT);

  test("a run goes on after a refusal and ends with 4 only if somebody would have had to be asked, with everything complete", async () => {
    const bash = calls(["bash", { command: "touch canary" }], ["get_environment", {}]);
    const asked = await run([bash, DONE], "--mode", "normal");
    expect([asked.code, asked.text, asked.status]).toEqual([4, "done", "completed"]);
    expect(asked.calls.map(({ name, is_error }) => [name, is_error])).toEqual([["bash", true], ["get_environment", false]]);
    expect(asked.events.map(({ type }) => type)).toContain("turn_ended");
    const headless = await run([bash, DONE], "--mode", "headless");
    expect([headless.code, headless.text]).toEqual([0, "done"]);
    const allowed = await run([bash, DONE], "--mode", "auto-accept");
    expect([allowed.code, there("canary")]).toEqual([0, true]);
  }, LIMIT);
});

describe("a hook in front of a call", () => {
  const CASES: readonly (readonly [what: string, command: string, says: RegExp])[] = [
    ["refuses", "echo not here >&2; exit 2", /^not here$/],
    ["takes too long", "sleep 30", /timed out after 1000 ms/],
    ["is not there", "./no-such-guard", /could not start \(exit status 127\)/],
    ["may not be executed", "./guard.txt", /could not start \(exit status 126\)/],
    ["is killed", "kill -9 $$", /was killed by SIGKILL/],
    ["prints half a decision", 'printf \'{"action":"al\'', /looks like a decision and is not valid JSON/],
    ["decides something unknown", 'echo \'{"action":"perhaps"}\'', /"action" must be/],
    ["never stops talking", "yes '{'", /timed out|printed more|malformed/],
    ["prints bytes that are no text, and fails", "head -c 100000 /dev/urandom >&2; exit 1", /./],
  ];

  test("that gives no verdict refuses it, and says why", async () => {
    await workspace.write("guard.txt", "#!/bin/sh\n");
    for (const [what, command, says] of CASES) {
      await userSettings(guard(command));
      const { code, text, refusal, outcome } = await call("bash", { command: "touch canary" }, "--trust-workspace");
      expect([what, code, refusal?.by, outcome.kind, says.test(text), text.isWellFormed(), text.length < 10_000]).toEqual(
        [what, 4, "hook", "not_started", true, true, true],
      );
    }
    expect(there("canary")).toBe(false);
  }, LIMIT);

  test("that says a great deal and exits with 0 has its decision read at the end", async () => {
    await userSettings(guard('head -c 3000000 /dev/zero | tr \'\\0\' x; echo; echo \'{"action":"deny","reason":"enough"}\''));
    expect((await call("bash", { command: "touch canary" })).text).toBe("enough");
    await userSettings(guard("head -c 3000000 /dev/zero | tr '\\0' x"));
    expect([(await call("bash", { command: "touch canary" })).code, there("canary")]).toEqual([0, true]);
  }, LIMIT);

  test("cannot be got rid of from within: settings count as they were when the session opened", async () => {
    const settings = join(workspace.home, "config/settings.json");
    await userSettings(guard(`echo '{}' > ${settings}; echo no >&2; exit 1`, "write_file"));
    const { calls: made, code } = await run([
      calls(["write_file", { path: "one", content: "" }]),
      calls(["bash", { command: `echo '{}' > ${settings}` }], ["write_file", { path: "two", content: "" }]),
      DONE,
    ]);
    expect([code, made.map(({ outcome }) => outcome.kind)]).toEqual([0, ["not_started", "exited", "not_started"]]);
    expect([there("one"), there("two"), readFileSync(settings, "utf8")]).toEqual([false, false, "{}\n"]);
  }, LIMIT);

  test("of a project that grants itself something in the middle of a run has granted nothing", async () => {
    await workspace.tool("careful", "touch canary", 'approval = "always"');
    await orrery("trust");
    const granting = JSON.stringify({ alwaysAllow: ["careful"] });
    const { code, calls: made } = await run([
      calls(["bash", { command: `mkdir -p .orrery; echo '${granting}' > .orrery/settings.json` }], ["careful", {}]),
      DONE,
    ]);
    expect([code, made.map(({ outcome }) => outcome.kind), there("canary")]).toEqual([4, ["exited", "not_started"], false]);
    // And the workspace is another one than was trusted.
    expect((await call("careful", {})).refusal?.by).toBe("trust");
  }, LIMIT);
});

describe("a hook that leaves a process behind", () => {
  test("case 52: does not hold the call or the session, at whatever moment it runs, and nothing of it stays", async () => {
    const pids = () =>
      existsSync(join(workspace.path, "pids")) ? readFileSync(join(workspace.path, "pids"), "utf8").trim().split("\n").map(Number) : [];
    const leaving = (more: string) => [{ hooks: [{ type: "command", command: `sleep 300 & echo $! >> pids; ${more}`, timeoutMs: 1000 }] }];
    const moments = ["SessionStart", "PreToolUse", "PostToolUse", "Stop"];
    await userSettings({ hooks: Object.fromEntries(moments.map((moment) => [moment, leaving("exit 0")])) });
    const began = performance.now();
    const left = await run([calls(["get_environment", {}]), DONE]);
    expect([left.code, left.calls[0]?.is_error, pids().length, pids().filter(isAlive)]).toEqual([0, false, 4, []]);
    await userSettings({ hooks: Object.fromEntries(moments.map((moment) => [moment, leaving("sleep 300")])) });
    const held = await run([calls(["bash", { command: "touch canary" }]), DONE]);
    // PostToolUse is not told of a call that was refused.
    expect([held.code, held.calls[0]?.outcome.kind, pids().length, pids().filter(isAlive)]).toEqual([0, "not_started", 7, []]);
    expect([there("canary"), performance.now() - began < 30_000]).toEqual([false, true]);
  }, LIMIT);
});

describe("a repository that was only cloned", () => {
  test("case 61: starts nothing by itself, whatever command is given in it", async () => {
    const server = fileURLToPath(new URL("../fixtures/mcp/server.mjs", import.meta.url).href);
    const touching = (name: string) => ({ type: "command", command: `touch canary-${name}` });
    const moments = ["SessionStart", "PostToolUse", "Stop"];
    const hooks = Object.fromEntries(moments.map((moment) => [moment, [{ hooks: [touching(moment)] }]]));
    await projectSettings({ hooks, alwaysAllow: ["bash"], mode: "yolo", base_url: "http://127.0.0.1:9" });
    await workspace.write(
      ".mcp.json",
      JSON.stringify({ mcpServers: { s: { command: "/bin/sh", args: ["-c", `touch canary-mcp; exec node ${server}`] } } }),
    );
    await workspace.write(
      "real/tools/linked.toml",
      'name = "linked"\ndescription = "A tool."\ncommand = ["/usr/bin/touch", "canary-linked"]\n',
    );
    await symlink(join(workspace.path, "real"), join(workspace.path, ".stella"));
    await workspace.write(".orrery/tools/module.ts", 'import { writeFileSync } from "node:fs";\nwriteFileSync("canary-ts", "");\n');
    await workspace.write(".orrery/tools/module.py", 'open("canary-py", "w").close()\n');
    await workspace.write(".nanocoder/tools/md.md", "---\nname: md_tool\ndescription: A tool.\napproval: never\n---\n\ntouch canary-md\n");
    const canaries = () => readdirSync(workspace.path).filter((name) => name.startsWith("canary")).toSorted();
    const turn = calls(["linked", {}], ["md_tool", {}], ["mcp__s__echo", {}], ["get_environment", {}]);
    const model = await workspace.script(turn, DONE);
    const commands = [
      ["tools"],
      ["tools", "--json"],
      ["tools", "--validate"],
      ["tools", "call", "linked"],
      ["tools", "call", "mcp__s__echo"],
      ["config"],
      ["doctor", "--json", "--model", model],
      ["trust", "--forget"],
      ["sessions", "list"],
      ["run", "hi"],
      ["run", "--model", model, "hi"],
      ["run", "--mode", "yolo", "--model", model, "hi"],
    ];
    for (const command of commands) {
      await orrery(...command);
      expect([command, canaries()]).toEqual([command, []]);
    }
    await orrery("run", "--trust-workspace", "--model", model, "hi");
    expect(canaries()).toEqual(["PostToolUse", "SessionStart", "Stop", "linked", "mcp", "md", "py", "ts"].map((name) => `canary-${name}`));
  }, LIMIT);
});

describe("what was trusted and has changed since", () => {
  const TS = (file: string) =>
    'import { tool } from "orrery";\nimport * as v from "valibot";\nimport { writeFileSync } from "node:fs";\n' +
    `export const one = tool({ name: "ts_tool", description: "A tool.", parameters: v.object({}),\n` +
    `  async execute() { writeFileSync("${file}", ""); return "ran"; } });\n`;

  test("between the start of a session and a call does not run as something else", async () => {
    await workspace.tool("swapped", "touch first");
    await workspace.write(".orrery/tools/tool.ts", TS("first-ts"));
    await workspace.write("second.ts", TS("second-ts"));
    await workspace.write(
      ".nanocoder/tools/md_tool.md",
      "---\nname: md_tool\ndescription: A tool.\napproval: never\n---\n\ntouch first-md\n",
    );
    await orrery("trust");
    const swap = "sed -i s#bin/swapped#bin/other# .stella/tools/swapped.toml; sed -i s/first-md/second-md/ .nanocoder/tools/md_tool.md; " +
      "cp second.ts .orrery/tools/tool.ts; printf '#!/bin/sh\\ntouch second\\n' > bin/other; chmod +x bin/other";
    const { code } = await run([calls(["bash", { command: swap }]), calls(["swapped", {}], ["md_tool", {}], ["ts_tool", {}]), DONE]);
    expect([code, there("second"), there("second-md"), there("second-ts")]).toEqual([0, false, false, false]);
    expect((await call("swapped", {})).refusal?.by).toBe("trust");
    expect((await call("ts_tool", {})).code).not.toBe(0);
  }, LIMIT);

  test("is no longer trusted, be it a manifest, a hook, an entry of a server or a link", async () => {
    const server = fileURLToPath(new URL("../fixtures/mcp/server.mjs", import.meta.url).href);
    const entry = (file: string) => `[servers.s]\ncmd = "node"\nargs = [${JSON.stringify(server)}, "good", "${file}"]\n`;
    await workspace.write(".orrery/mcp.toml", entry("log"));
    await orrery("trust");
    expect((await call("mcp__s__echo", {})).code).toBe(0);
    await workspace.write(".orrery/mcp.toml", entry("log2"));
    const inert = await call("mcp__s__echo", {});
    expect([inert.code, inert.refusal?.by, there("log2")]).toEqual([4, "trust", false]);

    await workspace.write("elsewhere/settings.json", JSON.stringify(guard("exit 0")));
    await symlink(join(workspace.path, "elsewhere/settings.json"), join(workspace.path, ".orrery/settings.json"));
    await orrery("trust");
    expect((await call("bash", { command: "true" })).code).toBe(0);
    await writeFile(join(workspace.path, "elsewhere/next.json"), JSON.stringify(guard("touch canary")));
    await rename(join(workspace.path, "elsewhere/next.json"), join(workspace.path, "elsewhere/settings.json"));
    expect([(await call("bash", { command: "true" })).refusal?.by, there("canary")]).toEqual(["trust", false]);
  }, LIMIT);
});

describe("the organisation's settings", () => {
  const managed = async (settings: object) => {
    const path = join(workspace.home, "managed.json");
    await writeFile(path, JSON.stringify(settings));
    return start({ ORRERY_MANAGED_SETTINGS: path });
  };

  test("are a ceiling that no file, flag, variable or trust lifts", async () => {
    await workspace.tool("mine", "touch canary; env");
    const place = await managed({
      tools: { bash: "off", custom: "off", env_withhold: ["GH_TOKEN"] },
      limits: { max_steps: 1 },
      speculation: "off",
      ...guard("echo the organisation objects >&2; exit 1", "write_file"),
    });
    const grants = {
      tools: { "*": "on", bash: "on", mine: "on", custom: "on" },
      alwaysAllow: ["bash", "mine", "write_file"],
      limits: { max_steps: 50 },
    };
    await userSettings({
      ...grants,
      tools: { ...grants.tools, env_allow: ["GH_TOKEN"] },
      trust: "all",
      ...guard('echo \'{"action":"allow"}\''),
    });
    await projectSettings(grants);
    const env = { ...place.env, GH_TOKEN: "ghp-canary", ORRERY_TRUST_WORKSPACE: "1", ORRERY_SPECULATION: "on" };
    const under = (...args: readonly string[]) => runOrrery([...args], { ...place, env });
    const wide = ["--trust-workspace", "--mode", "yolo"];
    for (
      const [name, input] of [["bash", { command: "touch canary" }], ["mine", {}], ["write_file", { path: "canary", content: "" }]] as const
    ) {
      const { code, stdout } = await under("tools", "call", name, "--json", "--input", JSON.stringify(input), ...wide);
      const by = (JSON.parse(stdout) as Called).refusal?.by;
      expect([name, code, by]).toEqual([name, 4, name === "write_file" ? "hook" : "switch"]);
    }
    const model = await workspace.script(calls(["get_environment", {}]), calls(["get_environment", {}]), DONE);
    const { code, stdout } = await under(
      "run",
      "--model",
      model,
      "--max-steps",
      "100",
      "--output-format",
      "json",
      "--events",
      ...wide,
      "go",
    );
    const { events } = JSON.parse(stdout) as Ran;
    expect([code, events.filter(({ type }) => type === "step_started").length, events.some(({ type }) => type === "speculation_started")])
      .toEqual(
        [3, 1, false],
      );
    expect(there("canary")).toBe(false);
    const report = JSON.parse((await under("config", "--json", "--trust-workspace")).stdout) as {
      settings: readonly { key: string; value: unknown; source: { scope: string } }[];
    };
    const of = (key: string) => report.settings.filter((row) => row.key === key).map(({ value, source }) => [value, source.scope]);
    expect([of("limits.max_steps"), of("speculation")]).toEqual([[[1, "organisation"]], [["off", "organisation"]]]);
  }, LIMIT);

  test("withhold a variable from every child, whatever the user gives back", async () => {
    const place = await managed({ tools: { env_withhold: ["GH_*"] } });
    await userSettings({ tools: { env_allow: ["GH_TOKEN"] } });
    const env = { ...place.env, GH_TOKEN: "ghp-canary", OTHER: "seen" };
    const { stdout } = await runOrrery(["tools", "call", "bash", "--input", '{"command":"echo $GH_TOKEN $OTHER"}'], { ...place, env });
    expect(stdout).toBe("seen\n");
  });
});

describe("orrery tools", () => {
  test("lists every MCP server with its state, its origin, its trust and what is wrong, and starts none that is not trusted", async () => {
    const server = fileURLToPath(new URL("../fixtures/mcp/server.mjs", import.meta.url).href);
    const entry = (name: string, ...args: readonly string[]) =>
      `[servers.${name}]\ncmd = "node"\nargs = ${JSON.stringify([server, ...args])}\n`;
    const path = await workspace.write(
      ".orrery/mcp.toml",
      `${entry("good", "good", "log")}${entry("bad", "exit")}${entry("off")}disabled = true\n[servers.wrong]\ncommand = "x"\n`,
    );
    await workspace.write(".mcp.json", JSON.stringify({ mcpServers: { good: { command: "x" } } }));
    const list = async (...args: readonly string[]) =>
      JSON.parse((await orrery("tools", "--json", ...args)).stdout) as {
        servers: readonly Readonly<Record<string, unknown>>[];
        tools: readonly { name: string | null; status: string; origin: { system: string } }[];
      };
    const untrusted = await list();
    expect(untrusted.servers.map(({ name, state, trusted }) => [name, state, trusted])).toEqual([
      ["bad", "untrusted", false],
      ["good", "untrusted", false],
      ["good", "untrusted", false],
      ["off", "untrusted", false],
      ["wrong", "broken", false],
    ]);
    const { servers, tools } = await list("--trust-workspace");
    expect(servers.find(({ state }) => state === "connected")).toEqual({
      name: "good",
      origin: { system: "mcp", scope: "workspace", path },
      transport: "stdio",
      trusted: true,
      state: "connected",
      tools: 7,
    });
    expect(servers.map(({ name, state }) => `${name} ${state}`)).toEqual([
      "bad failed",
      "good connected",
      "good shadowed",
      "off disabled",
      "wrong broken",
    ]);
    expect(servers.filter(({ state }) => state !== "connected").every(({ error }) => typeof error === "string" && error !== "")).toBe(true);
    expect(tools.filter(({ origin, status }) => origin.system === "mcp" && status === "offered")).toHaveLength(7);
    const { stdout } = await orrery("tools", "--trust-workspace");
    for (
      const words of ["MCP servers", "connected, 7 tools", "cannot open the database", "disabled", 'Write "cmd" in place of "command"']
    ) {
      expect(stdout).toContain(words);
    }
    expect((await orrery("tools")).stdout).toContain("not trusted");
  }, LIMIT);
});

describe("in a workspace that nobody trusts", () => {
  test("no hook, tool or server of the user's runs what lies there, however its command names it", async () => {
    const canary = "#!/bin/sh\ntouch canary\n";
    await chmod(await workspace.write("guard.sh", canary), 0o755);
    await workspace.write("Makefile", "guard:\n\ttouch canary\n");
    await workspace.write("mycheck.py", "open('canary', 'w')\n");
    const commands = [
      "timeout -s KILL 10 ./guard.sh",
      "env -u FOO ./guard.sh",
      "stdbuf -o L ./guard.sh",
      "find . -name guard.sh -exec {} \\;",
      "make guard",
      "python3 -m mycheck",
      'x=./guard.sh; "$x"',
    ];
    for (const command of commands) {
      await userSettings({ hooks: { PreToolUse: [{ hooks: [{ type: "command", command }] }] } });
      const { code, refusal } = await call("get_environment", {});
      expect([command, code, refusal?.by, there("canary")]).toEqual([command, 4, "trust", false]);
    }
    await userSettings({});
    const server = (name: string, cmd: string, ...args: readonly string[]) =>
      `[servers.${name}]\ncmd = ${JSON.stringify(cmd)}\nargs = ${JSON.stringify(args)}\n`;
    const servers = [server("a", "python3", "-m", "mycheck"), server("b", "env", "-u", "X", "./guard.sh"), server("c", "make", "guard")];
    await writeFile(join(workspace.home, "config/mcp.toml"), servers.join(""));
    const listed = JSON.parse((await orrery("tools", "--json")).stdout) as { servers: readonly { state: string }[] };
    expect([listed.servers.map(({ state }) => state), there("canary")]).toEqual([["untrusted", "untrusted", "untrusted"], false]);
    expect((await orrery("tools", "--json", "--trust-workspace")).code).toBe(0);
    expect(there("canary")).toBe(true);
  }, LIMIT);
});

describe("orrery trust", () => {
  test("shows all of what a hook would run, and one line for each thing", async () => {
    const command = `${"true; ".repeat(200)}./at-the-end\n.orrery/tools/harmless.ts tool`;
    await projectSettings({ hooks: { Stop: [{ hooks: [{ type: "command", command }] }] } });
    const shown = (await orrery("trust")).stdout;
    expect([shown.split("\n").length, shown.includes("./at-the-end\\n.orrery/tools/harmless.ts")]).toEqual([2, true]);
  }, LIMIT);

  test("is over when a file that a tool loads has changed, whatever its name", async () => {
    await workspace.write(".orrery/tools/lib/h.mjs", "export const x = 1;\n");
    await workspace.write(".orrery/tools/t.ts", 'import { x } from "./lib/h.mjs";\nexport default x;\n');
    expect((await orrery("trust")).code).toBe(0);
    await workspace.write(
      ".orrery/tools/lib/h.mjs",
      'import { writeFileSync } from "node:fs";\nwriteFileSync("canary", "");\nexport const x = 1;\n',
    );
    await orrery("tools");
    expect(there("canary")).toBe(false);
    // A check loads every file, whatever is known of it.
    await orrery("tools", "--validate", "--trust-workspace");
    expect(there("canary")).toBe(true);
  }, LIMIT);
});
