/** Which calls a mode lets run, by the policy of their tool. */
import type { Mode } from "../session/outcome.ts";

export type Policy = "never" | "always" | "destructive";
export type Leave = "run" | "ask" | "refuse";

interface Row {
  readonly never: Leave;
  readonly destructive: Leave;
  readonly always: Leave;
}

const MATRIX: Readonly<Record<Mode, Row>> = {
  normal: { never: "run", destructive: "ask", always: "ask" },
  "auto-accept": { never: "run", destructive: "run", always: "ask" },
  architect: { never: "run", destructive: "run", always: "ask" },
  yolo: { never: "run", destructive: "run", always: "run" },
  plan: { never: "run", destructive: "refuse", always: "refuse" },
  headless: { never: "run", destructive: "refuse", always: "refuse" },
};

/** Plan mode also needs the tool to be read-only. */
export function leaveOf(mode: Mode, policy: Policy, readOnly: boolean): Leave {
  return mode === "plan" && !readOnly ? "refuse" : MATRIX[mode][policy];
}
