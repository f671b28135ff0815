/** The line above a session: its name, what it does, and how we are connected to it. */
import { part, setText } from "./dom.ts";
import type { Link } from "./follow.ts";
import type { Story } from "./story.ts";
import { toLine } from "./text.ts";

export interface SessionHead {
  readonly story: Story;
  readonly session: string;
  readonly status: string;
  readonly link: Link;
  /** Whether somebody must answer, whatever the reader looks at. */
  readonly asking: boolean;
}

export function drawHead({ story, session, status, link, asking }: SessionHead): void {
  const title = toLine(story.header?.title ?? "", 120) || firstWords(story) || `Session ${session.slice(-6)}`;
  setText(part("title"), title);
  setText(part("status"), STATUS[status] ?? status);
  part("status").dataset["status"] = status;
  setText(part("link"), LINKS[link]);
  part("link").dataset["link"] = link;
  document.title = `${asking ? "\u25cf " : ""}${title} \u00b7 Orrery`;
}

export interface Progress {
  readonly ready: boolean;
  readonly link: Link;
  readonly seq: number;
  /** 0: not known. */
  readonly head: number;
}

export function drawProgress({ ready, link, seq, head }: Progress): void {
  const place = part("progress");
  place.hidden = ready && link !== "gone";
  const loading = head === 0 ? "Loading\u2026" : `Loading event ${seq.toLocaleString("en")} of ${head.toLocaleString("en")}\u2026`;
  setText(place, link === "gone" ? "There is no such session (any more)." : loading);
}

const STATUS: Readonly<Record<string, string>> = {
  idle: "Idle",
  running: "Running",
  waiting: "Waits for you",
  interrupted: "Interrupted",
  held: "Held by another runtime",
  past: "Replay",
  // The link says so.
  gone: "",
};

const LINKS: Readonly<Record<Link, string>> = {
  connecting: "Connecting\u2026",
  open: "Connected",
  cut: "Reconnecting\u2026",
  gone: "Removed",
};

function firstWords({ items }: Story): string {
  const prompt = items.find(({ kind }) => kind === "prompt");
  return prompt?.kind === "prompt" ? toLine(prompt.text, 80) : "";
}
