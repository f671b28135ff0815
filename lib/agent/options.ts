import type { Environment } from "../config/paths.ts";
import type { Mode } from "../session/outcome.ts";
import type { Tool } from "../tools/sdk/define.ts";
import type { Approver } from "./approver.ts";

/** What a runtime is opened with. Everything has a default; see `docs/models.md` for the default model. */
export interface AgentOptions {
  /** Folder that tools work in; else the nearest ancestor of the current folder that looks like one. */
  readonly workspace?: string;
  /** Whether a session of another workspace that is opened again is refused. */
  readonly onlyHere?: boolean;
  /** `provider/model` or `script:FILE`. */
  readonly model?: string;
  readonly baseUrl?: string;
  /** What the command line asks for, before all settings. */
  readonly mode?: Mode;
  /** Where neither `mode` nor a setting says; else `auto-accept`. */
  readonly defaultMode?: Mode;
  /** Lets what lies in this workspace and in that of a session that is opened again run, or in these folders, for this runtime. */
  readonly trustWorkspace?: boolean | readonly string[];
  readonly maxSteps?: number;
  /** Files that hold secrets, such as a token file of your own: built-in tools do not read them. Absolute paths. */
  readonly secretFiles?: readonly string[];
  /** Runs read-only calls while the model still streams; else as the settings say. An organisation's "off" stands. */
  readonly speculation?: boolean;
  /** Environment to read settings and keys from, and that tools inherit; else that of this process. */
  readonly env?: Environment;
  /** `memory` keeps nothing. */
  readonly journal?: "file" | "memory";
  /** System text of new sessions. */
  readonly system?: string;
  /**
   * Tools of the program itself. Each is exported by a module that can be loaded elsewhere (`module: import.meta.url`), or
   * runs in this process (`inProcess: true`).
   */
  readonly tools?: readonly Tool[];
  /** `own`: sessions have the tools of `tools` and no others. By default they also have those that are found in the workspace, and the built-ins. */
  readonly offer?: "all" | "own";
  /** Asks a person; without it a call that must ask is denied. */
  readonly approver?: Approver;
  readonly onNotice?: (notice: AgentNotice) => void;
  /** Once aborted, opening a session waits for no server that has not answered yet. */
  readonly stop?: AbortSignal;
  /** Once aborted, the hooks of a session that opens are ended, and nobody waits long for a journal that another process keeps locked. */
  readonly now?: AbortSignal;
}

/** What a new session is opened with, each before the runtime's own option and settings. */
export interface NewSessionOptions {
  readonly title?: string;
  /** A folder; its own settings and tools hold. */
  readonly workspace?: string;
  readonly model?: string;
  readonly mode?: Mode;
  readonly system?: string;
  /**
   * Does not wait for the journal, so that the session and its first prompt are one write; what goes wrong there is told by
   * the prompt.
   */
  readonly ahead?: boolean;
}

export interface AgentNotice {
  readonly level: "info" | "warning" | "error";
  readonly code: string;
  readonly text: string;
}
