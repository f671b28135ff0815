/**
 * Text of models, tools and people, made fit to be shown. Nothing of it ever becomes markup: it goes into text nodes,
 * and the page's policy leaves no other way.
 */
import { h } from "./dom.ts";

/** Controls, and what is invisible or turns the direction of what follows: a command must look like what it is. */
// deno-lint-ignore no-control-regex
const HIDDEN =
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u115f\u1160\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0e\ufeff\uffa0\u{e0000}-\u{e01ef}]/gu;
// deno-lint-ignore no-control-regex
const COLOURS = /\u001b\[[0-9;:]*m/g;

/** Every hidden character by its number. */
export function toVisible(text: string): string {
  return text.replaceAll("\r\n", "\n").replace(HIDDEN, (character) => `\u27e8U+${hex(character)}\u27e9`);
}

/** As a terminal would leave it: colours are dropped, everything else that is hidden is told. */
export function toVisibleOutput(text: string): string {
  return toVisible(text.replace(COLOURS, ""));
}

function hex(character: string): string {
  return (character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0");
}

/** In one line of at most so many characters. */
export function toLine(text: string, most: number): string {
  const line = text.slice(0, most * 4).replace(/\s+/g, " ").trim();
  return toVisible(line.length > most ? `${line.slice(0, most - 1)}\u2026` : line);
}

/** What is shown of a text before somebody asks for all of it. */
const SHOWN = 20_000;

/** A block of text as it is; the rest of a long one on demand. */
export function block(text: string, toShown: (text: string) => string = toVisibleOutput): HTMLElement {
  const pre = h("pre", { class: "block", tabindex: "0", dir: "auto" });
  const whole = toShown(text);
  pre.textContent = whole.slice(0, SHOWN);
  if (whole.length <= SHOWN) return pre;
  const more = h("button", { type: "button", class: "link" }, `Show all ${whole.length.toLocaleString("en")} characters`);
  more.addEventListener("click", () => {
    pre.textContent = whole;
    more.remove();
    pre.focus();
  });
  return h("div", {}, pre, more);
}

/** Prose with the few marks that models use: fenced code, code, strong. Anything else stays as it was written. */
export function prose(text: string): readonly Node[] {
  const shown = toVisible(text);
  if (shown.length > SHOWN) return [block(text, toVisible)];
  const parts = shown.split(/^```[^\n`]*\n([\s\S]*?)(?:^```[ \t]*$|(?![\s\S]))/m);
  return parts.flatMap((part, index): readonly HTMLElement[] => {
    if (index % 2 === 1) return [h("pre", { class: "block", tabindex: "0" }, part.replace(/\n$/, ""))];
    const trimmed = part.replace(/^\n+|\n+$/g, "");
    return trimmed === "" ? [] : [h("div", { class: "prose", dir: "auto" }, ...inline(trimmed))];
  });
}

function inline(text: string): readonly (Node | string)[] {
  return text.split(/(`[^`\n]+`|\*\*[^*\n]+\*\*)/).map((part, index) => {
    if (index % 2 === 0) return part;
    return part.startsWith("`") ? h("code", {}, part.slice(1, -1)) : h("strong", {}, part.slice(2, -2));
  });
}
