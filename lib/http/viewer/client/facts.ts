/** What is known of a session beside its conversation: tasks, scratch keys, where it runs and what it took. */
import { h, part, setChildren } from "./dom.ts";
import { count, modelName, plural } from "./format.ts";
import type { Story } from "./story.ts";
import { toLine, toVisible } from "./text.ts";

export class Facts {
  #drawn = "";

  draw(story: Story, events: number): void {
    const version = `${story.seq} ${events}`;
    if (version === this.#drawn) return;
    this.#drawn = version;
    const tasks = [...story.tasks.values()];
    part("tasks").hidden = tasks.length === 0;
    setChildren(part("task-list"), tasks.map(taskRow));
    part("scratch").hidden = story.scratch.size === 0;
    setChildren(part("scratch-list"), [...story.scratch].sort().slice(0, 200).map((key) => h("li", {}, toLine(key, 80))));
    setChildren(part("facts"), rows(story, events).flatMap(([name, value]) => [h("dt", {}, name), h("dd", { dir: "auto" }, value)]));
  }
}

function taskRow(
  { subject, status, owner }: { readonly subject: string; readonly status: string; readonly owner?: string | undefined },
): HTMLElement {
  const known = TASKS[status] ?? toLine(status, 30);
  const whose = owner === undefined || owner === "" ? "" : ` \u00b7 ${toLine(owner, 40)}`;
  return h(
    "li",
    { "data-status": status in TASKS ? status : "other" },
    h("span", { class: "subject", dir: "auto" }, toLine(subject, 300)),
    h("span", { class: "meta" }, `${known}${whose}`),
  );
}

const TASKS: Readonly<Record<string, string>> = { pending: "to do", in_progress: "in progress", completed: "done", blocked: "blocked" };

function rows({ header, usage, turn, forked_from }: Story, events: number): readonly (readonly [string, string | Node])[] {
  if (header === null) return [];
  const cost = usage.cost_usd === undefined ? "" : ` \u00b7 $${usage.cost_usd.toFixed(usage.cost_usd < 1 ? 4 : 2)}`;
  return [
    ["Model", toVisible(modelName(header.model))],
    ["Workspace", toVisible(header.workspace)],
    ["Tokens", `${count(usage.input_tokens)} in \u00b7 ${count(usage.output_tokens)} out${cost}`],
    ["Log", `${plural(events, "event")}${turn.kind === "none" ? "" : `, ${plural(turn.turn, "turn")}`}`],
    ...(forked_from === null ? [] : [["Forked from", sessionLink(forked_from)] as const]),
    ...(header.parent === null ? [] : [["Asked by", sessionLink(header.parent)] as const]),
  ];
}

function sessionLink(session: string): Node | string {
  return /^ses_[0-9a-f-]{36}$/.test(session) ? h("a", { href: `#${session}` }, `Session ${session.slice(-6)}`) : toLine(session, 60);
}
