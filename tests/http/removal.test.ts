/** What comes to a session while it is removed: every answer is one that a client can act on. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { startTestServer, type TestServer } from "../fixtures/server.ts";

let subject: TestServer;

beforeAll(async () => {
  subject = await startTestServer();
});
afterAll(() => subject.close());

const ROUNDS = 15;
type Outcome = readonly [status: number, code: string | undefined];

async function ask(method: string, path: string, body?: object): Promise<Outcome> {
  const reply = await subject.ask(method, `/v1/sessions/${path}`, body);
  return [reply.status, reply.body?.type?.split(":").at(-1)];
}

/** The answers to a removal and what was sent with it, in either order, to a session that is open or not. */
async function race(send: (id: string) => Promise<Outcome>): Promise<readonly string[]> {
  const seen = new Set<string>();
  for (let round = 0; round < ROUNDS; round++) {
    const id = await subject.open();
    if (round % 3 === 0) await subject.ask("POST", `/v1/sessions/${id}/prompts?wait=true`, { text: "go" });
    const both = round % 2 === 0
      ? await Promise.all([ask("DELETE", id), send(id)])
      : (await Promise.all([send(id), ask("DELETE", id)])).toReversed();
    seen.add(JSON.stringify(both.map(([status, code]) => code ?? status)));
    if (both[0]?.[0] === 204) expect(await ask("GET", id)).toEqual([404, "unknown_session"]);
  }
  return [...seen];
}

describe("a removal", () => {
  test("takes back what was answered under a key: sent again, it finds nothing", async () => {
    const id = await subject.open();
    const other = await subject.open();
    const key = { "idempotency-key": "one" };
    const sends = [["prompts", { text: "go" }], ["fork", {}], ["mode", { mode: "plan" }]] as const;
    for (const session of [id, other]) {
      for (const [path, body] of sends) {
        const wait = path === "prompts" ? "?wait=true" : "";
        expect((await subject.ask("POST", `/v1/sessions/${session}/${path}${wait}`, body, key)).status).toBeLessThan(300);
      }
    }
    expect((await ask("DELETE", id))[0]).toBe(204);
    for (const [path, body] of sends) {
      const gone = await subject.ask("POST", `/v1/sessions/${id}/${path}`, body, key);
      expect([path, gone.status, gone.body.type]).toEqual([path, 404, "urn:orrery:problem:unknown_session"]);
      const kept = await subject.ask("POST", `/v1/sessions/${other}/${path}`, body, key);
      expect([path, kept.headers.get("idempotency-replayed")]).toEqual([path, "true"]);
    }
  });

  test("takes back that it was made, or forked, under a key: sent again, the request makes another", async () => {
    const from = await subject.open();
    for (const path of ["/v1/sessions", `/v1/sessions/${from}/fork`]) {
      const make = async (key: string) => {
        const { status, headers, body } = await subject.ask("POST", path, {}, { "idempotency-key": key });
        return { status, session: body.session as string, replayed: headers.get("idempotency-replayed") };
      };
      const [gone, kept] = [await make("gone"), await make("kept")];
      expect((await ask("DELETE", gone.session))[0]).toBe(204);
      const again = await make("gone");
      expect([again.status, again.replayed]).toEqual([201, null]);
      expect(await ask("GET", again.session)).toEqual([200, undefined]);
      expect(await make("kept")).toEqual({ ...kept, replayed: "true" });
    }
  });

  test("beside a prompt is refused as the turn runs, or done before it: then there is no such session", async () => {
    // A turn that is over at once no longer keeps a removal off.
    const allowed = ['["busy",202]', '[204,"unknown_session"]', "[204,202]"];
    for (const both of await race((id) => ask("POST", `${id}/prompts`, { text: "go" }))) expect(allowed).toContain(both);
  }, 30_000);

  test("beside another one is the same: both are done, unless the other comes when there is nothing left", async () => {
    // Either may be the first to come.
    const allowed = ["[204,204]", '[204,"unknown_session"]', '["unknown_session",204]'];
    for (const both of await race((id) => ask("DELETE", id))) expect(allowed).toContain(both);
  }, 30_000);

  test("beside a fork, a cancel or a resume lets them come before or find nothing", async () => {
    for (const both of await race((id) => ask("POST", `${id}/fork`, {}))) expect(["[204,201]", '[204,"unknown_session"]']).toContain(both);
    for (const path of ["cancel", "resume"]) {
      const allowed = ['[204,"no_turn"]', '[204,"unknown_session"]'];
      for (const both of await race((id) => ask("POST", `${id}/${path}`, {}))) expect(allowed).toContain(both);
    }
  }, 30_000);
});
