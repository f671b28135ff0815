/** What an examination may say. */
export type Finding =
  | { readonly check: Check; readonly level: "ok"; readonly text: string }
  /** `note`: worth knowing; `warning`: something will not work as one may expect; `error`: sessions do not work. */
  | { readonly check: Check; readonly level: "note" | "warning" | "error"; readonly text: string; readonly remedy: string };

export type Check =
  | "settings"
  | "model"
  | "journal"
  | "tools"
  | "servers"
  | "hooks"
  | "speculation"
  | "worker"
  | "machine"
  | "containment"
  | "server";
