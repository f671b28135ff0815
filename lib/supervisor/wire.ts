/**
 * The two conversations, types and schemas only: main thread ↔ worker thread (structured clone), and worker thread ↔
 * tool host (one JSON document per line). Each side parses what it gets, once, where it comes in.
 */
import * as v from "valibot";
import { isTooDeep, type Json, type JsonObject, MAX_DEPTH } from "../session/json.ts";
import type { HostContext, HostModule, HostReply, Launch, ProcessIdentity, Run } from "../session/launch.ts";
import { Outcome, ReapedProcess } from "../session/outcome.ts";
import { UNWANTED } from "./first-cause.ts";

const id = v.pipe(v.number(), v.integer());
const duration = v.pipe(v.number(), v.finite(), v.minValue(0));
/** Not `v.record`, which drops names that mean something to JavaScript: `constructor` may be anybody's variable. */
const environment = v.custom<Readonly<Record<string, string>>>(
  (value) => typeof value === "object" && value !== null && Object.values(value).every((each) => typeof each === "string"),
  "an object of strings",
);
/** What lies deeper may not pass from thread to thread: a worker that sent it would die. */
const LEVELS = `of at most ${MAX_DEPTH} levels`;
const json = v.custom<Json>((value) => value !== undefined && !isTooDeep(value), `JSON ${LEVELS}`);
const jsonObject = v.custom<JsonObject>(
  (value) => typeof value === "object" && value !== null && !Array.isArray(value) && !isTooDeep(value),
  `a JSON object ${LEVELS}`,
);

const HostContextSchema = v.object({
  workspace: v.string(),
  env: environment,
  state: v.exactOptional(jsonObject),
  secret_files: v.exactOptional(v.pipe(v.array(v.string()), v.readonly())),
}) satisfies v.GenericSchema<HostContext>;

const HostReplySchema = v.object({
  is_error: v.boolean(),
  text: v.string(),
  data: v.exactOptional(json),
  changes: v.exactOptional(v.pipe(v.array(jsonObject), v.readonly())),
  whole_bytes: v.exactOptional(v.number()),
}) satisfies v.GenericSchema<HostReply>;

const HostModuleSchema = v.object({
  file: v.string(),
  ask: v.picklist(["call", "describe"]),
}) satisfies v.GenericSchema<HostModule>;

const command = { argv: v.pipe(v.array(v.string()), v.minLength(1), v.readonly()), cwd: v.string(), env: environment };

const LaunchSchema = v.variant("kind", [
  v.object({
    kind: v.literal("process"),
    ...command,
    stdin: v.nullable(v.string()),
    timeout_ms: duration,
    cap_bytes: duration,
    whole_bytes: v.exactOptional(duration),
    speaks: v.exactOptional(v.literal("frames")),
  }),
  v.object({
    kind: v.literal("host"),
    tool: v.string(),
    module: v.exactOptional(HostModuleSchema),
    input: v.string(),
    context: HostContextSchema,
    timeout_ms: duration,
  }),
]) satisfies v.GenericSchema<Launch>;

const captured = v.object({ text: v.string(), bytes: v.number(), cut: v.boolean() });
const identity = v.object({ pid: id, pgid: id, start_time: v.string() }) satisfies v.GenericSchema<ProcessIdentity>;

const RunSchema = v.object({
  outcome: Outcome,
  stdout: captured,
  stderr: captured,
  reply: v.exactOptional(HostReplySchema),
  problem: v.exactOptional(v.string()),
  duration_ms: v.number(),
  reaped: v.pipe(v.array(ReapedProcess), v.readonly()),
  messages_dropped: v.exactOptional(v.number()),
}) satisfies v.GenericSchema<Run>;

/** What a worker thread is given when it is made. */
export const WorkerSetup = v.object({
  name: v.string(),
  runtime: v.string(),
  /** The lineage that the runtime itself was started with. */
  lineage: v.string(),
  hosts: v.object({
    command: v.pipe(v.array(v.string()), v.minLength(1)),
    /** At most this many at a time. */
    most: v.number(),
    /** Thrown away after this many calls. */
    calls: v.number(),
    start_ms: v.number(),
  }),
});
export type WorkerSetup = v.InferOutput<typeof WorkerSetup>;

/** Main thread → worker thread. `id`: of the run, made by the main thread. */
export const ToWorker = v.variant("type", [
  v.object({
    type: v.literal("run"),
    id,
    session: v.string(),
    call: v.string(),
    launch: LaunchSchema,
    /** Whether somebody listens to what it writes, or says, while it runs. */
    live: v.object({ output: v.boolean(), messages: v.boolean() }),
  }),
  v.object({
    type: v.literal("converse"),
    id,
    call: v.string(),
    launch: v.object(command),
    line_bytes: duration,
    window_bytes: duration,
    stderr_bytes: duration,
  }),
  /** `number`: of the line, made by the main thread. */
  v.object({ type: v.literal("say"), id, number: id, line: v.string() }),
  /** Lines of a conversation were taken by who listens. */
  v.object({ type: v.literal("took"), id, bytes: v.number() }),
  /** `reason`: null for whoever gives none, and may wish for a gentle end. */
  v.object({ type: v.literal("cancel"), id, reason: v.nullable(v.literal(UNWANTED)) }),
  /** `modules`: for calls of users' modules, not of built-ins. */
  v.object({ type: v.literal("warm"), modules: v.boolean() }),
  v.object({ type: v.literal("close") }),
]);
export type ToWorker = v.InferOutput<typeof ToWorker>;

/** Worker thread → main thread. */
export const FromWorker = v.variant("type", [
  /** `unpromised`: what cannot be promised here, for people. */
  v.object({ type: v.literal("ready"), unpromised: v.array(v.string()) }),
  v.object({ type: v.literal("spawned"), id, identity }),
  /** Processes that are known only because they were seen, and those that are no more. `lineage`: of their ancestors. */
  v.object({ type: v.literal("strayed"), strays: v.array(v.object({ lineage: v.string(), identity })), gone: v.array(identity) }),
  v.object({ type: v.literal("output"), id, stream: v.picklist(["stdout", "stderr"]), text: v.string() }),
  v.object({ type: v.literal("messages"), id, messages: v.array(json) }),
  v.object({ type: v.literal("heard"), id, lines: v.array(v.string()), bytes: v.number() }),
  /** `problem`: why the line was not said. */
  v.object({ type: v.literal("said"), id, number: id, problem: v.nullable(v.string()) }),
  v.object({ type: v.literal("settled"), id, run: RunSchema }),
  v.object({ type: v.literal("host_started"), entry: v.string(), identity }),
  v.object({ type: v.literal("host_ended"), entry: v.string() }),
  v.object({ type: v.literal("closed") }),
]);
export type FromWorker = v.InferOutput<typeof FromWorker>;

const HostCallSchema = v.object({
  type: v.literal("call"),
  id,
  tool: v.string(),
  module: v.exactOptional(HostModuleSchema),
  /** Canonical JSON text: the numbers as they were written. */
  input: v.string(),
  context: HostContextSchema,
});
/** Worker thread → tool host. */
export const ToHost = v.variant("type", [
  HostCallSchema,
  /** A call of a user's module is to come. */
  v.object({ type: v.literal("prepare") }),
]);
export type ToHost = v.InferOutput<typeof ToHost>;
export type HostCall = v.InferOutput<typeof HostCallSchema>;

/** Tool host → worker thread. */
export const FromHost = v.variant("type", [
  v.object({ type: v.literal("ready") }),
  v.object({ type: v.literal("message"), id, message: json }),
  /** A message that is too long to be one. */
  v.object({ type: v.literal("withheld"), id }),
  v.object({ type: v.literal("reply"), id, reply: HostReplySchema }),
]);
export type FromHost = v.InferOutput<typeof FromHost>;

/** No frame of either direction is longer, in bytes. */
export const MAX_FRAME_BYTES = 32 * 1024 * 1024;

/**
 * Nor is one that comes from where a user's module runs, which may write what it likes there: a parsed document takes up
 * to sixty times the room of its text. A result and its data need far less.
 */
export const MAX_MODULE_FRAME_BYTES = 1024 * 1024;
