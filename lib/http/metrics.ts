/** Prometheus metrics, with labels from fixed sets only: no session, tool, model or path is ever a label. */
import { Counter, Gauge, Histogram, Registry } from "prom-client";
import type { Desk } from "../agent/desk.ts";
import type { FeedEvent } from "../agent/feed.ts";
import { isKnown } from "../session/event.ts";
import type { StreamEnd } from "./sse.ts";

export interface Metrics {
  request(seen: { readonly method: string; readonly route: string; readonly status: number; readonly seconds: number }): void;
  streamEnded(how: StreamEnd): void;
  readonly content_type: string;
  text(): Promise<string>;
}

const METHODS = new Set(["GET", "POST", "DELETE", "HEAD", "OPTIONS"]);

export function createMetrics(desk: Desk, version: string): Metrics {
  const registry = new Registry();
  const registers = [registry];
  const counter = <L extends string>(name: string, help: string, labelNames: readonly L[]) =>
    new Counter<L>({ name, help, labelNames, registers });
  const requests = counter("orrery_http_requests_total", "Requests answered", ["method", "route", "status"]);
  const durations = new Histogram({
    name: "orrery_http_request_duration_seconds",
    help: "Until the head of the answer",
    labelNames: ["route"],
    buckets: [0.001, 0.005, 0.025, 0.1, 0.5, 2.5, 10],
    registers,
  });
  const streams = counter("orrery_event_streams_ended_total", "Event streams that ended, by how", ["how"]);
  gauge("orrery_open_sessions", "Sessions that this runtime has open", () => desk.counts.sessions);
  gauge("orrery_running_turns", "Turns that do more than wait for answers", () => desk.counts.turns - desk.counts.waiting);
  gauge("orrery_waiting_turns", "Turns that only wait for answers", () => desk.counts.waiting);
  gauge("orrery_event_readers", "Clients that follow a session", () => desk.counts.readers);
  gauge("orrery_draining", "1 while the server shuts down", () => desk.draining ? 1 : 0);
  new Gauge({ name: "orrery_build_info", help: "The version that runs", labelNames: ["version"], registers }).set({ version }, 1);
  desk.watch(watchSessions(registers));
  return {
    request: ({ method, route, status, seconds }) => {
      requests.inc({ method: METHODS.has(method) ? method : "other", route, status: String(status) });
      durations.observe({ route }, seconds);
    },
    streamEnded: (how) => streams.inc({ how }),
    content_type: registry.contentType,
    text: () => registry.metrics(),
  };

  function gauge(name: string, help: string, value: () => number): void {
    new Gauge({
      name,
      help,
      registers,
      collect() {
        this.set(value());
      },
    });
  }
}

/** Counts what is recorded in the sessions that are driven here. */
function watchSessions(registers: Registry[]): (event: FeedEvent) => void {
  const counter = <L extends string>(name: string, help: string, labelNames: readonly L[]) =>
    new Counter<L>({ name, help, labelNames, registers });
  const turns = counter("orrery_turns_total", "Turns that ended, by reason", ["reason"]);
  const calls = counter("orrery_calls_total", "Calls that ended, by outcome", ["outcome"]);
  const durations = new Histogram({
    name: "orrery_call_duration_seconds",
    help: "How long calls ran",
    labelNames: ["outcome"],
    buckets: [0.005, 0.025, 0.1, 0.5, 2, 10, 60, 300],
    registers,
  });
  const speculations = counter("orrery_speculations_total", "Early runs, by what became of them", ["stage"]);
  // A rate begins with a zero that was seen.
  for (const stage of ["started", "adopted", "discarded"]) speculations.inc({ stage }, 0);
  const reaped = counter("orrery_processes_reaped_total", "Processes that outlived their call's own and were ended", []);
  const attempts = counter("orrery_model_attempts_total", "Attempts at a reply, by result", ["result"]);
  return (event) => {
    if (!("seq" in event) || !isKnown(event)) return;
    if (event.type === "turn_ended") turns.inc({ reason: event.reason });
    else if (event.type === "call_ended") {
      calls.inc({ outcome: event.outcome.kind });
      durations.observe({ outcome: event.outcome.kind }, event.duration_ms / 1000);
      if (event.speculation !== undefined) speculations.inc({ stage: "adopted" });
      if (event.reaped !== undefined) reaped.inc(event.reaped.length + (event.reaped_omitted ?? 0));
    } else if (event.type === "speculation_started") speculations.inc({ stage: "started" });
    else if (event.type === "speculation_discarded") speculations.inc({ stage: "discarded" });
    else if (event.type === "reply_committed") attempts.inc({ result: "committed" });
    else if (event.type === "attempt_failed") attempts.inc({ result: event.error.kind });
  };
}
