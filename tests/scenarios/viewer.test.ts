/** The viewer as its users meet it: the page that the program serves, opened by the link that it prints. */
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Browser } from "playwright-core";
import { launchBrowser, visit, withoutBrowser } from "../fixtures/browser.ts";
import { endServing, startServing } from "../fixtures/serving.ts";
import { createWorkspace, type TestWorkspace } from "../fixtures/workspace.ts";

const LIMIT = 90_000;
let workspace: TestWorkspace;
let browser: Browser | null;

beforeEach(async () => {
  workspace = await createWorkspace();
  browser = null;
});
afterEach(async () => {
  await browser?.close();
  await endServing();
  await workspace.remove();
});

describe.skipIf(withoutBrowser)("the page that orrery serve prints the link of", () => {
  test(
    "takes a session from its first prompt to its end, over a kill -9 of the server while it asks and another while a call runs",
    async () => {
      await workspace.tool("ask_first", "echo asked", 'approval = "always"');
      await workspace.tool("linger", "touch begun; sleep 300");
      const script = await workspace.script(
        { text: "May I?", calls: [{ name: "ask_first", arguments: { what: "<b>this</b>" } }] },
        { text: "Now the long one.", calls: [{ name: "linger", arguments: {} }] },
        { text: "I know that it was **interrupted**." },
      );
      const args = ["--trust-workspace", "--model", script];
      const server = await startServing(workspace, args);
      const { login_url } = JSON.parse(server.line) as { readonly login_url: string };
      browser = await launchBrowser();
      const { page, wrong } = await visit(browser, server.url, { expected: /ERR_|401/ });
      const restart = () => startServing(workspace, [...args, "--port", server.port]);

      await page.goto(login_url);
      await page.getByRole("button", { name: "New session" }).click();
      await page.locator("#prompt").fill("Begin");
      await page.keyboard.press("Enter");
      const card = page.locator(".ask", { hasText: "<b>this</b>" });
      await card.waitFor();
      await server.end("SIGKILL");
      await page.locator("#link", { hasText: "Reconnecting" }).waitFor();
      const second = await restart();
      // What a link signed in is forgotten with the server; the token in its file is not.
      await page.locator("#sign-in-word", { hasText: "does not know this browser" }).waitFor();
      await page.getByLabel("Token").fill(second.token);
      await page.keyboard.press("Enter");
      await page.locator("#status", { hasText: "Interrupted" }).waitFor();
      await page.getByRole("button", { name: "Resume" }).click();
      await card.getByRole("button", { name: "Allow" }).click();
      await page.locator(".reply", { hasText: "Now the long one." }).waitFor();
      while (!existsSync(join(workspace.path, "begun"))) await sleep(20);

      await second.end("SIGKILL");
      await page.locator("#link", { hasText: "Reconnecting" }).waitFor();
      await restart();
      await page.locator("#status", { hasText: "Interrupted" }).waitFor();
      await page.getByRole("button", { name: "Resume" }).click();
      await page.locator(".remark", { hasText: "Turn 1 completed" }).waitFor();

      expect(await page.locator('details.call[data-tone="unknown"] .name').allInnerTexts()).toEqual(["linger"]);
      expect(await page.locator(".reply strong").innerText()).toBe("interrupted");
      expect(wrong).toEqual([]);
    },
    LIMIT,
  );
});
