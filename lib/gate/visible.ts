/** Texts that somebody else wrote, for a person who decides by them: on one line, with nothing in it that hides or moves. */

/** Longer than anybody writes by hand; beyond it the rest is counted. */
const SHOWN_CHARACTERS = 4000;

const UNSEEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Co}\p{Cs}]/gu;
const SHORT: Readonly<Record<string, string>> = { "\n": "\\n", "\r": "\\r", "\t": "\\t" };

export function visible(text: string): string {
  const shown = text.slice(0, SHOWN_CHARACTERS).toWellFormed();
  const rest = text.length > SHOWN_CHARACTERS ? ` [… ${text.length - SHOWN_CHARACTERS} more characters are not shown]` : "";
  return shown.replaceAll(UNSEEN, (each) => SHORT[each] ?? `\\u{${(each.codePointAt(0) ?? 0).toString(16)}}`) + rest;
}
