/** How a command ended, in words. `main.ts` alone knows the numbers. */
export type Ending =
  | "completed"
  | "failed"
  | "usage"
  | "stopped"
  | "unanswered"
  | "refused"
  | "configuration"
  | "endpoint"
  | "timeout"
  | "interrupted"
  | "terminated";
