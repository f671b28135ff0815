/** From a template and the values of a call to the script that runs: one pass, in which no value is looked at again. */
import { numberToken } from "../../session/json.ts";
import { encode, hereFault } from "./quoting.ts";
import type { Spot } from "./shell-place.ts";
import type { Piece } from "./template.ts";

export type Rendered =
  | { readonly kind: "script"; readonly text: string }
  /** A value that cannot stand where its tag is. */
  | { readonly kind: "refused"; readonly problem: string };

/** The whole script is one argument of the shell, and Linux takes no longer one. */
export const MAX_SCRIPT_BYTES = 131_071;

/** `values`: as `parseKeepingNumbers` gives them. */
export function renderTemplate(pieces: readonly Piece[], values: ReadonlyMap<string, unknown>): Rendered {
  const fixed: Placed[] = [];
  const text = renderPieces(pieces, values, "", fixed);
  for (const { name, spot, from, to } of fixed) {
    const fault = hereFault(text, from, to, spot);
    if (fault !== null) return { kind: "refused", problem: `Cannot run with this value of "${name}", as ${fault}` };
  }
  return { kind: "script", text };
}

/** The script with a harmless word for every value and with every section kept, to see what it would run. */
export function outlineOf(pieces: readonly Piece[]): string {
  return pieces.map((piece) => piece.kind === "text" ? piece.text : piece.kind === "value" ? "_" : outlineOf(piece.pieces)).join("");
}

/** A value in a quoted here-document, which has to be looked at once its lines are complete. */
interface Placed {
  readonly name: string;
  readonly spot: Spot;
  readonly from: number;
  readonly to: number;
}

function renderPieces(pieces: readonly Piece[], values: ReadonlyMap<string, unknown>, before: string, fixed: Placed[]): string {
  let script = before;
  for (const piece of pieces) {
    if (piece.kind === "text") script += piece.text;
    else if (piece.kind === "section") {
      if (isTruthy(values.get(piece.name)) !== piece.inverted) script = renderPieces(piece.pieces, values, script, fixed);
    } else {
      const from = script.length;
      const texts = textsOf(values.get(piece.name));
      if (texts.length > 0) script += encode(texts, piece.spot);
      if (piece.spot.kind === "quoted_here") fixed.push({ name: piece.name, spot: piece.spot, from, to: script.length });
    }
  }
  return script;
}

/** Absent, null, false, 0, "" and [] are not; everything else is, "0" and {} too. */
export function isTruthy(value: unknown): boolean {
  const token = numberToken(value);
  if (token !== null) return Number(token) !== 0;
  return Array.isArray(value) ? value.length > 0 : Boolean(value);
}

/** What a tag puts in: nothing, one text, or one for each element. */
function textsOf(value: unknown): readonly string[] {
  if (value === undefined || value === null) return [];
  return Array.isArray(value) ? value.map(textOf) : [textOf(value)];
}

function textOf(value: unknown): string {
  if (typeof value === "string") return value;
  return numberToken(value) ?? JSON.stringify(value);
}
