import * as v from "valibot";

/**
 * What a session is doing. `waiting`: a turn runs and a call needs somebody's answer. `interrupted`: a turn is open
 * and nobody drives it. `held`: another runtime has the session open.
 */
export const SessionStatus = v.picklist(["idle", "running", "waiting", "interrupted", "held"]);
export type SessionStatus = v.InferOutput<typeof SessionStatus>;
