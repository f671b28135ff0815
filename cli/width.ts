/** How many columns a terminal gives to a text. Not asked of the host: Deno has no such function, and Node's is internal. */

/** Of the East Asian scripts and of pictures; what is ambiguous counts as narrow, as most terminals have it. */
const WIDE =
  /[\u1100-\u115f\u2329\u232a\u2e80-\u303e\u3041-\u33ff\u3400-\u4dbf\u4e00-\ua4cf\ua960-\ua97f\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff01-\uff60\uffe0-\uffe6\u{16fe0}-\u{18aff}\u{1aff0}-\u{1b2ff}\u{1f200}-\u{1f2ff}\u{20000}-\u{3fffd}]|\p{Emoji_Presentation}/u;
/** Marks upon the letter before them, and characters that only say how others are to be shown. */
const NONE = /[\p{Mn}\p{Me}\p{Cf}]/u;

export function widthOf(text: string): number {
  if (/^[\x20-\x7e]*$/.test(text)) return text.length;
  let width = 0;
  for (const character of text) width += characterWidth(character);
  return width;
}

/** The longest beginning that fits. */
export function clipToWidth(text: string, most: number): string {
  if (/^[\x20-\x7e]*$/.test(text)) return text.slice(0, Math.max(0, most));
  let width = 0;
  let end = 0;
  for (const character of text) {
    width += characterWidth(character);
    if (width > most) break;
    end += character.length;
  }
  return text.slice(0, end);
}

function characterWidth(character: string): number {
  if (NONE.test(character)) return 0;
  return WIDE.test(character) ? 2 : 1;
}
