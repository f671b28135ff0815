/** What is done in a session: prompts, answers to questions, cancel, resume. No turn depends on the request that began it. */
import type { Context, Hono } from "hono";
import type { Desk } from "../agent/desk.ts";
import type { TurnResult } from "../agent/turn.ts";
import type { AppEnv } from "./env.ts";
import { answer, checkBody, checkPath, checkQuery, describe, takesNoQuery } from "./routes.ts";
import * as api from "./schemas.ts";

const SOURCE = "http";
const KEPT = ["Idempotency-Replayed"] as const;

export function addTurnRoutes(app: Hono<AppEnv>, desk: Desk): void {
  app.post(
    "/v1/sessions/:id/prompts",
    describe({
      id: "prompt",
      summary: "Begin a turn",
      description: "202 as soon as the prompt is durable. With `?wait=true` 200 when the turn has ended. While a turn runs 409, or with " +
        '`if_busy: "queue"` it waits its turn, in memory only.',
      refuses: [
        "not_found",
        "unknown_session",
        "busy",
        "interrupted",
        "held",
        "dropped",
        "workspace_gone",
        "too_many_turns",
        "too_many_sessions",
        "too_many_prompts",
      ],
      answers: { 200: api.TurnEnded, 202: api.PromptTaken },
      takes: ["Idempotency-Key"],
      gives: { 200: KEPT, 202: KEPT },
    }),
    checkPath(api.SessionPath),
    checkQuery(api.PromptQuery),
    checkBody(api.Prompt),
    async (c) => {
      const { text, if_busy = "refuse" } = c.req.valid("json");
      const key = c.req.header("idempotency-key");
      const taken = await desk.prompt(c.req.valid("param").id, text, { source: SOURCE, if_busy, ...(key === undefined ? {} : { key }) });
      // What waits has no answer that stays true: the desk knows what became of it.
      if (taken.queued) c.set("keep_answer", false);
      if (taken.repeated === true) c.header("idempotency-replayed", "true");
      else if (c.req.valid("query").wait === "true") return answerEnd(c, taken.turn, await taken.ended);
      return answer(c, api.PromptTaken, { turn: taken.turn, ...(taken.queued ? { queued: true } : {}) }, 202);
    },
  );

  app.post(
    "/v1/sessions/:id/resume",
    describe({
      id: "resume",
      summary: "Go on with a turn that was interrupted",
      description: "A call that was running then has no known outcome and is not run again.",
      refuses: ["not_found", "unknown_session", "busy", "no_turn", "held", "workspace_gone", "too_many_turns", "too_many_sessions"],
      answers: { 200: api.TurnEnded, 202: api.PromptTaken },
      takes: ["Idempotency-Key"],
      gives: { 200: KEPT, 202: KEPT },
    }),
    checkPath(api.SessionPath),
    checkQuery(api.PromptQuery),
    checkBody(api.Nothing),
    async (c) => {
      const taken = await desk.resume(c.req.valid("param").id);
      if (c.req.valid("query").wait === "true") return answerEnd(c, taken.turn, await taken.ended);
      return answer(c, api.PromptTaken, { turn: taken.turn }, 202);
    },
  );

  app.post(
    "/v1/sessions/:id/cancel",
    describe({
      id: "cancel",
      summary: "End the turn that is open",
      description:
        "Nothing new begins, open questions are withdrawn and queued prompts dropped at once; calls that run are ended after `grace_ms` (0).",
      refuses: ["not_found", "unknown_session", "no_turn", "held"],
      answers: { 202: api.Cancelled },
      takes: ["Idempotency-Key"],
      gives: { 202: KEPT },
    }),
    checkPath(api.SessionPath),
    takesNoQuery,
    checkBody(api.Cancel),
    async (c) => answer(c, api.Cancelled, await desk.cancel(c.req.valid("param").id, c.req.valid("json").grace_ms ?? 0), 202),
  );

  app.post(
    "/v1/sessions/:id/mode",
    describe({
      id: "changeMode",
      summary: "Change the mode of a session",
      description: "Holds for every call that was not decided yet, also in a turn that runs and for one that waits for an answer.",
      refuses: ["not_found", "unknown_session", "held", "workspace_gone", "too_many_sessions"],
      answers: { 200: api.ModeChanged },
      takes: ["Idempotency-Key"],
      gives: { 200: KEPT },
    }),
    checkPath(api.SessionPath),
    takesNoQuery,
    checkBody(api.NewMode),
    async (c) => {
      const { mode } = c.req.valid("json");
      return answer(c, api.ModeChanged, { mode, seq: await desk.changeMode(c.req.valid("param").id, mode, SOURCE) });
    },
  );

  app.post(
    "/v1/sessions/:id/approvals/:call",
    describe({
      id: "answerApproval",
      summary: "Allow or deny a call that waits",
      description:
        "409 if this call does not wait (any more), or waits with another input than `input_digest`; 404 if the session has no such call.",
      refuses: ["not_found", "unknown_session", "unknown_call", "interrupted", "held", "settled", "not_asked", "altered", "workspace_gone"],
      answers: { 200: api.ApprovalTaken },
      takes: ["Idempotency-Key"],
      gives: { 200: KEPT },
    }),
    checkPath(api.CallPath),
    takesNoQuery,
    checkBody(api.ApprovalAnswer),
    async (c) => {
      const { id, call } = c.req.valid("param");
      const { decision, reason, input_digest } = c.req.valid("json");
      await desk.answer(id, call, {
        decision,
        by: SOURCE,
        ...(reason === undefined ? {} : { reason }),
        ...(input_digest === undefined ? {} : { input_digest }),
      });
      return answer(c, api.ApprovalTaken, { call, decision });
    },
  );
}

function answerEnd(c: Context<AppEnv>, turn: number, result: TurnResult | null): Response {
  if (result === null) {
    const nothing = {
      text: "",
      unanswered: false,
      steps: 0,
      calls: [],
      usage: { input_tokens: 0, output_tokens: 0 },
      speculation: { saved_ms: 0, wasted: 0, wasted_ms: 0 },
    };
    return answer(c, api.TurnEnded, { turn, reason: "dropped", detail: "cancelled before it began", ...nothing });
  }
  const { reason, detail, text, error, unanswered, steps, calls, usage, speculation } = result;
  // Of a prompt that waited: one before it may have been dropped.
  return answer(c, api.TurnEnded, {
    turn: result.turn,
    reason,
    detail,
    text,
    error,
    unanswered,
    steps,
    calls: [...calls],
    usage,
    speculation,
  });
}
