/**
 * What the HTTP side costs, each beside the least that Hono could do in the same run: the state of a long session, many
 * readers of one session, and the way of an event from its append to a client. Run: `bun tests/bench/http.bench.ts` or
 * `deno run -A --no-check --config deno.json tests/bench/http.bench.ts`.
 *
 * Server and clients are two processes on loopback. The bare app is served by the host's own server (`Bun.serve`,
 * `Deno.serve`), which is what one would write, and for the state also by our listener, which tells the cost of the app
 * from that of `node:http`. Not measured: TLS, a real network, several sessions at once, the memory of an idle binary.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { Hono } from "hono";
import { streamSSE } from "hono/streaming";
import { openAgent } from "../../lib/agent/agent.ts";
import { createApp } from "../../lib/http/app.ts";
import { Credentials } from "../../lib/http/auth.ts";
import { Desk } from "../../lib/agent/desk.ts";
import { listen } from "../../lib/http/listen.ts";
import { openSqliteJournal } from "../../lib/journal/sqlite.ts";
import type { SessionEvent } from "../../lib/session/event.ts";
import { newOwner, newSession, notices, opened } from "../fixtures/journal/events.ts";
import { sampleSession } from "../fixtures/journal/sample.ts";

const TOKEN = "a-token-for-the-benchmark";
const READERS = 200;
const EVENTS = 5000;

interface Served {
  readonly ours: number;
  readonly bare: number;
  /** The bare app on our own listener. */
  readonly listened: number;
  /** With 1,000 events of all kinds, and with 5,000 small ones. */
  readonly state: string;
  readonly long: string;
}

if (process.argv[2] === "serve") await serve(process.argv[3] ?? "");
else await measure();

async function serve(home: string): Promise<void> {
  const journal = openSqliteJournal({ path: join(home, "data/journal.sqlite") });
  const [state, long] = [newSession(), newSession()];
  const here = (events: readonly SessionEvent[]) =>
    events.map((event) => event.type === "session_opened" ? { ...event, workspace: home } : event);
  const write = async (session: string, events: readonly SessionEvent[]) => {
    const lease = await journal.acquire(session, newOwner());
    for (let from = 0; from < events.length; from += 1000) await journal.append(lease, from, events.slice(from, from + 1000));
    await lease.release();
  };
  await write(state, here(sampleSession(state, 1000)));
  await write(long, here([opened(long), ...notices(long, 1, EVENTS - 1, "x".repeat(200))]));

  const agent = openAgent({ workspace: home, env: { ORRERY_HOME: home, HOME: home } });
  const desk = new Desk(agent);
  const app = createApp(desk, { credentials: new Credentials(TOKEN), hosts: () => ["127.0.0.1"], version: "bench" });
  const ours = await listen((request, connection) => app.fetch(request, { connection }), { host: "127.0.0.1", port: 0 });

  const document = JSON.parse(
    await (await app.request(`http://127.0.0.1/v1/sessions/${state}`, { headers: { authorization: `Bearer ${TOKEN}` } })).text(),
  ) as object;
  const frames = [...(await journal.read(long))].map((row) => row.kind === "event" ? row.event : null);
  const bareApp = new Hono();
  bareApp.get("/state", (c) => c.json(document));
  bareApp.get("/events", (c) =>
    streamSSE(c, async (stream) => {
      for (const event of frames) await stream.writeSSE({ id: String(event?.seq), data: JSON.stringify(event) });
    }));
  const bare = serveByHost((request) => bareApp.fetch(request));
  const { port: listened } = await listen((request) => bareApp.fetch(request), { host: "127.0.0.1", port: 0 });
  process.stdout.write(`${JSON.stringify({ ours: ours.port, bare, listened, state, long } satisfies Served)}\n`);
}

interface Hosts {
  readonly Bun?: { serve(options: object): { readonly port: number } };
  readonly Deno?: { serve(options: object, fetch: (request: Request) => unknown): { readonly addr: { readonly port: number } } };
}

/** The port of the server that everybody on this host would take. */
function serveByHost(fetch: (request: Request) => Response | Promise<Response>): number {
  const { Bun, Deno } = globalThis as Hosts;
  if (Bun !== undefined) return Bun.serve({ hostname: "127.0.0.1", port: 0, idleTimeout: 0, fetch }).port;
  return Deno?.serve({ hostname: "127.0.0.1", port: 0, onListen: () => undefined }, fetch).addr.port ?? 0;
}

async function measure(): Promise<void> {
  const home = await mkdtemp(join(tmpdir(), "orrery-bench-"));
  const own = new URL(import.meta.url).pathname;
  const args = process.versions["deno"] === undefined
    ? [own]
    : ["run", "-A", "--no-check", "--config", new URL("../../deno.json", import.meta.url).pathname, own];
  const child = spawn(process.execPath, [...args, "serve", home], { stdio: ["ignore", "pipe", "inherit"] });
  try {
    const [line] = await once(child.stdout, "data") as [Uint8Array];
    const served = JSON.parse(String(line)) as Served;
    await compareStates(served);
    await compareReaders(served);
    await measureLatency();
  } finally {
    child.kill("SIGKILL");
    await rm(home, { recursive: true, force: true });
  }
}

async function compareStates({ ours, bare, listened, state }: Served): Promise<void> {
  const headers = { authorization: `Bearer ${TOKEN}` };
  const asks = [`${bare}/state`, `${listened}/state`, `${ours}/v1/sessions/${state}`];
  const times: number[][] = asks.map(() => []);
  let size = 0;
  for (let round = -120; round < 600; round++) {
    // In turns: what one of them leaves to the collector is paid by the next.
    const turn = Math.abs(round) % asks.length;
    for (const [index, path] of [...asks.entries()].slice(turn).concat([...asks.entries()].slice(0, turn))) {
      const time = await timed(async () => void (size = (await (await fetch(`http://127.0.0.1:${path}`, { headers })).text()).length));
      if (round >= 0) times[index]?.push(time);
    }
  }
  const [their = NaN, middle = NaN, our = NaN] = times.map((each) => quantile(each, 0.5));
  console.log(
    `state of a session of 1,000 events (${(size / 1024).toFixed(0)} KiB): ours median ${
      show(our)
    }; bare c.json() on the host's own server ${show(their)}: ${(our / their).toFixed(2)} times, on our listener ${show(middle)}: ${
      (our / middle).toFixed(2)
    } times`,
  );
}

async function compareReaders({ ours, bare, long }: Served): Promise<void> {
  const path = `/v1/sessions/${long}/events`;
  for (const round of ["first", "second", "third"]) {
    const bareTime = await timed(() => Promise.all(Array.from({ length: READERS }, () => readAll(bare, "/events"))));
    const ourTime = await timed(() => Promise.all(Array.from({ length: READERS }, () => readAll(ours, path))));
    const rate = (time: number) => `${Math.round(READERS * EVENTS / time).toLocaleString("en")} events/ms`;
    console.log(
      `${READERS} readers of ${EVENTS} events (${round}): ours ${rate(ourTime)}, bare streamSSE() ${rate(bareTime)}: ${
        (bareTime / ourTime * 100).toFixed(0)
      } %`,
    );
  }
}

/** Every event, its id checked; without parsing what is in it, so that the client is not what is measured. */
function readAll(port: number, path: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, "127.0.0.1");
    let next = 1;
    let rest = "";
    socket.on("error", reject);
    socket.on("data", (bytes) => {
      const text = rest + bytes.toString("latin1");
      let from = 0;
      for (let at = text.indexOf("\nid: ", from); at >= 0; at = text.indexOf("\nid: ", from)) {
        const end = text.indexOf("\n", at + 1);
        if (end < 0) break;
        if (Number(text.slice(at + 5, end)) !== next++) return reject(new Error(`event ${next - 1} is missing`));
        from = end;
      }
      rest = text.slice(Math.max(from, text.length - 16));
      if (next <= EVENTS) return;
      socket.destroy();
      resolve();
    });
    socket.write(`GET ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer ${TOKEN}\r\nAccept: text/event-stream\r\n\r\n`);
  });
}

/** In one process, so that there is one clock: a turn's own events, from the moment they are recorded to the client's callback. */
async function measureLatency(): Promise<void> {
  const home = await mkdtemp(join(tmpdir(), "orrery-bench-"));
  const replies = [
    ...Array.from({ length: 300 }, (_each, index) => ({ calls: [{ name: "nothing", arguments: { index } }], delay_ms: 3 })),
    { text: "done" },
  ];
  await writeFile(join(home, "script.json"), JSON.stringify({ replies }));
  const agent = openAgent({
    workspace: home,
    model: `script:${join(home, "script.json")}`,
    maxSteps: 1000,
    env: { ORRERY_HOME: home, HOME: home },
  });
  const desk = new Desk(agent);
  const app = createApp(desk, { credentials: new Credentials(TOKEN), hosts: () => ["127.0.0.1"], version: "bench" });
  const listener = await listen((request, connection) => app.fetch(request, { connection }), { host: "127.0.0.1", port: 0 });
  const { state } = await desk.create({});
  const told = new Map<number, number>();
  desk.watch((event) => "seq" in event && void told.set(event.seq, performance.now()));
  const recorded: number[] = [];
  const durable: number[] = [];
  const socket = connect(listener.port, "127.0.0.1");
  socket.write(
    `GET /v1/sessions/${state.session}/events?after=1 HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer ${TOKEN}\r\nAccept: text/event-stream\r\n\r\n`,
  );
  socket.on("data", (bytes) => {
    const now = performance.now();
    for (const [, id, at] of bytes.toString().matchAll(/^id: (\d+)\ndata: .*?"at":"([^"]+)"/gm)) {
      durable.push(now - (told.get(Number(id)) ?? NaN));
      recorded.push(performance.timeOrigin + now - Date.parse(at ?? ""));
    }
  });
  const { ended } = await desk.prompt(state.session ?? "", "go", { source: "bench", if_busy: "refuse" });
  await ended;
  await new Promise((resolve) => setTimeout(resolve, 200));
  console.log(
    `recorded (with its flush to disk) to frame at the client: median ${show(quantile(recorded, 0.5))}, p95 ${
      show(quantile(recorded, 0.95))
    } (to the millisecond), ${recorded.length} events`,
  );
  console.log(`durable to frame at the client: median ${show(quantile(durable, 0.5))}, p95 ${show(quantile(durable, 0.95))}`);
  socket.destroy();
  await desk.drain(0);
  await listener.close(0);
  await agent.close();
  await rm(home, { recursive: true, force: true });
}

async function timed(work: () => unknown): Promise<number> {
  const start = performance.now();
  await work();
  return performance.now() - start;
}

function quantile(times: readonly number[], part: number): number {
  const sorted = times.toSorted((left, right) => left - right);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? NaN;
}

function show(milliseconds: number): string {
  return `${milliseconds.toFixed(3)} ms`;
}
