/** One call in the conversation: a line that says what and how it went, and all of it when it is opened. */
import { button, h, setText } from "./dom.ts";
import { duration, plural } from "./format.ts";
import type { Call } from "./items.ts";
import { block, toLine, toVisible, toVisibleOutput } from "./text.ts";
import { outcomeText } from "./words.ts";

const TAIL_LINES = 8;

export class CallCard {
  readonly element = h("details", { class: "call" });
  readonly #dot = h("span", { class: "dot", "aria-hidden": "true" });
  readonly #name = h("span", { class: "name" });
  readonly #brief = h("span", { class: "brief", dir: "auto" });
  readonly #fate = h("span", { class: "fate" });
  readonly #body = h("div", { class: "body" });
  readonly #tail = h("pre", { class: "tail", "aria-label": "Output so far" });
  #call: Call | null = null;
  #stamp = -1;
  #filled = -1;

  constructor() {
    this.element.append(h("summary", {}, this.#dot, this.#name, this.#brief, this.#fate), this.#body);
    this.element.addEventListener("toggle", () => this.#fill());
  }

  update(call: Call, output: string): void {
    this.#call = call;
    this.#showTail(call.status === "running" ? output : "");
    if (this.#stamp === call.stamp) return;
    this.#stamp = call.stamp;
    this.element.dataset["tone"] = toneOf(call);
    this.element.dataset["call"] = call.call;
    setText(this.#name, toLine(call.name, 80));
    setText(this.#brief, briefInput(call));
    setText(this.#fate, fateOf(call));
    this.#fill();
  }

  #showTail(output: string): void {
    if (output === "") return this.#tail.remove();
    setText(this.#tail, toVisibleOutput(output).split("\n").slice(-TAIL_LINES - 1).join("\n"));
    if (!this.#tail.isConnected) this.element.after(this.#tail);
  }

  /** Built when somebody looks: a long session has thousands. */
  #fill(): void {
    const call = this.#call;
    if (call === null || !this.element.open || this.#filled === call.stamp) return;
    this.#filled = call.stamp;
    this.#body.replaceChildren(...detailsOf(call));
  }
}

function toneOf({ status, ended }: Call): string {
  if (status === "ended" && ended !== undefined) {
    if (ended.outcome.kind === "unknown") return "unknown";
    return ended.result.is_error ? "bad" : "good";
  }
  return status === "asking" ? "wait" : status === "running" ? "open" : "idle";
}

function fateOf({ status, ended, approval }: Call): string {
  if (ended === undefined) return STATUS[status];
  const early = ended.speculation === undefined ? [] : ["ran early"];
  const how = ended.outcome.kind === "returned" ? (ended.result.is_error ? "failed" : "done") : outcomeText(ended.outcome);
  const time = ended.outcome.kind === "not_started" ? [] : [duration(ended.duration_ms)];
  return [...early, ...(approval === undefined ? [] : ["asked"]), how, ...time].join(" \u00b7 ");
}

const STATUS: Readonly<Record<Call["status"], string>> = {
  requested: "requested",
  asking: "waits for an answer",
  allowed: "allowed",
  denied: "denied",
  running: "running\u2026",
  ended: "ended",
};

function briefInput({ input, arguments: text }: Call): string {
  const given = input ?? parseObject(text);
  if (given === null) return toLine(text, 160);
  const values = Object.values(given);
  const first = values[0];
  if (values.length === 1 && typeof first === "string") return toLine(first, 160);
  return values.length === 0 ? "" : toLine(JSON.stringify(given), 160);
}

function parseObject(text: string): Readonly<Record<string, unknown>> | null {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null && !Array.isArray(value) ? value as Readonly<Record<string, unknown>> : null;
  } catch {
    // What the model wrote is no JSON: it is shown as it is.
    return null;
  }
}

/**
 * The input as it will run: every key; texts as they are, everything else as JSON. Where JSON would lose digits there is
 * the canonical text, and that is shown.
 */
export function inputBlocks({ input, input_text, arguments: text }: Call): readonly Node[] {
  if (input_text !== undefined) return [block(input_text, toVisible)];
  const given = input ?? parseObject(text);
  if (given === null) return [block(text, toVisible)];
  const entries = Object.entries(given);
  if (entries.length === 0) return [h("p", { class: "quiet" }, "No input")];
  if (entries.length > MOST_FIELDS) return [block(JSON.stringify(given, null, 2), toVisible)];
  return entries.map(([key, value]) => {
    const shown = typeof value === "string" ? value : JSON.stringify(value, null, 2);
    const label = typeof value === "string" ? `${key}${kindOf(value)}` : key;
    const short = shown.length <= SHORT && !shown.includes("\n");
    const body = short ? h("code", { dir: "auto" }, toVisible(shown)) : block(shown, toVisible);
    return h("div", { class: short ? "field short" : "field" }, h("span", { class: "key" }, toLine(label, 120)), body);
  });
}

/** Of a text, where its look alone does not say: that it is one, and where it ends. */
function kindOf(text: string): string {
  const lines = text.split("\n").length;
  if (lines > 1) return ` (text, ${plural(lines, "line")})`;
  return text === "" || text !== text.trim() || isJson(text) ? ` (text, ${plural(text.length, "character")})` : "";
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    // Nothing that could be taken for another value.
    return false;
  }
}

/** Stands beside its key. */
const SHORT = 200;
/** An input with more keys is shown as one document. */
const MOST_FIELDS = 60;

function detailsOf(call: Call): readonly Node[] {
  const { ended, verdict } = call;
  const nodes: Node[] = [h("h4", {}, "Input"), ...inputBlocks(call)];
  if (ended !== undefined) {
    nodes.push(h("h4", {}, ended.result.is_error ? "Result (error)" : "Result"));
    if (ended.result.empty === true || ended.result.text === "") nodes.push(h("p", { class: "quiet" }, "No output"));
    else nodes.push(block(ended.result.text));
  }
  const facts = [...(verdict === undefined ? [] : [toVisible(verdict)]), ...endFacts(ended)];
  if (facts.length > 0) nodes.push(h("ul", { class: "facts" }, ...facts.map((fact) => h("li", {}, fact))));
  return [...nodes, copyButton(call)];
}

function endFacts(ended: Call["ended"]): readonly string[] {
  if (ended === undefined) return [];
  const { truncated, reaped = [], reaped_omitted = 0, exports_withheld = [], env_withheld = [], outcome } = ended;
  return [
    outcomeText(outcome),
    ...(truncated === undefined ? [] : [
      `output was cut: ${truncated.stdout_bytes.toLocaleString("en")} bytes of stdout, ${
        truncated.stderr_bytes.toLocaleString("en")
      } of stderr`,
    ]),
    ...reaped.map(({ pid, command }) => `process ${pid} was left and has been ended: ${toLine(command, 120)}`),
    ...(reaped_omitted === 0 ? [] : [`${reaped_omitted} more processes were left and have been ended`]),
    ...exports_withheld.map(({ name, reason }) => `${toLine(name, 80)} was not exported: ${toLine(reason, 120)}`),
    ...(env_withheld.length === 0 ? [] : [`withheld from its environment: ${toLine(env_withheld.join(", "), 200)}`]),
  ].map(toVisible);
}

function copyButton({ call }: Call): HTMLElement {
  const copy: HTMLButtonElement = button("Copy id", "link", () => {
    navigator.clipboard?.writeText(call).then(() => setText(copy, "Copied"), () => setText(copy, call));
  });
  return copy;
}
