/**
 * Text of several lines made to fit a narrow terminal. What stands in two columns stays in two where there is room.
 * A command that is to be copied stays on one line, as its pieces would not run.
 */
import { calledName } from "../lib/platform/called.ts";
import { widthOf } from "./width.ts";

export function fold(text: string, width: number): string {
  return text.split("\n").flatMap((line) => widthOfShown(line) <= width || isCommand(line) ? [line] : foldLine(line, width)).join("\n");
}

function foldLine(line: string, width: number): readonly string[] {
  const [, margin = "", head = "", rest = ""] = /^(\s*)(?:(\S.*?\s{2,})(?=\S))?(.*)$/.exec(line) ?? [];
  const column = widthOfShown(margin + head);
  if (head !== "" && column <= width / 2) {
    const [first = "", ...others] = fill(rest, width - column);
    return [margin + head + first, ...others.map((each) => " ".repeat(column) + each)];
  }
  const [before, after] = [fill(head.trimEnd(), width - margin.length), fill(rest, width - margin.length - INDENT)];
  const lines = head === "" ? after.map((each, index) => (index === 0 ? "" : " ".repeat(INDENT)) + each) : [
    ...before,
    ...after.map((each) => " ".repeat(INDENT) + each),
  ];
  return lines.map((each) => margin + each);
}

const INDENT = 2;

/** A word that is longer stays whole. */
function fill(text: string, width: number): readonly string[] {
  const lines: string[] = [];
  for (const word of text.split(/ +/).filter((each) => each !== "")) {
    const last = lines.at(-1);
    if (last !== undefined && widthOfShown(last) + 1 + widthOfShown(word) <= width) lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(word);
  }
  return lines;
}

function isCommand(line: string): boolean {
  const [word = ""] = line.trimStart().split(" ", 1);
  return ["orrery", calledName()].includes(word.replace(/^.*\//, "")) && word.length < line.trimStart().length && !/ \[|\.\.\./.test(line);
}

function widthOfShown(text: string): number {
  return widthOf(text.replace(/\x1b\[[0-9;]*m/g, ""));
}
