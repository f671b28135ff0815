/** Parameter expansions and arithmetic: where they end, and whether a value may stand in them. */
import type { ShellReader } from "./shell-reader.ts";
import type { ArithmeticFrame, Frame, ParameterFrame } from "./shell-state.ts";

export function newParameterFrame(around: Frame): ParameterFrame {
  const quoting = around.kind === "double" || around.kind === "here" ? around.kind : around.kind === "parameter" ? around.around : null;
  return { kind: "parameter", around: quoting, phase: "start", prefixed: false, cuts: false, last: "" };
}

export function newArithmeticFrame(close: ArithmeticFrame["close"], command: boolean): ArithmeticFrame {
  return { kind: "arithmetic", close, command, depth: 0, closing: false, last: "" };
}

export function readParameter(reader: ShellReader, frame: ParameterFrame, char: string, at: number): void {
  const last = frame.last;
  frame.last = char;
  if (char === "}") return reader.pop();
  if (frame.around !== null && quotesDiffer(frame, char)) {
    return reader.lose("a quote in `${…}` inside quotes, which shells read differently", at);
  }
  if (char === "(" && (last === "<" || last === ">")) return reader.lose("a process substitution in `${…}`", at);
  advanceParameter(frame, char);
  if (frame.phase === "start" && /[\s|]/.test(char)) return reader.lose("`${ …}`, a command in newer shells only", at);
  if (char === "'") reader.push({ kind: "single" });
  else if (char === '"') reader.push({ kind: "double" });
  else if (char !== "$" || frame.phase !== "name") reader.readExpansions(char);
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
      frame.prefixed = true;
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
