/** A session's projections as the loop keeps them: changes that a built-in proposes are checked, recorded and folded. */
import { parseChanges } from "../../../lib/session/event.ts";
import { type JsonObject, toInput } from "../../../lib/session/json.ts";
import type { HostReply } from "../../../lib/session/launch.ts";
import { evolve } from "../../../lib/session/evolve.ts";
import { initialState } from "../../../lib/session/state.ts";
import { runBuiltin } from "../../../lib/tools/builtin/catalog.ts";

export interface Board {
  call(tool: string, input?: JsonObject): Promise<HostReply>;
  tasks(): JsonObject;
  scratch(): Readonly<Record<string, string>>;
}

export function openBoard(): Board {
  let state = initialState;
  return {
    call: async (tool, input = {}) => {
      const context = { workspace: "/", env: {}, state: { tasks: state.tasks as JsonObject, scratch: state.scratch } };
      const reply = await runBuiltin(tool, toInput(input), JSON.parse(JSON.stringify(context)));
      for (const change of parseChanges(reply.changes ?? [])) {
        state = evolve(state, { v: 1, session: "ses_test", seq: state.seq + 1, at: "2026-01-01T00:00:00.000Z", ...change });
      }
      return reply;
    },
    tasks: () => state.tasks as JsonObject,
    scratch: () => state.scratch,
  };
}
