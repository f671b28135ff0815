/**
 * Whose positional parameters `$1` and `$@` are: the script's, or those of the function whose body is being read. Where
 * `shift` may have run an unknown number of times, any of them may be meant.
 */
import { EVERY_ARGUMENT } from "./shell-source.ts";
import type { ShellReader } from "./shell-reader.ts";
import { type CommandFrame, newScope, type Scope } from "./shell-state.ts";

/** Of a body in no braces, whose end is not looked for: the parameters are anybody's. */
const SOMEBODY = "@";

export function allOf(scope: string): string {
  return scope === SOMEBODY ? EVERY_ARGUMENT : `${scope}@`;
}

/** What an argument is a part of. `exact`: else it may be that index or any behind it. */
export function argumentOf(scope: string, index: number, exact: boolean): readonly string[] {
  return [exact ? `${scope}@${index}` : behind(scope, index), allOf(scope), EVERY_ARGUMENT];
}

/** Whether the word that is being read has the index that its command says. */
export function isExact({ several, command }: CommandFrame): boolean {
  return !several && !command.vague;
}

function behind(scope: string, index: number): string {
  return `${scope}@${index}+`;
}

/** Parameters are told apart up to here. */
const MOST_INDEXED = 20;

/** The sources of one parameter, or of all if the name is `@` or `*`. */
export function parameterOf(reader: ShellReader, name: string, at: number): string {
  if (name === "0") reader.flows.flow({ to: "@0", from: behind("", 0), level: "value", at });
  if (name === "0") return "@0";
  const scope = scopeOf(reader);
  const index = scope.shifted === null || !/^\d+$/.test(name) ? Infinity : Number(name) + scope.shifted;
  if (index > MOST_INDEXED || scope.name === SOMEBODY) return allOf(scope.name);
  const source = `${scope.name}@${index}`;
  for (let least = 0; least <= index; least++) reader.flows.flow({ to: source, from: behind(scope.name, least), level: "value", at });
  if (scope.loops > 0) reader.flows.flow({ to: source, from: allOf(scope.name), level: "value", at, when: `shifting:${scope.name}` });
  return source;
}

export function scopeOf({ frames, outer }: ShellReader): Scope {
  const frame = frames.findLast((each) => each.kind === "command" && each.scopes.length > 0);
  return frame?.kind === "command" ? frame.scopes.at(-1) ?? outer : outer;
}

/** `shift` was read, with whatever stands around it. */
export function noteShift(reader: ShellReader, frame: CommandFrame): void {
  const scope = scopeOf(reader);
  const certain = frame.scopes.at(-1) === scope && scope.braces === 1 && scope.compounds === 0 && frame.groups.length === scope.groups;
  scope.shifted = certain && !frame.chained && scope.shifted !== null ? scope.shifted + 1 : null;
  if (scope.loops > 0) reader.flows.note("shifting", scope.name);
}

/** More than one at a time: none at all if there are fewer. */
export function forgetShifts(reader: ShellReader): void {
  scopeOf(reader).shifted = null;
}

/** A keyword of the shell, where one may stand. */
export function noteKeyword(reader: ShellReader, frame: CommandFrame, word: string): void {
  const begun = frame.defining;
  if (begun !== null && word !== "{") frame.scopes.push(newScope(SOMEBODY, frame.groups.length));
  if (begun !== null && word === "{") frame.scopes.push(newScope(begun, frame.groups.length));
  frame.defining = null;
  const scope = scopeOf(reader);
  if (word === "{" && begun === null) scope.braces++;
  else if (/^(?:if|while|until|for|select|case)$/.test(word)) scope.compounds++;
  else if (/^(?:fi|done)$/.test(word)) scope.compounds--;
  if (/^(?:while|until|for|select)$/.test(word)) scope.loops++;
  else if (word === "done") scope.loops--;
  if (word !== "}" || --scope.braces > 0 || frame.scopes.at(-1) !== scope || scope.name === "") return;
  frame.scopes.pop();
}

export function noteEsac(reader: ShellReader): void {
  scopeOf(reader).compounds--;
}

/** A parenthesis opens where a command may stand: whether that is the body of a function. */
export function enterSubshell(frame: CommandFrame): boolean {
  if (frame.defining === null) return false;
  frame.scopes.push(newScope(frame.defining, frame.groups.length));
  frame.defining = null;
  return true;
}
