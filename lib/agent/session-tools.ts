/**
 * The tools of one session. Servers may change theirs at any time; a session takes over what has changed between two
 * steps and never within one, so that a model is answered by the very tools it was shown.
 */
import type { DeniedBy, OfferedTool } from "../session/event.ts";
import type { Mode } from "../session/outcome.ts";
import type { Tool } from "../tools/tool.ts";
import type { Toolbox } from "../tools/toolbox.ts";
import { now } from "./ids.ts";
import { keepInPlace } from "./in-place.ts";
import { offeredIn } from "./offer.ts";
import type { Recorder } from "./recorder.ts";
import type { CallableTools } from "./turn.ts";
import type { Workshop } from "./workshop.ts";

export class SessionTools implements CallableTools {
  readonly #recorder: Recorder;
  readonly #live: Workshop["live"];
  readonly #inPlace: (tool: Tool) => Tool;
  #toolbox: Toolbox;
  /** What the log knows. */
  #recorded: { readonly mode: Mode; readonly toolbox: Toolbox } | null = null;
  /** Notices of servers that this session has told, counted from the first. */
  #told: number;

  constructor({ workspace, toolbox, live }: Workshop, recorder: Recorder) {
    this.#recorder = recorder;
    this.#live = live;
    this.#inPlace = keepInPlace(workspace);
    this.#toolbox = toolbox;
    this.#told = live?.told ?? 0;
  }

  find(name: string): Tool | undefined {
    const tool = this.#toolbox.find(name);
    return tool === undefined ? undefined : this.#inPlace(tool);
  }

  closest(name: string): readonly string[] {
    return this.#toolbox.closest(name);
  }

  whyNot(name: string): { readonly by: DeniedBy; readonly reason: string } | undefined {
    return this.#toolbox.whyNot(name);
  }

  unread(): string | null {
    return this.#toolbox.unread();
  }

  /** What the log is about to be told of them, where the session begins. */
  atOpening(mode: Mode): OfferedTool[] {
    this.#recorded = { mode, toolbox: this.#toolbox };
    return offeredIn(mode, this.#toolbox);
  }

  /** Takes over what has changed, and records it. Only between steps. */
  renew(): void {
    if (this.#live !== undefined) {
      const { last, notices } = this.#live.noticesAfter(this.#told);
      this.#told = last;
      for (const notice of notices) this.#recorder.mustRecord({ type: "note", at: now(), ...notice });
      this.#toolbox = this.#live.toolbox();
    }
    this.record();
  }

  /** Tells the log which tools the model is offered in the session's mode, if it knows others. */
  record(): void {
    const mode = this.#recorder.state.header?.mode ?? "normal";
    const { mode: recordedFor, toolbox } = this.#recorded ?? {};
    if (mode === recordedFor && toolbox === this.#toolbox) return;
    this.#recorded = { mode, toolbox: this.#toolbox };
    const tools = offeredIn(mode, this.#toolbox);
    if (sameTools(tools, this.#recorder.state.header?.tools ?? [])) return;
    this.#recorder.mustRecord({ type: "change_tools", at: now(), tools });
  }
}

function sameTools(left: readonly OfferedTool[], right: readonly OfferedTool[]): boolean {
  const toKey = (tools: readonly OfferedTool[]) =>
    JSON.stringify(tools.map(({ name, digest, read_only, speculation_safe }) => [name, digest, read_only, speculation_safe]));
  return toKey(left) === toKey(right);
}
