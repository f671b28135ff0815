/** The viewer in a real Chromium. */
import { afterEach, expect, test } from "bun:test";
import { type AddressInfo, connect, createServer as createNetwork, type Socket } from "node:net";
import process from "node:process";
import type { Locator, Page } from "playwright-core";
import { startServer } from "../../lib/http/serve.ts";
import { duration } from "../../lib/http/viewer/client/format.ts";
import { browserSuite, type Visit, type VisitOptions } from "../fixtures/browser.ts";
import { startTestServer, type TestServer, type TestServerOptions } from "../fixtures/server.ts";

const LIMIT = 60_000;
const { inBrowser, visitHere } = browserSuite();
let subject: TestServer;
let visits: Visit[] = [];

afterEach(async () => {
  const ended = visits;
  visits = [];
  await Promise.all(ended.map(({ context }) => context.close()));
  await subject.close();
});

const call = (name: string, input: object = {}) => ({ name, arguments: input });
const prompt = (session: string, text = "go", wait = "") => subject.ask("POST", `/v1/sessions/${session}/prompts${wait}`, { text });

/** A server, a session, and its page, signed in by the one-time link. */
async function watch(options: TestServerOptions, visiting: VisitOptions = {}, opening: object = { title: "A session" }) {
  subject = await startTestServer(options);
  const session = await subject.open(opening);
  const seen = await look(visiting);
  await seen.page.goto(subject.server.login_url);
  await seen.page.locator("#sessions a").first().waitFor();
  await seen.page.goto(`${subject.server.url}/#${session}`);
  await status(seen.page, "Idle");
  return { session, ...seen };
}

async function look(options: VisitOptions = {}): Promise<Visit> {
  const seen = await visitHere(subject.server.url, options);
  visits.push(seen);
  return seen;
}

async function visitThrough(port: number): Promise<Visit> {
  const seen = await visitHere(`http://127.0.0.1:${port}`, { expected: /ERR_/ });
  visits.push(seen);
  return seen;
}

/** A way to the server that can be cut and mended. */
async function openNetwork(target: number) {
  const sockets = new Set<Socket>();
  let whole = true;
  const network = createNetwork((near) => {
    if (!whole) return void near.destroy();
    const far = connect(target, "127.0.0.1");
    for (const [one, other] of [[near, far], [far, near]] as const) {
      sockets.add(one);
      // A cut is one way for a connection to end.
      one.on("error", () => undefined).on("close", () => void other.destroy()).pipe(other);
    }
  });
  await new Promise<void>((done) => void network.listen(0, "127.0.0.1", done));
  const { port } = network.address() as AddressInfo;
  const drop = () => {
    for (const socket of sockets) socket.destroy();
    sockets.clear();
  };
  return {
    port,
    url: `http://127.0.0.1:${port}`,
    cut: () => {
      whole = false;
      drop();
    },
    mend: () => void (whole = true),
    close: () => {
      drop();
      network.close();
    },
  };
}

const status = (page: Page, text: string) => page.locator("#status", { hasText: new RegExp(`^${text}$`) }).waitFor();
const said = (page: Page) => page.locator("#conversation").innerText();
const bars = (page: Page, row: string) => page.locator(`.row.${row} .bar`);
const attribute = (locator: Locator, name: string) =>
  locator.evaluateAll((all, of) => all.map((each) => each.getAttribute(of) ?? ""), name);
const drawn = (page: Page) =>
  page.evaluate(() => new Promise<void>((done) => requestAnimationFrame(() => requestAnimationFrame(() => done()))));

inBrowser("a session that runs", () => {
  test("is watched from its prompt to its end: text as it is written, output of calls, early runs on the axis, tasks", async () => {
    const { page, session, wrong } = await watch({
      prepare: async (workspace) => {
        await workspace.tool("look", "sleep 0.2; echo seen", "read_only = true\nspeculation_safe = true");
        // Ends when the test has seen its output.
        await workspace.tool("wait_for_it", "echo first line; while [ ! -e go ]; do sleep 0.02; done; echo last line");
      },
      script: [
        {
          stream: [
            { text: "I look " },
            { text: "at **it**." },
            { call: { index: 0, id: "a", name: "look", arguments: {} } },
            { wait_ms: 1500, finish: "tool_calls", usage: { input_tokens: 1200, output_tokens: 34 } },
          ],
        },
        { calls: [call("task_create", { subject: "Write the page" }), call("wait_for_it")] },
        { text: "All is `done`." },
      ],
    });
    await page.locator("#prompt").fill("Look at it,\nplease");
    await page.keyboard.press("Enter");
    await page.locator(".prompt", { hasText: "Look at it,\nplease" }).waitFor();
    await page.locator(".tail", { hasText: "first line" }).waitFor();
    await status(page, "Running");
    expect(await page.locator("#task-list").innerText()).toContain("Write the page");
    await subject.workspace.write("go", "");
    await status(page, "Idle");
    expect(await said(page)).toContain("Turn 1 completed");
    expect(await page.locator(".reply code").last().innerText()).toBe("done");
    expect(await page.locator(".reply strong").first().innerText()).toBe("it");
    await page.locator("details.call", { hasText: "wait_for_it" }).locator("summary").click();
    expect(await page.locator("details.call[open] .block").innerText()).toContain("first line\nlast line");
    expect(await attribute(bars(page, "early"), "data-tone")).toEqual(["used"]);
    expect(await attribute(bars(page, "model"), "data-tone")).toEqual(["good", "good", "good"]);
    // It began while the first reply was being written: the bars overlap.
    const box = async (locator: Locator) => await locator.boundingBox() ?? { x: 0, width: 0 };
    const [early, reply] = [await box(bars(page, "early").first()), await box(bars(page, "model").first())];
    expect([early.x > reply.x, early.x < reply.x + reply.width]).toEqual([true, true]);
    // How much that saved is the machine's matter: the page says what the state says.
    const { saved_ms } = (await subject.ask("GET", `/v1/sessions/${session}`)).body.speculation;
    expect(await page.locator("#timeline-saved").innerText()).toBe(saved_ms === 0 ? "" : `early runs saved ${duration(saved_ms)}`);
    expect(await page.locator("#facts").innerText()).toContain("1,200 in · 34 out");
    expect(wrong).toEqual([]);
  }, LIMIT);

  test("shows text before the reply is complete", async () => {
    const { page, session } = await watch({ script: [{ stream: [{ text: "half of" }, { wait_ms: 60_000, text: " it" }] }] });
    await prompt(session);
    await page.locator(".reply .text", { hasText: "half of" }).waitFor();
    await page.locator("#stop").click();
    await status(page, "Idle");
    expect(await said(page)).toContain("Turn 1 cancelled");
  }, LIMIT);
});

inBrowser("a page that is reloaded", () => {
  test("in the middle of a reply looks as if it had been open all the time", async () => {
    const { page, session, wrong } = await watch({
      script: [{
        stream: [
          { reasoning: "let me think" },
          { text: "half " },
          { text: "of" },
          { call: { index: 0, id: "a", name: "nothing", arguments: {} } },
          { wait_ms: 60_000, text: " it" },
        ],
      }],
    });
    await prompt(session);
    await page.locator(".announced", { hasText: "nothing is being asked for" }).waitFor();
    await page.locator(".reply .text", { hasText: "half of" }).waitFor();
    const before = await said(page);
    expect(before).toContain("Reasoning");
    await page.reload();
    await page.locator(".announced", { hasText: "nothing is being asked for" }).waitFor();
    expect(await said(page)).toBe(before);
    // So it does to somebody who opens it now.
    const other = await page.context().newPage();
    await other.goto(`${subject.server.url}/#${session}`);
    await other.locator(".announced").waitFor();
    expect(await said(other)).toBe(before);
    await page.locator("#stop").click();
    await status(page, "Idle");
    expect(wrong).toEqual([]);
  }, LIMIT);

  test("in the middle of a call has the output so far, and takes what follows", async () => {
    const { page, session, wrong } = await watch({
      prepare: (workspace) =>
        workspace.tool("act", "echo first; echo second; while [ ! -e go ]; do sleep 0.02; done; echo third; sleep 60"),
      script: [{ text: "I act.", calls: [call("act")] }, { text: "done" }],
    });
    await prompt(session);
    await page.locator(".tail", { hasText: "first\nsecond" }).waitFor();
    const before = await said(page);
    await page.reload();
    await page.locator(".tail").waitFor();
    expect(await said(page)).toBe(before);
    await subject.workspace.write("go", "");
    await page.locator(".tail", { hasText: "first\nsecond\nthird" }).waitFor();
    await page.locator("#stop").click();
    await status(page, "Idle");
    expect(await page.locator(".tail").count()).toBe(0);
    expect(wrong).toEqual([]);
  }, LIMIT);
});

const asking = (replies: readonly object[], script = 'echo "$STELLA_INPUT_TEXT"'): TestServerOptions => ({
  prepare: (workspace) => workspace.tool("act", script, 'approval = "always"'),
  script: replies,
});

inBrowser("an approval", () => {
  test("is given from the page, by keyboard: what is shown is what would run, hidden characters included", async () => {
    const { page, session, wrong } = await watch(asking([{ calls: [call("act", { text: "rm \u202e/tmp", count: 3 })] }, { text: "done" }]));
    await prompt(session);
    await status(page, "Waits for you");
    expect(await page.title()).toMatch(/^● /);
    const card = page.locator(".ask");
    expect(await card.innerText()).toContain("rm ⟨U+202E⟩/tmp");
    await card.locator('.primary:not([aria-disabled="true"])').focus();
    await page.keyboard.press("Enter");
    await status(page, "Idle");
    await card.waitFor({ state: "detached" });
    expect(await page.locator("details.call .fate").innerText()).toContain("exit 0");
    expect(wrong).toEqual([]);
  }, LIMIT);

  test("is not needed any more when the mode is changed, which takes more than going through the choices", async () => {
    const { page, session, wrong } = await watch(
      {
        script: [{ calls: [call("touch_it", { file: "made" })] }, { text: "done" }],
        prepare: (workspace) => workspace.tool("touch_it", 'touch "$STELLA_INPUT_FILE"', 'approval = "always"'),
      },
      {},
      { mode: "normal" },
    );
    await prompt(session);
    await status(page, "Waits for you");
    const mode = page.getByLabel("Mode", { exact: true });
    expect(await mode.inputValue()).toBe("normal");
    await mode.focus();
    await mode.selectOption("yolo");
    await drawn(page);
    await status(page, "Waits for you");
    await page.keyboard.press("Tab");
    await page.keyboard.press("Enter");
    await page.locator(".remark", { hasText: "Mode: yolo" }).waitFor();
    await page.locator(".remark", { hasText: "Turn 1 completed" }).waitFor();
    await status(page, "Idle");
    expect(await page.locator("#change-mode").isDisabled()).toBe(true);
    const { events } = (await subject.ask("GET", `/v1/sessions/${session}/events`)).body as { events: readonly { type: string }[] };
    expect(events.filter(({ type }) => type === "mode_changed")).toHaveLength(1);
    expect(wrong).toEqual([]);
  }, LIMIT);

  test("is refused with a reason, which the log has", async () => {
    const { page, session } = await watch(asking([{ calls: [call("act")] }, { text: "done" }]));
    await prompt(session);
    await page.getByLabel("Reason, for the model").fill("not now");
    await page.getByRole("button", { name: "Deny" }).click();
    await status(page, "Idle");
    const { events } = (await subject.ask("GET", `/v1/sessions/${session}/events?limit=100`)).body;
    const answer = events.find(({ type }: { type: string }) => type === "approval_answered");
    expect(answer).toMatchObject({ decision: "deny", reason: "not now" });
  }, LIMIT);

  test("that somebody else gave goes from the page, and one of three releases that one alone", async () => {
    const calls = ["a", "b", "c"].map((text) => call("act", { text }));
    const options = asking([{ calls }, { text: "done" }]);
    const { page, session } = await watch({
      ...options,
      prepare: (workspace) => workspace.tool("act", 'echo "$STELLA_INPUT_TEXT"', 'approval = "always"\nread_only = true'),
    });
    await prompt(session);
    await page.locator(".ask").nth(2).waitFor();
    const asked = (text: string) => page.locator(".ask", { has: page.locator("code", { hasText: text }) });
    await asked("b").getByRole("button", { name: "Allow" }).click();
    await asked("b").waitFor({ state: "detached" });
    expect(await page.locator(".ask").count()).toBe(2);
    const [first] = (await subject.ask("GET", `/v1/sessions/${session}`)).body.approvals;
    await subject.ask("POST", `/v1/sessions/${session}/approvals/${first.call}`, { decision: "deny" });
    await asked("a").waitFor({ state: "detached" });
    await page.locator(".ask").getByRole("button", { name: "Deny" }).click();
    await status(page, "Idle");
    const tones = await attribute(page.locator("details.call"), "data-tone");
    expect(tones).toEqual(["bad", "good", "bad"]);
  }, LIMIT);
});

inBrowser("text that tries to be more than text", () => {
  const ATTACKS = [
    "<img src=x onerror=alert(1)>",
    "<script>alert(1)</script>",
    "</pre></li><iframe srcdoc='<script>parent.alert(1)</script>'></iframe>",
    '"><svg/onload=alert(1)>',
    "javascript:alert(1)",
    "[link](javascript:alert(1)) ![image](http://evil.example/x.png)",
    "`<b onclick=alert(1)>`  **<i>x</i>**",
    "```html\n<script src=//evil.example/x.js></script>\n```",
    "<style>*{display:none}</style><link rel=stylesheet href=//evil.example>",
    "__proto__ constructor {{7*7}} ${7*7} &lt;b&gt; <!-- -->",
  ];
  const ATTACK = ATTACKS.join("\n");

  test("stays text in every field that a model, a tool, a person or a path fills", async () => {
    const { page, session, wrong } = await watch(
      {
        prepare: async (workspace) => {
          await workspace.write("attack.txt", `${ATTACK}\n\u001b[31m\u0007\u0000`);
          await workspace.tool("act", "cat attack.txt; cat attack.txt >&2; exit 1", 'approval = "always"');
        },
        script: [
          {
            reasoning: ATTACK,
            text: ATTACK,
            calls: [call("act", { [ATTACK]: ATTACK, short: "<b>x</b>" }), call(`<b>${"x".repeat(70)}</b>`, { a: ATTACK })],
          },
          { calls: [call("task_create", { subject: ATTACKS[0] }), call("save_state", { key: "<i>key</i>", value: ATTACK })] },
          { attempts: [{ error: { message: ATTACK, kind: "rejected" } }] },
        ],
      },
      {},
      { title: ATTACK, system: ATTACK },
    );
    await prompt(session, ATTACK);
    await page.locator(".ask").waitFor();
    await page.getByLabel("Reason, for the model").fill(ATTACK);
    await page.getByRole("button", { name: "Allow" }).click();
    await status(page, "Idle");
    await page.evaluate(() => {
      for (const each of document.querySelectorAll("details")) each.open = true;
    });
    await bars(page, "call").first().hover();
    await drawn(page);
    const text = await page.locator("body").innerText();
    for (const part of ["<img src=x onerror=alert(1)>", "<script>alert(1)</script>", "<i>key</i>", "![image](http://evil.example/x.png)"]) {
      expect(text).toContain(part);
    }
    const made = await page.evaluate(() => ({
      foreign:
        document.querySelectorAll("img, iframe, object, embed, #session svg, b, i:not(.bar), body style, link[rel=stylesheet]").length,
      scripts: document.scripts.length,
      handlers: [...document.querySelectorAll("*")].filter((each) => each.getAttributeNames().some((name) => name.startsWith("on"))).length,
      links: [...document.querySelectorAll("a")].map((each) => each.getAttribute("href") ?? "").filter((href) =>
        !/^#(ses_[\w-]+)?$/.test(href)
      ),
    }));
    expect(made).toEqual({ foreign: 0, scripts: 1, handlers: 0, links: [] });
    expect(wrong).toEqual([]);
  }, LIMIT);

  test("could not become markup either if the page tried", async () => {
    const { page } = await watch({});
    const refused = await page.evaluate(() => {
      try {
        document.body.innerHTML = "<p>x</p>";
        return false;
      } catch (error) {
        return error instanceof TypeError;
      }
    });
    expect(refused).toBe(true);
  }, LIMIT);
});

inBrowser("signing in", () => {
  test("takes the link once: its code is gone from the address, and the token was never in the page", async () => {
    const { page } = await watch({});
    await page.goto(`${subject.server.url}/`);
    await page.locator("#sessions a").first().waitFor();
    const kept = await page.evaluate(() => JSON.stringify([{ ...sessionStorage }, { ...localStorage }, document.cookie, location.href]));
    expect(kept).not.toContain(subject.token);
    expect(kept).not.toContain("login=");
    const again = await look({ expected: /401/ });
    await again.page.goto(subject.server.login_url);
    await again.page.locator("#sign-in-word", { hasText: "This code is not good" }).waitFor();
    expect(again.page.url()).toBe(`${subject.server.url}/`);
  }, LIMIT);

  test("is asked for without a token, refuses a wrong one in words, takes the right one, and goes on where it was", async () => {
    subject = await startTestServer();
    const session = await subject.open({ title: "Behind the door" });
    const { page, wrong } = await look({ expected: /401/ });
    await page.goto(`${subject.server.url}/#${session}`);
    await page.locator("#sign-in").waitFor();
    expect(await page.locator("#app").isHidden()).toBe(true);
    await page.getByLabel("Token").fill("not-the-token-of-this-server");
    await page.keyboard.press("Enter");
    await page.locator("#sign-in-word", { hasText: "This is not the server's token." }).waitFor();
    await page.getByLabel("Token").fill("ümlaut");
    await page.keyboard.press("Enter");
    await page.locator("#sign-in-word", { hasText: "plain characters" }).waitFor();
    await page.getByLabel("Token").fill(subject.token);
    await page.keyboard.press("Enter");
    await page.locator("#title", { hasText: "Behind the door" }).waitFor();
    expect(await page.getByLabel("Token").inputValue()).toBe("");
    expect(wrong).toEqual([]);
  }, LIMIT);

  test("is not undone by the link that was used before, nor does that link keep a tab from asking the others", async () => {
    const { page, context } = await watch({}, { expected: /401/ });
    await page.goto(subject.server.login_url);
    await page.reload();
    await page.locator("#sessions a").first().waitFor();
    const tab = await context.newPage();
    await tab.goto(subject.server.login_url);
    await tab.locator("#sessions a").first().waitFor();
    expect(await tab.locator("#sign-in").isHidden()).toBe(true);
  }, LIMIT);

  test("counts for another tab of the same browser, and is over when the server forgets it", async () => {
    const { session, context } = await watch({});
    const tab = await context.newPage();
    await tab.goto(`${subject.server.url}/#${session}`);
    await status(tab, "Idle");
    await tab.evaluate(() => sessionStorage.setItem("orrery.token", "forgotten-by-the-server"));
    // Alone: nobody is there to sign it in again.
    for (const each of context.pages()) if (each !== tab) await each.close();
    await tab.reload();
    await tab.locator("#sign-in-word", { hasText: "does not know this browser" }).waitFor();
  }, LIMIT);
});

inBrowser("a connection that breaks", () => {
  test("is taken up again: nothing is lost and nothing comes twice, over a restart of the server too", async () => {
    const { page, session } = await watch({ script: [{ text: "one" }, { text: "two" }, { text: "three" }] }, { expected: /401|ERR_/ });
    // A browser that was signed in with the token itself is known after a restart.
    await page.evaluate((token) => sessionStorage.setItem("orrery.token", token), subject.token);
    await page.reload();
    await status(page, "Idle");
    await prompt(session, "first", "?wait=true");
    await page.locator(".remark", { hasText: "Turn 1 completed" }).waitFor();

    await subject.server.close(0);
    await page.locator("#link", { hasText: "Reconnecting" }).waitFor();
    const env = { PATH: process.env["PATH"] ?? "", HOME: subject.workspace.home, ORRERY_HOME: subject.workspace.home };
    const again = await startServer(subject.agent, { env, port: subject.port });
    try {
      await page.locator("#link", { hasText: "Connected" }).waitFor({ state: "attached" });
      await prompt(session, "second", "?wait=true");
      await page.locator(".remark", { hasText: "Turn 2 completed" }).waitFor();
      expect(await page.locator(".prompt .prose").allInnerTexts()).toEqual(["first", "second"]);
      expect(await page.locator(".reply .prose").allInnerTexts()).toEqual(["one", "two"]);

      await page.context().setOffline(true);
      await again.close(0);
      await page.locator("#link", { hasText: "Reconnecting" }).waitFor();
    } finally {
      await again.close(0);
    }
    const third = await startServer(subject.agent, { env, port: subject.port });
    try {
      await prompt(session, "third", "?wait=true");
      await page.context().setOffline(false);
      await page.locator(".remark", { hasText: "Turn 3 completed" }).waitFor();
      expect(await page.locator(".prompt .prose").allInnerTexts()).toEqual(["first", "second", "third"]);
    } finally {
      await third.close(0);
    }
  }, LIMIT);

  test("in the middle of a reply says so, and in the end the page has what one has that was never cut", async () => {
    subject = await startTestServer({
      server: { allowed_hosts: ["127.0.0.1"] },
      prepare: (workspace) => workspace.tool("act", "echo begun; while [ ! -e go ]; do sleep 0.02; done; echo over"),
      script: [{ text: "I wait.", calls: [call("act")] }, { text: "All done.", calls: [call("nothing")] }, { text: "The end." }],
    });
    const session = await subject.open();
    const network = await openNetwork(subject.port);
    try {
      const { page, wrong } = await visitThrough(network.port);
      await page.goto(`${network.url}/${new URL(subject.server.login_url).hash}`);
      await page.locator("#sessions a").first().click();
      await status(page, "Idle");
      await prompt(session);
      await page.locator(".tail", { hasText: "begun" }).waitFor();
      network.cut();
      await page.locator("#link", { hasText: "Reconnecting" }).waitFor();
      await subject.workspace.write("go", "");
      while ((await subject.ask("GET", `/v1/sessions/${session}`)).body.status !== "idle") await drawn(page);
      network.mend();
      await page.locator(".remark", { hasText: "Turn 1 completed" }).waitFor();
      const mended = await said(page);
      await page.reload();
      await page.locator(".remark", { hasText: "Turn 1 completed" }).waitFor();
      expect(await said(page)).toBe(mended);
      expect(await page.locator(".reply .prose").allInnerTexts()).toEqual(["I wait.", "All done.", "The end."]);
      expect(wrong).toEqual([]);
    } finally {
      network.close();
    }
  }, LIMIT);

  test("is given back by a page that nobody looks at, and taken up again when somebody does", async () => {
    const { page, session } = await watch({ script: [{ text: "one" }] });
    await page.clock.install();
    const see = (state: string) =>
      page.evaluate((now) => {
        Object.defineProperty(document, "visibilityState", { configurable: true, get: () => now });
        document.dispatchEvent(new Event("visibilitychange"));
      }, state);
    expect(subject.server.desk.counts.readers).toBe(1);
    await see("hidden");
    await page.clock.fastForward(61_000);
    while (subject.server.desk.counts.readers > 0) await page.clock.runFor(100);
    await prompt(session, "go", "?wait=true");
    await see("visible");
    await page.clock.runFor(5000);
    await page.locator(".remark", { hasText: "Turn 1 completed" }).waitFor();
  }, LIMIT);

  test("to a session that is removed says so", async () => {
    const { page, session } = await watch({});
    await subject.ask("DELETE", `/v1/sessions/${session}`);
    await page.locator("#progress", { hasText: "There is no such session" }).waitFor();
  }, LIMIT);
});

inBrowser("the past of a session", () => {
  async function played() {
    const watched = await watch(
      asking([{ text: "first", calls: [call("act", { text: "x" })] }, { text: "second" }, { text: "third" }]),
      {},
      { mode: "yolo" },
    );
    const running = prompt(watched.session, "go", "?wait=true");
    await watched.page.locator(".ask, .remark[data-tone=good]").first().waitFor();
    if (await watched.page.locator(".ask").count() > 0) await watched.page.getByRole("button", { name: "Allow" }).click();
    await running;
    await status(watched.page, "Idle");
    const { events } = (await subject.ask("GET", `/v1/sessions/${watched.session}/events?limit=200`)).body as {
      events: { type: string; seq: number }[];
    };
    const seqOf = (type: string) => events.find((event) => event.type === type)?.seq ?? 0;
    return { ...watched, events, seqOf };
  }

  test("is looked at event by event, by slider, buttons, address and Play; and left again", async () => {
    const { page, session, events, seqOf, wrong } = await played();
    const slider = page.getByLabel("Event", { exact: true });
    await slider.fill(String(seqOf("reply_committed")));
    await status(page, "Replay");
    expect(await said(page)).not.toContain("second");
    expect(await page.locator("details.call .fate").innerText()).toBe("requested");
    expect(await page.locator("#composer").isHidden()).toBe(true);
    await page.getByLabel("One event back").click();
    await drawn(page);
    expect(await page.locator("details.call").count()).toBe(0);
    await slider.focus();
    await page.keyboard.press("ArrowRight");
    await page.locator("details.call").waitFor();
    await page.waitForURL(`${subject.server.url}/#${session}@${seqOf("reply_committed")}`);
    await page.reload();
    await status(page, "Replay");
    expect(await said(page)).not.toContain("second");
    await page.getByRole("button", { name: "Play" }).click();
    await status(page, "Idle");
    expect(await page.locator("#where").innerText()).toContain(`${events.length} / ${events.length}`);
    await slider.fill("1");
    await page.getByRole("button", { name: "Back to now" }).click();
    await status(page, "Idle");
    expect(await said(page)).toContain("second");
    expect(wrong).toEqual([]);
  }, LIMIT);

  test("stays where it is while the session goes on", async () => {
    const { page, session, seqOf } = await played();
    await page.getByLabel("Event", { exact: true }).fill(String(seqOf("prompted")));
    await status(page, "Replay");
    await prompt(session, "and on", "?wait=true");
    await page.locator("#where", { hasText: new RegExp(`^${seqOf("prompted")} / (?!${seqOf("turn_ended")} )`) }).waitFor();
    expect(await said(page)).not.toContain("and on");
    await page.getByRole("button", { name: "Live" }).click();
    await page.locator(".reply", { hasText: "third" }).waitFor();
  }, LIMIT);

  test("is forked where one looks", async () => {
    const { page, session, seqOf } = await played();
    await page.getByLabel("Event", { exact: true }).fill(String(seqOf("reply_committed")));
    await page.getByRole("button", { name: "Fork from here" }).click();
    await page.locator(".remark", { hasText: "Forked from" }).waitFor();
    const fork = new URL(page.url()).hash.slice(1);
    expect([fork === session, fork.startsWith("ses_")]).toEqual([false, true]);
    expect(await said(page)).toContain("first");
    expect(await said(page)).not.toContain("second");
    const { events } = (await subject.ask("GET", `/v1/sessions/${fork}/events?limit=200`)).body;
    expect(events.find(({ type }: { type: string }) => type === "session_forked").from_seq).toBe(seqOf("reply_committed"));
  }, LIMIT);
});

inBrowser("a session of 10,000 events", () => {
  test("is read, drawn in part, and looked through without delay", async () => {
    const burst = Array.from(
      { length: 130 },
      (_reply, round) => ({ text: "more", calls: Array.from({ length: 38 }, (_each, index) => call(`nothing_${round}`, { index })) }),
    );
    subject = await startTestServer({ script: [...burst, { text: "the end" }] });
    const session = await subject.open({ title: "Long" });
    await prompt(session, "go", "?wait=true");
    const { head } = (await subject.ask("GET", `/v1/sessions/${session}/events?limit=1`)).body;
    expect(head).toBeGreaterThan(10_000);
    const { page, wrong } = await look();
    await page.goto(subject.server.login_url);
    await page.locator("#sessions a").first().click();
    await page.locator(".reply", { hasText: "the end" }).waitFor();
    const size = () => page.evaluate(() => document.querySelectorAll("*").length);
    expect(await size()).toBeLessThan(6000);
    const started = performance.now();
    for (const seq of [1, head - 1, Math.floor(head / 2), Math.floor(head / 2) + 1]) {
      await page.getByLabel("Event", { exact: true }).fill(String(seq));
      await drawn(page);
      await page.locator("#where", { hasText: `${seq} / ${head}` }).waitFor();
    }
    expect(performance.now() - started).toBeLessThan(10_000);
    await page.getByRole("button", { name: "Live" }).click();
    await page.locator("#timeline-choice").selectOption("all");
    for (let times = 0; times < 6; times++) await page.getByLabel("Zoom in", { exact: true }).click();
    await drawn(page);
    expect(await page.locator(".track .bar").count()).toBeLessThan(1000);
    await page.getByRole("button", { name: /^Show earlier/ }).click();
    await drawn(page);
    expect(await size()).toBeLessThan(15_000);
    expect(wrong).toEqual([]);
  }, 120_000);
});

inBrowser("the page", () => {
  const script = [{ text: "I look.", calls: [call("read_file", { path: "a.txt" }), call("read_file", { path: "b.txt" })] }, {
    text: "All read.",
  }];
  const prepare = async (workspace: TestServer["workspace"]) => void await workspace.write("a.txt", "a");

  test("is used by keyboard: from the list to a session, along the bars, into a call", async () => {
    const { page, session } = await watch({ script, prepare });
    await prompt(session, "go", "?wait=true");
    await page.goto(`${subject.server.url}/`);
    await page.locator("#sessions a").first().focus();
    await page.keyboard.press("Enter");
    await page.locator(".reply", { hasText: "All read." }).waitFor();
    expect(await page.evaluate(() => document.activeElement?.id)).toBe("title");
    await page.getByRole("button", { name: "Skip to the conversation" }).focus();
    await page.keyboard.press("Enter");
    expect(await page.evaluate(() => document.activeElement?.id)).toBe("scroller");
    await page.locator(".reply", { hasText: "All read." }).waitFor();
    const focusable = await bars(page, "model").or(bars(page, "call")).or(bars(page, "early")).evaluateAll((all) =>
      all.filter((each) => (each as HTMLElement).tabIndex === 0).length
    );
    expect(focusable).toBe(1);
    await page.locator('.track .bar[tabindex="0"]').focus();
    await page.keyboard.press("Home");
    expect(await page.evaluate(() => document.activeElement?.getAttribute("aria-label"))).toMatch(/^Model: reply 1, asks for 2 calls/);
    await page.keyboard.press("ArrowDown");
    const label = await page.evaluate(() => document.activeElement?.getAttribute("aria-label") ?? "");
    expect(label).toMatch(/read_file/);
    expect(await page.locator("#timeline-hint").innerText()).toBe(label);
    await page.keyboard.press("Enter");
    expect(await page.locator("details.call[open]").count()).toBe(1);
    expect(await page.evaluate(() => document.activeElement?.tagName)).toBe("SUMMARY");
  }, LIMIT);

  test("has a name for every control, one first heading, and text that stands out, light and dark", async () => {
    for (const dark of [false, true]) {
      const { page, session, wrong } = await watch({ script, prepare }, { dark });
      await prompt(session, "go", "?wait=true");
      await page.locator(".reply", { hasText: "All read." }).waitFor();
      const found = await page.evaluate(examine);
      expect(found).toEqual({ nameless: [], headings: 1, faint: [] });
      expect(wrong).toEqual([]);
      if (!dark) await subject.close();
    }
  }, LIMIT);

  test("fits a phone: nothing is wider than it, the list and a session take turns, tasks are one tap away", async () => {
    const { page, session, wrong } = await watch({
      script: [{ calls: [call("task_create", { subject: "Fits" })] }, { text: "w".repeat(500) }],
      prepare,
    }, { width: 360 });
    await prompt(session, "x".repeat(300), "?wait=true");
    await page.locator(".remark", { hasText: "Turn 1 completed" }).waitFor();
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(360);
    expect(await page.locator("#scroller").evaluate((each) => each.scrollWidth - each.clientWidth)).toBe(0);
    expect(await page.locator("#side").isVisible()).toBe(false);
    await page.getByRole("button", { name: "Details" }).click();
    await page.locator("#task-list", { hasText: "Fits" }).waitFor();
    await page.getByLabel("All sessions").click();
    await page.locator("#sessions a").first().waitFor();
    expect(await page.locator("#session").isVisible()).toBe(false);
    expect(wrong).toEqual([]);
  }, LIMIT);

  test("has room on a phone for the name of a session that waits", async () => {
    const { page, session, wrong } = await watch({
      script: [{ calls: [call("look")] }, { text: "done" }],
      prepare: (workspace) => workspace.tool("look", "echo seen", 'approval = "always"'),
    }, { width: 360 });
    await prompt(session);
    await status(page, "Waits for you");
    const { width = 0 } = await page.locator("#title").boundingBox() ?? {};
    expect(width).toBeGreaterThan(60);
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(360);
    expect(wrong).toEqual([]);
  }, LIMIT);

  test("shows nothing of the session before under the name of one that is gone or was never there", async () => {
    const { page, session } = await watch({ script: [{ text: "said here" }] }, { expected: /404/ });
    await prompt(session, "go", "?wait=true");
    await page.locator(".remark", { hasText: "Turn 1 completed" }).waitFor();
    const removed = await subject.open({ title: "Soon removed" });
    await subject.ask("DELETE", `/v1/sessions/${removed}`);
    for (const hash of [removed, "ses_01a22983-a7ad-76e0-92c7-7b05c2411149", `${removed}@3`]) {
      await page.goto(`${subject.server.url}/#${session}`);
      await page.locator(".reply", { hasText: "said here" }).waitFor();
      expect(await page.locator("#fork").isEnabled()).toBe(true);
      await page.goto(`${subject.server.url}/#${hash}`);
      await page.locator("#progress", { hasText: "There is no such session" }).waitFor();
      await drawn(page);
      expect(await page.locator("#conversation li").count()).toBe(0);
      expect(await page.locator("#timeline .bar:not(.legend .bar)").count()).toBe(0);
      expect(await page.locator("#where").innerText()).toBe("0 / 0");
      expect(await page.getByRole("button", { name: /^Fork/ }).count()).toBe(0);
      await page.locator("#status").waitFor({ state: "hidden" });
    }
    await page.goto(`${subject.server.url}/#${session}@2`);
    await status(page, "Replay");
    await page.locator(".prompt", { hasText: "go" }).waitFor();
    expect(await page.locator("#fork-here").isEnabled()).toBe(true);
  }, LIMIT);

  test("begins a session, and lists what others begin", async () => {
    const { page, session } = await watch({ script: [{ text: "hello" }] });
    await page.getByRole("button", { name: "New session" }).click();
    await page.waitForURL((url) => url.hash !== "" && url.hash !== `#${session}`);
    await page.locator("#prompt").fill("hi");
    await page.getByRole("button", { name: "Send" }).click();
    await page.locator(".reply", { hasText: "hello" }).waitFor();
    await subject.open({ title: "From elsewhere" });
    await page.locator("#sessions a", { hasText: "From elsewhere" }).waitFor();
  }, LIMIT);
});

inBrowser("a prompt that waits", () => {
  const SILENT = { text: ["a", "b"], delay_ms: 60_000 };

  test("is shown while it waits, and said not to have run when it is dropped; it can be taken up again", async () => {
    const { page, session, wrong } = await watch({ script: [SILENT] });
    const send = async (text: string) => {
      await page.locator("#prompt").fill(text);
      await page.locator("#send").click();
    };
    await send("first");
    await status(page, "Running");
    await send("waits its turn");
    await page.locator("#queued li", { hasText: "Queued" }).filter({ hasText: "waits its turn" }).waitFor();
    // Whoever opens the page sees it too.
    const other = await page.context().newPage();
    await other.goto(`${subject.server.url}/#${session}`);
    await other.locator("#queued li", { hasText: "waits its turn" }).waitFor();
    await other.locator("#stop").click();
    await page.locator("#queued .dropped", { hasText: "waits its turn" }).waitFor();
    await page.getByRole("button", { name: "Edit again" }).click();
    expect(await page.locator("#prompt").inputValue()).toBe("waits its turn");
    expect(await page.locator("#queued").isHidden()).toBe(true);
    await page.locator("#send").click();
    await page.locator("#conversation", { hasText: "waits its turn" }).waitFor();
    expect(wrong).toEqual([]);
  }, LIMIT);

  test("is said not to have run after a reload too, until that is dismissed", async () => {
    const { page, session, wrong } = await watch({ script: [SILENT] });
    await prompt(session);
    await status(page, "Running");
    await page.locator("#prompt").fill("waits its turn");
    await page.locator("#send").click();
    await page.locator("#queued li", { hasText: "waits its turn" }).waitFor();
    await page.reload();
    await page.locator("#queued li", { hasText: "Queued" }).filter({ hasText: "waits its turn" }).waitFor();
    expect(await page.locator("#queued .dropped").count()).toBe(0);
    await page.locator("#stop").click();
    await page.locator("#queued .dropped", { hasText: "waits its turn" }).waitFor();
    await page.reload();
    await page.locator("#queued .dropped", { hasText: "waits its turn" }).waitFor();
    await page.getByRole("button", { name: "Dismiss" }).click();
    await page.reload();
    await status(page, "Idle");
    await page.locator("#prompt").fill("second");
    await page.locator("#send").click();
    await page.locator("#conversation", { hasText: "second" }).waitFor();
    expect(await page.locator("#queued").isHidden()).toBe(true);
    expect(wrong).toEqual([]);
  }, LIMIT);

  test("that is not sent yet is still there after another session was looked at, and nothing of that one is", async () => {
    const { page, session } = await watch({ script: [{ text: "hello" }] });
    await page.locator("#prompt").fill("a long draft");
    const other = await subject.open({ title: "Another" });
    await page.goto(`${subject.server.url}/#${other}`);
    await page.locator("#title", { hasText: "Another" }).waitFor();
    expect(await page.locator("#prompt").inputValue()).toBe("");
    await page.goto(`${subject.server.url}/#${session}`);
    await page.locator("#title", { hasText: "A session" }).waitFor();
    expect(await page.locator("#prompt").inputValue()).toBe("a long draft");
  }, LIMIT);

  test("leaves no word of a bar under the timeline of another session", async () => {
    const { page } = await watch({ script: [{ text: "hello" }] });
    const hint = page.locator("#timeline-hint");
    const quiet = await hint.innerText();
    await page.locator("#prompt").fill("go");
    await page.locator("#send").click();
    await page.locator("#timeline-rows button").first().focus();
    expect(await hint.innerText()).not.toBe(quiet);
    const other = await subject.open({ title: "Another" });
    await page.evaluate((to) => void (location.hash = to), other);
    await page.locator("#title", { hasText: "Another" }).waitFor();
    expect(await hint.innerText()).toBe(quiet);
  }, LIMIT);
});

/** Runs in the page: controls without a name, first headings, and text with less contrast than 4.5 to 1. */
function examine() {
  const visible = (each: Element) => each.checkVisibility();
  const nameOf = (each: Element) => {
    const label = each.id === "" ? null : document.querySelector(`label[for="${each.id}"]`);
    return (each.getAttribute("aria-label") ?? label?.textContent ?? each.textContent ?? "").trim();
  };
  const controls = [...document.querySelectorAll("button, a, input, select, textarea, summary")].filter(visible);
  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const toRgb = (colour: string): readonly number[] => {
    if (canvas === null) return [0, 0, 0, 0];
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = colour;
    canvas.fillRect(0, 0, 1, 1);
    return [...canvas.getImageData(0, 0, 1, 1).data];
  };
  const light = (rgb: readonly number[]) => {
    const [red = 0, green = 0, blue = 0] = rgb.map((each) => each / 255).map((each) =>
      each <= 0.04045 ? each / 12.92 : ((each + 0.055) / 1.055) ** 2.4
    );
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  };
  const ground = (each: Element | null): readonly number[] => {
    for (let at = each; at !== null; at = at.parentElement) {
      const rgb = toRgb(getComputedStyle(at).backgroundColor);
      if ((rgb[3] ?? 0) > 250) return rgb;
    }
    return [255, 255, 255, 255];
  };
  const own = (each: Element) => [...each.childNodes].some((child) => child.nodeType === 3 && (child.textContent ?? "").trim() !== "");
  const faint = [...document.querySelectorAll("body *")].filter((each) =>
    visible(each) && own(each) && !(each instanceof HTMLButtonElement && each.disabled) && getComputedStyle(each).backgroundImage === "none"
  ).flatMap((each) => {
    const [one, two] = [light(toRgb(getComputedStyle(each).color)), light(ground(each))];
    const ratio = (Math.max(one, two) + 0.05) / (Math.min(one, two) + 0.05);
    return ratio < 4.5 ? [`${each.tagName}.${each.className} ${(each.textContent ?? "").slice(0, 20)}: ${ratio.toFixed(2)}`] : [];
  });
  return {
    nameless: controls.filter((each) => nameOf(each) === "").map((each) => each.outerHTML.slice(0, 80)),
    headings: [...document.querySelectorAll("h1")].filter(visible).length,
    faint,
  };
}
