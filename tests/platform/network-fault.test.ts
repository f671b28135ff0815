import { describe, expect, test } from "bun:test";
import { createServer } from "node:net";
import type { AddressInfo } from "node:net";
import { readNetworkFault } from "../../lib/platform/network-fault.ts";

/** The port of a server that resets every connection, and how to close it. */
async function startResetting(): Promise<{ readonly url: string; close(): Promise<void> }> {
  const server = createServer((socket) => void socket.on("data", () => socket.resetAndDestroy()));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    close: () => new Promise((resolve) => server.close(() => resolve())),
  };
}

describe("readNetworkFault()", () => {
  test("tells a connection that was never made from one that broke, as this host words them", async () => {
    const server = await startResetting();
    const broken = await fetch(server.url).catch((error: unknown) => error);
    await server.close();
    const refused = await fetch(server.url).catch((error: unknown) => error);
    const unknown = await fetch("http://no-such-host.invalid/").catch((error: unknown) => error);
    expect([broken, refused, unknown].map((error) => readNetworkFault(error).connected)).toEqual([true, false, false]);
    expect([broken, refused, unknown].filter((error) => /fetch\(\)|verbose/.test(readNetworkFault(error).words))).toEqual([]);
  });

  test("gives the code and the words of every cause", () => {
    const cause = Object.assign(new Error("self signed"), { code: "DEPTH_ZERO_SELF_SIGNED_CERT" });
    expect(readNetworkFault(new TypeError("fetch failed", { cause }))).toEqual({
      connected: false,
      words: "fetch failed: DEPTH_ZERO_SELF_SIGNED_CERT self signed",
    });
    expect(readNetworkFault("gone")).toEqual({ connected: true, words: "gone" });
  });
});
