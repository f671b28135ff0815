/** What is promised in numbers; that each limit does what it says is tested where it is. */
import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { BODY, STREAMS } from "../../lib/http/app.ts";
import { CODE_MS, Credentials, GRANTS } from "../../lib/http/auth.ts";
import { DRAIN_MS } from "../../lib/http/serve.ts";

test("the limits that the documentation names (a pin)", () => {
  expect({ BODY, STREAMS, DRAIN_MS, CODE_MS, GRANTS }).toEqual({
    BODY: { bytes: 8_388_608, ms: 30_000 },
    STREAMS: { heartbeat_ms: 8000, stall_ms: 20_000 },
    DRAIN_MS: 20_000,
    CODE_MS: 900_000,
    GRANTS: 16,
  });
});

describe("a one-time code", () => {
  const TOKEN = "a-token-of-a-good-length";

  test("is good for 15 minutes", () => {
    let now = 0;
    const credentials = new Credentials(TOKEN, () => now);
    const code = credentials.issueCode();
    now = CODE_MS;
    expect(credentials.exchange(code)).toBe(null);
    const next = credentials.issueCode();
    now += CODE_MS - 1;
    expect(credentials.accepts(credentials.exchange(next) ?? "")).toBe(true);
  });

  test("gets one of a bounded number of grants: the oldest goes, the server's own token never", () => {
    const credentials = new Credentials(TOKEN);
    const grants = Array.from({ length: GRANTS + 1 }, () => credentials.exchange(credentials.issueCode()) ?? "");
    expect(grants.map((grant) => credentials.accepts(grant))).toEqual(grants.map((_each, index) => index > 0));
    expect(credentials.accepts(TOKEN)).toBe(true);
  });
});

test("secrets are compared in constant time only (a pin of the source, as time is no test)", () => {
  const source = readFileSync(join(import.meta.dirname, "../../lib/http/auth.ts"), "utf8");
  expect(source.match(/timingSafeEqual\(/g)?.length).toBe(2);
  expect(source).not.toMatch(/\.equals\(|digest\([^)]*\) ===|=== digest/);
});
