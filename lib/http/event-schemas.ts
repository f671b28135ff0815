/** The events as OpenAPI has them: made from the vocabulary, one schema for each type. */
import * as v from "valibot";
import { bodyOf, EVENT_VERSION, eventTypes, SessionId } from "../session/event.ts";

type Schema = v.GenericSchema<Readonly<Record<string, unknown>>>;

const seq = v.pipe(v.number(), v.integer(), v.minValue(1));
const natural = v.pipe(v.number(), v.integer(), v.minValue(0));
const named = (ref: string, schema: Schema): Schema => v.pipe(schema, v.metadata({ ref }));

const envelope = { v: v.pipe(v.number(), v.integer(), v.maxValue(EVENT_VERSION)), session: SessionId, seq, at: v.string() };
const recorded = eventTypes.map((type) =>
  named(`event_${type}`, v.object({ ...envelope, type: v.literal(type), ...bodyOf(type).entries }))
);
const RecordedEvent = named("Event", v.union(recorded));

const DamagedRow = named(
  "DamagedRow",
  v.object({ type: v.literal("damaged"), session: SessionId, seq, reason: v.string(), text: v.string() }),
);
/** What a page or a stream has with `profile=stella`. */
const StellaMessage = named("StellaMessage", v.object({ type: v.string(), data: v.unknown(), timestamp: v.string() }));

const live = { session: SessionId, whole: v.optional(v.literal(true)) };
const LiveEvent = named(
  "LiveEvent",
  v.union([
    v.object({
      type: v.picklist(["text_delta", "reasoning_delta"]),
      ...live,
      step: natural,
      attempt: natural,
      text: v.string(),
      omitted: v.optional(natural),
    }),
    v.object({
      type: v.literal("call_output"),
      ...live,
      call: v.string(),
      stream: v.picklist(["stdout", "stderr"]),
      text: v.string(),
      omitted: v.optional(natural),
    }),
    v.object({
      type: v.literal("status"),
      ...live,
      status: v.string(),
      step: v.optional(natural),
      attempt: v.optional(natural),
      text: v.optional(v.string()),
      call: v.optional(v.string()),
      sent: v.optional(v.object({ type: v.string(), data: v.unknown(), timestamp: v.string() })),
    }),
  ]),
);

const Reset = named(
  "Reset",
  v.object({ type: v.literal("reset"), reason: v.picklist(["ahead", "removed"]), after: v.nullable(natural), head: natural }),
);
const Heartbeat = v.object({ type: v.literal("heartbeat") });

/** One event of a page. */
export const PageEvent: Schema = v.union([RecordedEvent, DamagedRow, StellaMessage]);
/** One JSON line, or the `data` of one message of an event stream (which has no heartbeats but comments). */
export const StreamFrame: Schema = named("StreamFrame", v.union([RecordedEvent, DamagedRow, LiveEvent, Reset, StellaMessage, Heartbeat]));
