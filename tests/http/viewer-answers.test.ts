/** Answers given in a real Chromium, with a real pointer: each counts for the call that it was meant for. */
import { afterEach, expect, test } from "bun:test";
import type { Locator, Page } from "playwright-core";
import { browserSuite, type Visit } from "../fixtures/browser.ts";
import { startTestServer, type TestServer } from "../fixtures/server.ts";

const LIMIT = 60_000;
const { inBrowser, visitHere } = browserSuite();
let subject: TestServer;
let seen: Visit;

afterEach(async () => {
  await seen.context.close();
  await subject.close();
});

const act = (input: object) => ({ name: "act", arguments: input });
const path = (session: string) => `/v1/sessions/${session}`;
const waiting = (page: Page) => page.locator(".ask:not([data-over])");
const ended = (page: Page, text: string) => page.locator(".ask[data-over]", { hasText: text });
const allow = (card: Locator) => card.getByRole("button", { name: "Allow" });

/** The page of a session that asks about calls of `act`, whose number it waits for. */
async function ask(script: readonly object[], cards: number) {
  subject = await startTestServer({
    script,
    prepare: (workspace) => workspace.tool("act", "echo acted", 'approval = "always"\nread_only = true'),
  });
  const session = await subject.open({ title: "Asks" });
  seen = await visitHere(subject.server.url);
  const { page } = seen;
  await page.clock.install();
  await page.goto(subject.server.login_url);
  await page.locator("#sessions a").first().waitFor();
  await page.goto(`${subject.server.url}/#${session}`);
  await page.locator("#status", { hasText: "Idle" }).waitFor();
  await subject.ask("POST", `${path(session)}/prompts`, { text: "go" });
  await waiting(page).nth(cards - 1).waitFor();
  return { page, session };
}

/** Takes answers, as assistive technology is told too. */
const ready = (card: Locator) => card.locator('button.primary:not([aria-disabled="true"])').waitFor();

async function pointAt(page: Page, target: Locator) {
  const box = await target.boundingBox() ?? { x: 0, y: 0 };
  const [x, y] = [box.x + 10, box.y + 10];
  await page.mouse.move(x, y);
  return { press: (options = {}) => page.mouse.click(x, y, options) };
}

/** By their text: who was given which answer. */
async function answers(session: string): Promise<Record<string, string>> {
  const { events } = (await subject.ask("GET", `${path(session)}/events?limit=500`)).body as {
    events: readonly { type: string; call: string; input: { text: string }; decision: string }[];
  };
  const names = new Map(events.filter(({ type }) => type === "approval_requested").map(({ call, input }) => [call, input.text]));
  const given = events.filter(({ type }) => type === "approval_answered");
  return Object.fromEntries(given.map(({ call, decision }) => [names.get(call) ?? "?", decision]));
}

const THREE = [{ calls: ["one", "two", "three"].map((text) => act({ text })) }, { text: "done" }];

/** The page's time goes on only as a test says: none of them can be late. */
async function stopTime(page: Page) {
  await page.clock.pauseAt(await page.evaluate(() => Date.now() + 1000));
  const run = (ms: number) => page.clock.runFor(ms);
  return {
    run,
    until: async (target: Locator) => {
      while (await target.count() === 0) await run(16);
    },
  };
}

inBrowser("an answer", () => {
  test("is for one call, however often the pointer is pressed where its button was", async () => {
    const { page, session } = await ask(THREE, 3);
    const last = waiting(page).nth(2);
    await ready(last);
    const { run, until } = await stopTime(page);
    const pointer = await pointAt(page, allow(last));
    await pointer.press({ clickCount: 2 });
    for (let times = 0; times < 3; times++) await pointer.press();
    await until(ended(page, "three"));
    await pointer.press();
    await run(1000);
    await pointer.press();
    expect(await answers(session)).toEqual({ three: "allow" });
    // It gives its place up: what stands there then was not meant either.
    while (await ended(page, "three").count() > 0) await run(16);
    await pointer.press();
    await run(600);
    await pointer.press();
    await run(32);
    expect(await answers(session)).toEqual({ three: "allow" });
    await run(300);
    await pointer.press();
    await until(ended(page, "two"));
    expect(await answers(session)).toEqual({ three: "allow", two: "allow" });
    expect(seen.wrong).toEqual([]);
  }, LIMIT);

  test("does not count for a call of the next step, that comes where its button was", async () => {
    const { page, session } = await ask([{ calls: [act({ text: "one" })] }, { calls: [act({ text: "next" })] }, { text: "done" }], 1);
    await ready(waiting(page));
    const { run, until } = await stopTime(page);
    const pointer = await pointAt(page, allow(waiting(page)));
    await pointer.press();
    await until(waiting(page).filter({ hasText: "next" }));
    await pointer.press();
    await run(600);
    await pointer.press();
    expect(await answers(session)).toEqual({ one: "allow" });
    await run(3000);
    await pointer.press();
    await until(page.locator(".remark", { hasText: "Turn 1 completed" }));
    expect(await answers(session)).toEqual({ one: "allow", next: "allow" });
  }, LIMIT);

  test("that somebody else gives leaves the call's card in its place, and nothing to press on it", async () => {
    const { page, session } = await ask(THREE, 3);
    const last = waiting(page).nth(2);
    await ready(last);
    const { run, until } = await stopTime(page);
    const pointer = await pointAt(page, allow(last));
    const { approvals } = (await subject.ask("GET", path(session))).body as { approvals: readonly { call: string }[] };
    await subject.ask("POST", `${path(session)}/approvals/${approvals[2]?.call}`, { decision: "deny", reason: "not that" });
    await pointer.press();
    await until(ended(page, "three"));
    expect(await ended(page, "three").locator("h3").innerText()).toMatch(/^act: denied by .*not that/);
    await pointer.press();
    while (await ended(page, "three").count() > 0) await run(16);
    await pointer.press();
    await run(600);
    await pointer.press();
    await run(32);
    expect(await answers(session)).toEqual({ three: "deny" });
  }, LIMIT);

  test("by keyboard leaves the focus on the heading of the next call, and no key answers that at once", async () => {
    const { page, session } = await ask(THREE, 3);
    const focus = () => page.evaluate(() => [document.activeElement?.tagName, document.activeElement?.closest(".ask")?.textContent ?? ""]);
    await ready(waiting(page).nth(0));
    const { run, until } = await stopTime(page);
    await allow(waiting(page).nth(0)).focus();
    await page.keyboard.press("Enter");
    await page.keyboard.press("Enter");
    await until(ended(page, "one"));
    const [tag, text] = await focus();
    expect([tag, text?.includes("two")]).toEqual(["H3", true]);
    await page.keyboard.press("Tab");
    await page.keyboard.press("Enter");
    await page.keyboard.press("Space");
    await run(600);
    await page.keyboard.press("Enter");
    expect(await answers(session)).toEqual({ one: "allow" });
    await run(3000);
    await page.keyboard.press("Enter");
    await until(ended(page, "two"));
    await run(3000);
    await page.keyboard.press("Tab");
    await page.keyboard.press("Enter");
    await until(page.locator(".remark", { hasText: "Turn 1 completed" }));
    await run(3000);
    expect(await page.locator(".ask").count()).toBe(0);
    expect(await page.evaluate(() => document.activeElement?.id)).toBe("scroller");
    expect(seen.wrong).toEqual([]);
  }, LIMIT);

  test("is taken again only when the card has stood still", async () => {
    const { page, session } = await ask([{ calls: [act({ text: "one" })] }, { text: "done" }], 1);
    await ready(waiting(page));
    const { run, until } = await stopTime(page);
    const top = async () => (await allow(waiting(page)).boundingBox())?.y ?? 0;
    const before = await top();
    await page.setViewportSize({ width: 1280, height: 700 });
    expect(await top()).toBeLessThan(before);
    const pointer = await pointAt(page, allow(waiting(page)));
    await pointer.press();
    await run(600);
    await pointer.press();
    await run(32);
    expect(await allow(waiting(page)).getAttribute("aria-disabled")).toBe("true");
    expect(await answers(session)).toEqual({});
    await run(300);
    expect(await allow(waiting(page)).getAttribute("aria-disabled")).toBe(null);
    await pointer.press();
    await until(page.locator(".remark", { hasText: "Turn 1 completed" }));
    expect(await answers(session)).toEqual({ one: "allow" });
  }, LIMIT);
});

inBrowser("the input of a call that waits", () => {
  test("shows a text as a text: quotes, backslashes and blanks as they are, what is hidden by its number", async () => {
    const input = {
      command: `echo "a"  '\\033[1m' \u0007`,
      number: 3,
      digits: "3",
      nothing: "",
      blank: "x ",
      list: ['"q"'],
      lines: 'say "b"\n\\n',
    };
    const { page } = await ask([{ calls: [act(input)] }, { text: "done" }], 1);
    const fields = await page.locator(".ask .field").evaluateAll((all) =>
      all.map((each) => [each.querySelector(".key")?.textContent, each.querySelector("code, pre")?.textContent])
    );
    expect(fields).toEqual([
      ["command", `echo "a"  '\\033[1m' ⟨U+0007⟩`],
      ["number", "3"],
      ["digits (text, 1 character)", "3"],
      ["nothing (text, 0 characters)", ""],
      ["blank (text, 2 characters)", "x "],
      ["list", '[\n  "\\"q\\""\n]'],
      ["lines (text, 2 lines)", 'say "b"\n\\n'],
    ]);
    expect(await page.locator(".ask .field code").first().evaluate((each) => getComputedStyle(each).whiteSpace)).toContain("pre-wrap");
  }, LIMIT);
});
