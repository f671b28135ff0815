import { describe, expect, test } from "bun:test";
import { resolveServer } from "../../../lib/tools/mcp/destination.ts";
import { http, stdio } from "../../fixtures/mcp/room.ts";

const env = { PATH: "/bin", HOME: "/home/u", LANG: "C", AWS_PROFILE: "p", SECRET: "s", EMPTY: "" };
const surroundings = { workspace: "/w", env };

describe("resolveServer()", () => {
  test("gives a process a small base and what its file names, and nothing else", () => {
    const server = {
      ...stdio("a", "prog"),
      transport: { kind: "stdio", cmd: "prog", args: [], env: { MINE: "1", TOKEN: "${SECRET}", LANG: "de" } },
    } as const;
    const resolved = resolveServer(server, surroundings);
    expect(resolved).toEqual({
      kind: "resolved",
      destination: { kind: "stdio", argv: ["prog"], cwd: "/w", env: { PATH: "/bin", HOME: "/home/u", LANG: "de", MINE: "1", TOKEN: "s" } },
    });
  });

  test("fills in variables everywhere, once, and falls back to what stands behind :-", () => {
    const server = stdio("a", "${HOME}/prog", "${EMPTY:-none}", "${NOT_SET:-${x}", "$HOME", "${EMPTY}");
    const resolved = resolveServer(server, { ...surroundings, env: { ...env, HOME: "${SECRET}" } });
    expect(resolved.kind === "resolved" && resolved.destination.kind === "stdio" && resolved.destination.argv).toEqual([
      "${SECRET}/prog",
      "none",
      "${x",
      "$HOME",
      "",
    ]);
  });

  test("refuses a server whose variables are not set, and names all of them", () => {
    const resolved = resolveServer(http("a", "https://example.com/${ONE}", { X: "${TWO}", Y: "${ONE}" }), surroundings);
    expect(resolved).toEqual({ kind: "unresolved", problem: "ONE, TWO is not set, or not for tools to see" });
  });

  test("checks an address once it is complete, and does not show it", () => {
    const resolved = resolveServer(http("a", "${SECRET}/mcp"), surroundings);
    expect(resolved).toEqual({ kind: "unresolved", problem: "its URL is not an absolute one" });
  });
});
