/** In what place of the shell's quoting a tag stands, or why nothing can be put there. */
import { subscriptOf } from "./shell-evaluation.ts";
import type { ShellReader } from "./shell-reader.ts";
import type { Frame, HereDocument, HereFrame } from "./shell-state.ts";

export type Place = { readonly kind: "comment" } | Spot;

export interface Spot {
  readonly kind: "word" | "double" | "single" | "ansi" | "here" | "quoted_here";
  /** Backticks around it, each of which takes out one level of backslashes. */
  readonly backticks: number;
  /** Here-documents around it, the innermost last; for `here` and `quoted_here` its own is the last. */
  readonly documents: readonly HereDocument[];
  /** `here`: the beginning of its line could still become a delimiter. */
  readonly open: boolean;
}

export type RefusalCode =
  | "after_dollar"
  | "after_backslash"
  | "arithmetic"
  | "read_twice"
  | "split"
  | "list"
  | "backticks_in_quotes"
  | "here_delimiter"
  | "here_end"
  | "parameter"
  | "ansi_in_sh"
  | "unreadable"
  | "ambiguous"
  | "entangled"
  | "too_costly";

export interface Refusal {
  readonly kind: "refused";
  readonly code: RefusalCode;
  /** `unreadable`: what could not be read, and where. */
  readonly why?: string;
  readonly at?: number;
}

export function placeOf(reader: ShellReader): Place | Refusal {
  if (reader.fate !== null) return { kind: "refused", code: "unreadable", why: reader.fate.why, at: reader.fate.at };
  if (reader.escaped || reader.innerEscaped) return refused("after_backslash");
  if (reader.dollar) return refused("after_dollar");
  const around = reader.frames.filter((frame) => frame.kind === "here").map(({ document }) => document);
  if (reader.inner !== null) return placeInBackticks(reader, reader.inner, around);
  if (reader.substitution) return { kind: "word", backticks: 0, documents: around, open: false };
  const refusal = refusalIn(reader.frames);
  return refusal ?? placeIn(reader, around);
}

function placeInBackticks(reader: ShellReader, inner: ShellReader, around: readonly HereDocument[]): Place | Refusal {
  if (reader.top.kind === "double" || (reader.top.kind === "parameter" && reader.top.around !== null)) {
    return refused("backticks_in_quotes");
  }
  const refusal = refusalIn(reader.frames);
  if (refusal !== null) return refusal;
  const place = placeOf(inner);
  if (place.kind === "refused" || place.kind === "comment") return place;
  return { ...place, backticks: place.backticks + 1, documents: [...around, ...place.documents] };
}

function placeIn(reader: ShellReader, documents: readonly HereDocument[]): Place | Refusal {
  const top = reader.top;
  const spot = { backticks: 0, documents, open: false };
  switch (top.kind) {
    case "command":
      if (top.comment) return { kind: "comment" };
      return top.delimiter !== null || top.operator === "<<" ? refused("here_delimiter") : { kind: "word", ...spot };
    case "double":
    case "single":
      return { kind: top.kind, ...spot };
    case "ansi":
      return reader.dialect === "sh" ? refused("ansi_in_sh") : { kind: "ansi", ...spot };
    case "parameter":
      return { kind: "word", ...spot };
    case "arithmetic":
      return refused("arithmetic");
    case "here":
      return placeInDocument(top, spot);
  }
}

function placeInDocument({ document, line }: HereFrame, spot: Omit<Spot, "kind">): Place | Refusal {
  if (document.quoted) return { kind: "quoted_here", ...spot };
  if (document.substituted && line !== null && line.startsWith(document.delimiter)) return refused("here_end");
  return { kind: "here", ...spot, open: line !== null };
}

/** What the frames from the innermost command on forbid. */
function refusalIn(frames: readonly Frame[]): Refusal | null {
  if (frames.some((frame) => frame.kind === "command" && frame.redirect && frame.duplicates)) return refused("read_twice");
  for (const frame of frames.toReversed()) {
    if (frame.kind === "command") return subscriptOf(frame) ? refused("arithmetic") : null;
    if (frame.kind !== "parameter" || (frame.phase === "word" && frame.prefixed === "" && frame.around === null)) continue;
    return refused(["colon", "offset", "subscript"].includes(frame.phase) ? "arithmetic" : "parameter");
  }
  return null;
}

function refused(code: RefusalCode): Refusal {
  return { kind: "refused", code };
}
