/** What the API takes and gives. The OpenAPI document is made from these. */
import * as v from "valibot";
import { PageEvent } from "./event-schemas.ts";
import { CallId, Origin, SessionId, TaskRecord } from "../session/event.ts";
import { CallResult, Mode, Outcome, Truncated, TurnEnd, Usage, WithheldExport } from "../session/outcome.ts";
import { SessionStatus } from "../session/status.ts";

const text = (bytes: number) => v.pipe(v.string(), v.maxLength(bytes));
const natural = v.pipe(v.number(), v.integer(), v.minValue(0));
/** An object with these keys and no others, which says so in words of ours. */
const known = <const E extends v.ObjectEntries>(entries: E) =>
  v.strictObject(entries, (issue) => {
    if (issue.expected === "never") return "is not known here";
    return issue.received === "undefined" ? "is missing" : "must be an object";
  });
const flag = v.optional(v.picklist(["true", "false"], "must be true or false"));
/** In OpenAPI a number, as `integerOf` finds: it comes as text, and checks behind a transformation are not translated. */
const digits = (max: number, min = 0) =>
  v.pipe(
    v.string(),
    v.regex(/^\d+$/, "must be a whole number"),
    v.maxLength(15, "must have at most 15 digits"),
    v.transform(Number),
    v.minValue(min),
    v.maxValue(max),
    v.metadata({ integer: { minimum: min, maximum: max } }),
  );
const MOST_DIGITS = 999_999_999_999_999;

export const SessionPath = v.object({ id: SessionId });
export const CallPath = v.object({ id: SessionId, call: CallId });

export const NewSession = known({
  workspace: v.optional(text(4096)),
  model: v.optional(text(512)),
  mode: v.optional(Mode),
  system: v.optional(v.string()),
  title: v.optional(text(1000)),
});

export const Prompt = known({
  text: v.pipe(v.string(), v.check((given) => given.trim() !== "", "must not be blank")),
  if_busy: v.optional(v.picklist(["refuse", "queue"])),
});
export const PromptQuery = known({ wait: flag });

export const ApprovalAnswer = known({
  decision: v.picklist(["allow", "deny"]),
  reason: v.optional(text(10_000)),
  /** As in `approval_requested`: refuses the answer if the call waits with another input. */
  input_digest: v.optional(v.pipe(v.string(), v.regex(/^[0-9a-f]{64}$/, "must be a SHA-256 in hex"))),
});

/** `grace_ms`: how long calls that run may go on before they are ended. */
export const Cancel = known({ grace_ms: v.optional(v.pipe(v.number(), v.minValue(0), v.maxValue(3600_000))) });
export const NewMode = known({ mode: Mode });
export const ForkAt = known({ at: v.optional(v.pipe(v.number(), v.integer(), v.minValue(1))) });
export const Nothing = known({});
export const LoginCode = known({ code: text(512) });

export const ListQuery = known({ limit: v.optional(digits(500, 1)), cursor: v.optional(text(200)) });
export const EventsQuery = known({
  after: v.optional(digits(MOST_DIGITS)),
  /** Of a page. */
  limit: v.optional(digits(1000, 1)),
  follow: flag,
  profile: v.optional(v.picklist(["stella"], "must be stella, or absent")),
});
export const ToolsQuery = known({ workspace: v.optional(text(4096)) });

const speculation = v.object({ saved_ms: v.number(), wasted: v.number(), wasted_ms: v.number() });

export const Message = v.variant("role", [
  v.object({ role: v.literal("system"), text: v.string() }),
  v.object({ role: v.literal("user"), text: v.string() }),
  v.object({
    role: v.literal("assistant"),
    text: v.string(),
    /** `id` is the one that the model knows, `call` ours. */
    calls: v.array(v.object({ id: v.string(), call: CallId, name: v.string(), arguments: v.string() })),
    provider_blocks: v.optional(v.array(v.unknown())),
  }),
  v.object({ role: v.literal("tool"), id: v.string(), call: CallId, name: v.string(), text: v.string(), is_error: v.boolean() }),
]);

export const Call = v.object({
  call: CallId,
  name: v.string(),
  /** What the model wrote, if that is not a JSON object. */
  input: v.union([v.record(v.string(), v.unknown()), v.string()]),
  status: v.picklist(["requested", "asking", "allowed", "denied", "running", "ended"]),
  outcome: v.optional(Outcome),
  result: v.optional(CallResult),
});

/** `seq`: the last event that this state includes; follow the session from there. */
export const SessionState = v.object({
  session: SessionId,
  seq: natural,
  status: SessionStatus,
  workspace: v.string(),
  model: v.string(),
  mode: Mode,
  messages: v.array(Message),
  calls: v.array(Call),
  approvals: v.array(v.object({
    call: CallId,
    name: v.string(),
    input: v.record(v.string(), v.unknown()),
    reason: v.string(),
    /** Send it along with the answer. */
    input_digest: v.string(),
  })),
  tasks: v.array(TaskRecord),
  state_keys: v.array(v.string()),
  /** Prompts that wait for the turns before them, in the memory of the server; `turn` is where each stands now. */
  queued: v.array(v.object({ turn: natural, text: v.string(), key: v.optional(v.string()) })),
  usage: Usage,
  speculation,
  turn: v.optional(natural),
});

export const SessionOpened = v.object({
  session: SessionId,
  seq: natural,
  status: SessionStatus,
  workspace: v.string(),
  model: v.string(),
  mode: Mode,
});

export const SessionRow = v.object({
  session: SessionId,
  title: v.string(),
  status: SessionStatus,
  workspace: v.string(),
  model: v.string(),
  mode: Mode,
  seq: natural,
  turns: natural,
  opened_at: v.string(),
  updated_at: v.string(),
});
/** `next`: the cursor of the next page; absent on the last one. */
export const SessionList = v.object({ sessions: v.array(SessionRow), next: v.optional(v.string()) });

export const PromptTaken = v.object({ turn: natural, queued: v.optional(v.boolean()) });
export const TurnEnded = v.object({
  turn: natural,
  reason: v.picklist([...TurnEnd.options, "dropped"]),
  detail: v.optional(v.string()),
  text: v.string(),
  error: v.optional(v.object({ kind: v.string(), message: v.string() })),
  unanswered: v.boolean(),
  steps: natural,
  calls: v.array(v.object({
    call: CallId,
    name: v.string(),
    is_error: v.boolean(),
    outcome: Outcome,
    speculation: v.optional(v.string()),
  })),
  usage: Usage,
  speculation,
});
export const ApprovalTaken = v.object({ call: CallId, decision: v.picklist(["allow", "deny"]) });
export const Cancelled = v.object({ turn: natural, dropped: natural });
/** `seq`: the event from which on it holds, or the last one if it was the mode before. */
export const ModeChanged = v.object({ mode: Mode, seq: natural });
export const Forked = v.object({ session: SessionId, from: SessionId, from_seq: natural });
export const Login = v.object({ token: v.string() });

/** `next`: ask for events after this one; absent at the end of the log. */
export const EventPage = v.object({ events: v.array(PageEvent), head: natural, next: v.optional(natural) });

/** All that the log says of one call. */
export const CallDetail = v.object({
  ...Call.entries,
  /** As the model wrote it. */
  arguments: v.string(),
  step: natural,
  requested_at: v.string(),
  started_at: v.optional(v.string()),
  ended_at: v.optional(v.string()),
  duration_ms: v.optional(v.number()),
  allowed_by: v.optional(v.string()),
  denied_by: v.optional(v.string()),
  speculation: v.optional(v.string()),
  /** The true sizes of streams that were cut. */
  truncated: v.optional(Truncated),
  exports_withheld: v.optional(v.array(WithheldExport)),
  env_withheld: v.optional(v.array(v.string())),
  reaped: v.optional(v.array(v.object({ pid: v.number(), command: v.string() }))),
  /** How many more there were. */
  reaped_omitted: v.optional(natural),
});

export const Tools = v.object({
  schema_version: v.literal(1),
  tools: v.array(v.object({
    name: v.nullable(v.string()),
    origin: Origin,
    description: v.string(),
    input_schema: v.record(v.string(), v.unknown()),
    read_only: v.boolean(),
    speculation_safe: v.boolean(),
    approval: v.string(),
    status: v.picklist(["offered", "off", "untrusted", "shadowed", "broken"]),
    reason: v.optional(v.string()),
    shadows: v.optional(v.array(Origin)),
  })),
  notices: v.array(v.object({ level: v.string(), code: v.string(), text: v.string() })),
});

export const Capabilities = v.object({
  runtime: v.string(),
  api: v.literal("v1"),
  workspaces: v.array(v.string()),
  modes: v.array(Mode),
  event_formats: v.array(v.string()),
  limits: v.record(v.string(), v.number()),
});

/** OpenAPI 3.1. */
export const OpenApi = v.looseObject({ openapi: v.string() });

export const Health = v.object({ status: v.string() });

export const ProblemBody = v.pipe(
  v.object({
    type: v.string(),
    title: v.string(),
    status: natural,
    detail: v.string(),
    /** Absent where there is no request to speak of. */
    instance: v.optional(v.string()),
    request_id: v.optional(v.string()),
    errors: v.optional(v.array(v.object({ pointer: v.string(), detail: v.string() }))),
  }),
  v.metadata({ ref: "Problem" }),
);
