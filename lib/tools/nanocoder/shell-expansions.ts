/** Parameter expansions and arithmetic: where they end, and whether a value may stand in them. */
import { mentionNames } from "./shell-evaluation.ts";
import { mentionParameter } from "./shell-mention.ts";
import type { ShellReader } from "./shell-reader.ts";
import type { ArithmeticFrame, Frame, ParameterFrame } from "./shell-state.ts";

export function newParameterFrame(around: Frame): ParameterFrame {
  const quoting = around.kind === "double" || around.kind === "here" ? around.kind : around.kind === "parameter" ? around.around : null;
  return { kind: "parameter", around: quoting, phase: "start", prefixed: "", name: "", text: "", cuts: false, last: "" };
}

export function newArithmeticFrame(close: ArithmeticFrame["close"], command: boolean): ArithmeticFrame {
  return { kind: "arithmetic", close, command, depth: 0, closing: false, last: "", name: "" };
}

export function readParameter(reader: ShellReader, frame: ParameterFrame, char: string, at: number): void {
  const last = frame.last;
  frame.last = char;
  if (char === "}") {
    reader.pop();
    if (frame.text === "" && frame.prefixed === "" && /^\w+$/.test(frame.name)) reader.showNamed(frame.name);
    return mentionParameter(reader, frame, at);
  }
  if (frame.around !== null && quotesDiffer(frame, char)) {
    return reader.lose("a quote in `${…}` inside quotes, which shells read differently", at);
  }
  if (char === "(" && (last === "<" || last === ">")) return reader.lose("a process substitution in `${…}`", at);
  advanceParameter(frame, char);
  noteText(reader, frame, char, at);
  if (frame.phase === "start" && /[\s|]/.test(char)) return reader.lose("`${ …}`, a command in newer shells only", at);
  if (char === "'") reader.push({ kind: "single" });
  else if (char === '"') reader.push({ kind: "double" });
  else if (char !== "$" || frame.phase !== "name") reader.readExpansions(char);
}

/** More of an offset or a subscript is not followed. */
const LONGEST_TEXT = 256;

function noteText(reader: ShellReader, frame: ParameterFrame, char: string, at: number): void {
  if (frame.text === "" && frame.phase === "name") {
    if (/[\w@*]/.test(char)) frame.name += char;
  } else if (frame.text.length < LONGEST_TEXT) {
    if (frame.phase !== "word" || frame.text.length < 2) frame.text += char;
  } else if (frame.phase !== "word") reader.lose("a long subscript or offset", at);
}

/** Whether shells disagree on a quote in an expansion that is quoted itself. */
function quotesDiffer(frame: ParameterFrame, char: string): boolean {
  if (char !== "'" && char !== '"') return false;
  return frame.around === "here" || (char === "'" && !frame.cuts);
}

/** Whether a tag may stand in `${…}` depends on what came before it there. */
function advanceParameter(frame: ParameterFrame, char: string): void {
  if (frame.phase === "start" || frame.phase === "name") {
    if (/\w/.test(char)) frame.phase = "name";
    else if (frame.phase === "start" && (char === "#" || char === "!")) {
      frame.prefixed = char;
      frame.phase = "name";
    } else if (frame.phase === "start" && /[@*?$-]/.test(char)) frame.phase = "name";
    else if (char === ":") frame.phase = "colon";
    else if (char === "[") frame.phase = "subscript";
    else if (/[-=?+#%/^,]/.test(char)) {
      frame.phase = "word";
      frame.cuts = char === "#" || char === "%";
    } else if (frame.phase === "name") frame.phase = "offset";
  } else if (frame.phase === "colon") frame.phase = /[-=?+]/.test(char) ? "word" : "offset";
  else if (frame.phase === "subscript" && char === "]") frame.phase = "name";
}

export function readArithmetic(reader: ShellReader, frame: ArithmeticFrame, char: string, at: number): void {
  if (/\w/.test(char)) {
    if (reader.name === null) frame.name += char;
  } else {
    mentionNames(reader, frame.name, at);
    frame.name = "";
  }
  const last = frame.last;
  frame.last = char;
  if (frame.closing) {
    if (char !== ")") return reader.lose("`((` that does not end with `))`", at);
    return reader.pop();
  }
  if ("'\"`\\".includes(char)) return reader.lose("quoting in arithmetic", at);
  if (frame.command && (char === "#" || char === ";" || (char === "<" && last === "<"))) {
    if (char !== ";" || reader.dialect === "sh") return reader.lose(`\`${char}\` in \`((\`, which bash calculates and another sh runs`, at);
  }
  if (char === "$") reader.dollar = true;
  else if (char === "(" && frame.close === ")") frame.depth++;
  else if (char === "[" && frame.close === "]") frame.depth++;
  else if (char === frame.close) {
    if (frame.depth-- > 0) return;
    if (frame.close === "]") reader.pop();
    else frame.closing = true;
  }
}
