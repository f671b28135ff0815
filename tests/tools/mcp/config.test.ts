import { describe, expect, test } from "bun:test";
import { parseLocated } from "../../../lib/config/located-json.ts";
import { describeDiagnostic } from "../../../lib/tools/diagnostic.ts";
import { mergeServers, parseMcpFile } from "../../../lib/tools/mcp/config.ts";
import { type McpFile, mcpFiles } from "../../../lib/tools/mcp/files.ts";

const [orrery, stella, json, user] = mcpFiles("/w", "/home/u/.config/orrery") as [McpFile, McpFile, McpFile, McpFile];
const read = (text: string, file: McpFile = orrery) => parseMcpFile(file, text, parseLocated);
const said = (text: string, file?: McpFile) =>
  read(text, file).diagnostics.map((each) => `${each.severity} ${each.code} ${describeDiagnostic(each)}`);
const server = (name: string, cmd = "x") => `[servers.${name}]\ncmd = "${cmd}"\n`;

describe("parseMcpFile() of TOML", () => {
  test("reads both transports", () => {
    const { servers, diagnostics } = read(`
[servers.files]
transport = "stdio"
cmd = "npx"
args = ["-y", "server-files", "."]
env = { TOKEN = "\${FILES_TOKEN}" }

[servers."foo.bar"]
url = "https://example.com/mcp"
headers = { Authorization = "Bearer \${KEY}" }
disabled = true
`);
    expect(diagnostics).toEqual([]);
    expect(servers.map(({ name, disabled, scope, transport }) => ({ name, disabled, scope, transport }))).toEqual([
      {
        name: "files",
        disabled: false,
        scope: "workspace",
        transport: {
          kind: "stdio",
          cmd: "npx",
          args: ["-y", "server-files", "."],
          env: Object.assign(Object.create(null), { TOKEN: "${FILES_TOKEN}" }),
        },
      },
      {
        name: "foo.bar",
        disabled: true,
        scope: "workspace",
        transport: { kind: "http", url: "https://example.com/mcp", headers: { Authorization: "Bearer ${KEY}" } },
      },
    ]);
  });

  test("tells all faults of a file at once, with their places", () => {
    expect(said(`
[servers.a]
cmd = 5
args = "x"
[servers.b__c]
cmd = "x"
[servers.d]
url = "ftp://x"
headers = { "bad name" = "v", Accept = "x" }
[servers.e]
command = "x"
[servers.f]
transport = "sse"
url = "http://x"
[servers.g]
cmd = "x"
url = "http://x"
[servers.h]
cmd = "x"
agrs = []
env = { "A=B" = "x", C = 1 }
[other]
`)).toEqual([
      'warning unknown_key line 22, column 2: "other" means nothing here. Servers are written as [servers.NAME].',
      'error wrong_type line 3, column 1: "cmd" must be a string, not a number. Put arguments into "args".',
      'error wrong_type line 4, column 1: "args" must be a list of strings. Write ["one", "two"], each in quotes.',
      'error invalid_name line 5, column 10: "b__c" cannot be the name of a server: it has "__", which separates a server from its tool. Give it another name.',
      'error invalid_url line 8, column 1: It cannot be reached: its URL begins with "ftp:", and only http: and https: are spoken. Write an address that begins with https:// or http://.',
      'error invalid_header line 9, column 13: "bad name" cannot be the name of a header. Use letters, digits and - alone.',
      'warning own_header line 9, column 31: The header "Accept" is set by the protocol itself; this one is not sent. Remove it.',
      'warning unknown_key line 11, column 1: "command" means nothing here. Did you mean "cmd"?',
      'error missing_transport line 10, column 10: It has neither "cmd" nor "url". Write "cmd" in place of "command".',
      'error unknown_transport line 13, column 1: "transport" must be "stdio" or "http"; the older transport over SSE is not spoken here. Most such servers also speak "http".',
      'error ambiguous_transport line 15, column 10: It has both "cmd" and "url", so it cannot be told how to reach it. Keep "cmd" for a program, or "url" for an address.',
      'warning unknown_key line 20, column 1: "agrs" means nothing here. Did you mean "args"?',
      'error env_name line 21, column 9: "A=B" cannot be the name of a variable. Give it a name without "=".',
      'error wrong_type line 21, column 22: "C" must be a string, not a number. Put the value in quotes.',
    ]);
  });

  test("keeps the servers beside a broken one, and says what is wrong with that", () => {
    const { servers, broken } = read(`${server("good")}[servers.bad]\n`);
    expect(servers.map(({ name }) => name)).toEqual(["good"]);
    expect(broken).toEqual([{ name: "bad", reason: 'It has neither "cmd" nor "url". Write cmd = "PROGRAM" or url = "https://…".' }]);
  });

  test("refuses what is not TOML with line and column", () => {
    expect(said("[servers.a]\ncmd = \n")[0]).toMatch(/^error toml_syntax line 2, column \d+: Not valid TOML: /);
    expect(said("[servers.a]\ncmd = '\uFEFF'\n")[0]).toMatch(/^error toml_syntax line 2, column 8: A byte order mark/);
  });

  test("takes an empty file and Stella's own keys without a word", () => {
    expect(said("")).toEqual([]);
    expect(said(`${server("a")}candidate_safe = true\n`, stella)).toEqual([]);
  });

  test("refuses a NUL, and a value that no process can be given", () => {
    expect(said('[servers.a]\ncmd = "x"\nargs = ["\\u0000"]\n')[0]).toContain("error nul line 3");
    expect(said(`[servers.a]\ncmd = "x"\nenv = { A = "${"x".repeat(140_000)}" }\n`)[0]).toContain("error too_large line 3");
  });

  test("uses no more than a hundred servers of a file", () => {
    const { servers, diagnostics } = read(Array.from({ length: 120 }, (_, index) => server(`s${index}`)).join(""));
    expect([servers.length, diagnostics.map(({ code }) => code)]).toEqual([100, ["too_many"]]);
  });
});

describe("parseMcpFile() of the common JSON", () => {
  test("reads its words for the same things", () => {
    const { servers, diagnostics } = read(
      JSON.stringify({
        other: { anything: true },
        mcpServers: {
          a: { command: "npx", args: ["x"] },
          b: { type: "streamable-http", url: "http://127.0.0.1:1/mcp" },
          c: { command: "x", disabled: true },
        },
      }),
      json,
    );
    expect(diagnostics).toEqual([]);
    expect(servers.map(({ name, transport, disabled }) => [name, transport.kind, disabled])).toEqual([["a", "stdio", false], [
      "b",
      "http",
      false,
    ], ["c", "stdio", true]]);
  });

  test("tells faults with line and column", () => {
    expect(said('{\n  "mcpServers": {\n    "a": { "cmd": "x" },\n    "_b": { "command": "" }\n  }\n}', json)).toEqual([
      'warning unknown_key line 3, column 12: "cmd" means nothing here. Did you mean "command"?',
      'error missing_transport line 3, column 5: It has neither "command" nor "url". Write "command" in place of "cmd".',
      'error invalid_name line 4, column 5: "_b" cannot be the name of a server: it begins or ends with "_". Give it another name.',
      'error empty_command line 4, column 13: "command" is empty. Name the program.',
    ]);
    expect(said('{ "mcpServers": { "a": {}, "a": {} } }', json)[0]).toContain(
      'error json_syntax line 1, column 28: the key "a" is written twice',
    );
    expect(said("[]", json)[0]).toContain("error wrong_type line 1, column 1: The file must hold one JSON object");
  });
});

describe("mergeServers()", () => {
  const files = [
    read(server("a", "1") + server("b", "1")),
    read(server("a", "2"), stella),
    read('{"mcpServers":{"c":{"command":"3"}}}', json),
    read(server("b", "4") + server("d", "4"), user),
  ];
  const cmd = ({ name, transport }: { name: string; transport: { kind: string; cmd?: string } }) => `${name}=${transport.cmd}`;

  test("lets the first file that names a server have it", () => {
    const { active, shadowed } = mergeServers(files, () => null);
    expect(active.map(cmd)).toEqual(["a=1", "b=1", "c=3", "d=4"]);
    expect(shadowed.map(({ server, by }) => `${cmd(server)} by ${cmd(by)}`)).toEqual(["a=2 by a=1", "b=4 by b=1"]);
  });

  test("gives a name that only an inert server has to the next one", () => {
    const { active, inert } = mergeServers(files, ({ scope }) => scope === "workspace" ? "not trusted" : null);
    expect(active.map(cmd)).toEqual(["b=4", "d=4"]);
    expect(inert.map(({ server, reason }) => `${cmd(server)} ${reason}`)).toEqual([
      "a=1 not trusted",
      "b=1 not trusted",
      "a=2 not trusted",
      "c=3 not trusted",
    ]);
  });

  test("lets a file switch a server off for those behind it", () => {
    const { active, disabled } = mergeServers([read(`${server("a")}enabled = false\n`), read(server("a", "2"), user)], () => null);
    expect([active, disabled.map(cmd)]).toEqual([[], ["a=x"]]);
  });
});
