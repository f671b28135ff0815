/**
 * The patterns that most schemas have: one kind of character, so and so often (`^[a-z]+$`, `^.{1,4000}$`). Such a text is
 * searched once for a character of another kind and counted, which no text makes slow, however long.
 */

export interface PlainPattern {
  /** One character, as ECMAScript writes it. */
  readonly atom: string;
  readonly least: number;
  readonly most: number;
}

const REPEATS: Readonly<Record<string, readonly [number, number]>> = { "*": [0, Infinity], "+": [1, Infinity], "?": [0, 1] };

/** @param tokens of a valid pattern. Null: it is not of this kind. */
export function readPlain(tokens: readonly string[]): PlainPattern | null {
  const [start, atom = "", repeat = "", end] = tokens;
  if (tokens.length !== 4 || start !== "^" || end !== "$" || !isCharacter(atom)) return null;
  const bounds = boundsOf(repeat);
  if (bounds === null || otherThan(atom) === null) return null;
  const [least, most] = bounds;
  return { atom, least, most };
}

/** @param pattern as `readPlain` gave it. */
export function matchPlain({ atom, least, most }: PlainPattern): (text: string) => boolean {
  const other = otherThan(atom);
  return (text) => isCount(text, least, most) && other?.test(text) === false;
}

/** Finds a character that is not of this kind; null: only the lenient flavour, which is not that of a schema, has it. */
function otherThan(atom: string): RegExp | null {
  try {
    return new RegExp(`(?!${atom})[^]`, "u");
  } catch (error) {
    if (error instanceof SyntaxError) return null;
    throw error;
  }
}

function isCharacter(token: string): boolean {
  if (token.startsWith("\\")) return !/^\\[bBk0-9]/.test(token);
  return token.startsWith("[") || (token.length <= 2 && !"^$()*+?{}|]".includes(token));
}

function boundsOf(repeat: string): readonly [number, number] | null {
  const [, low, further] = /^\{(\d+)(,\d*)?\}$/.exec(repeat) ?? [];
  if (low === undefined) return REPEATS[repeat] ?? null;
  const most = further === undefined ? Number(low) : further === "," ? Infinity : Number(further.slice(1));
  return [Number(low), most];
}

/** Characters are code points; most texts need not be counted to know. */
function isCount(text: string, least: number, most: number): boolean {
  if (text.length < least || Math.ceil(text.length / 2) > most) return false;
  if (text.length <= most && Math.ceil(text.length / 2) >= least) return true;
  let count = 0;
  for (const _character of text) count++;
  return count >= least && count <= most;
}
