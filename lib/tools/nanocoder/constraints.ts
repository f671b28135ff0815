/** Whether a value fits what a parameter declares, and in what it does not. */
import { type Json, numberToken } from "../../session/json.ts";
import { shownNumber } from "../schema-scalars.ts";
import { wholeDigits } from "./numbers.ts";
import type { EnumMember, Parameter, ParameterType } from "./parameters.ts";

export interface Problem {
  readonly pointer: string;
  readonly problem: string;
}

/** @param written the same value with its numbers as they were written, which is how they are quoted. */
export function problemsOf(parameter: Parameter, given: Json, written: () => unknown = () => given): readonly Problem[] {
  const { type, items } = parameter;
  const show = () => describe(given, written());
  if (!fitsType(given, type, written)) return [{ pointer: "", problem: `must be ${withArticle(type)}, not ${show()}` }];
  if (Array.isArray(given)) {
    return (given as readonly Json[]).flatMap((element, index) =>
      elementProblems(element, index, items, () => (written() as readonly unknown[])[index])
    );
  }
  const problems = [
    ...enumProblems(parameter, given, written, show),
    ...(typeof given === "string" ? textProblems(parameter, given) : []),
    ...(typeof given === "number" ? rangeProblems(parameter, given, numberText(given, written())) : []),
  ];
  return problems.map((problem) => ({ pointer: "", problem }));
}

function elementProblems(element: Json, index: number, items: ParameterType | null, written: () => unknown): readonly Problem[] {
  const pointer = `/${index}`;
  if (items !== null && !fitsType(element, items, written)) {
    return [{ pointer, problem: `must be ${withArticle(items)}, not ${describe(element, written())}` }];
  }
  return unpassable(typeof element === "string" ? element : JSON.stringify(element)).map((problem) => ({ pointer, problem }));
}

function enumProblems({ enum: members }: Parameter, given: Json, written: () => unknown, show: () => string): readonly string[] {
  if (members === null || members.some((member) => isSame(member, given, written))) return [];
  const choices = members.map((member) => typeof member === "bigint" ? String(member) : JSON.stringify(member));
  return [`must be one of ${choices.join(", ")}, not ${show()}`];
}

function isSame(member: EnumMember, given: Json, written: () => unknown): boolean {
  return typeof member === "bigint"
    ? typeof given === "number" && wholeDigits(tokenOf(given, written())) === String(member)
    : member === given;
}

function textProblems({ minLength, maxLength, pattern }: Parameter, text: string): readonly string[] {
  const length = minLength === null && maxLength === null ? 0 : [...text].length;
  return [
    ...(minLength !== null && length < minLength ? [`must have at least ${minLength} characters, not ${length}`] : []),
    ...(maxLength !== null && length > maxLength ? [`must have at most ${maxLength} characters, not ${length}`] : []),
    ...(pattern === null ? [] : patternProblems(pattern, text)),
    ...unpassable(text),
  ];
}

/** Work that a pattern may take on one value, in steps of its engine: a fraction of a second. */
const MOST_STEPS = 50_000_000;

function patternProblems({ source, matcher }: NonNullable<Parameter["pattern"]>, text: string): readonly string[] {
  if (matcher.cost(text.length) > MOST_STEPS) return [`is too long (${text.length} characters) to be held against the pattern ${source}`];
  return matcher.test(text) ? [] : [`must match the pattern ${source}`];
}

function rangeProblems({ min, max }: Parameter, given: number, shown: string): readonly string[] {
  return [
    ...(min !== null && given < min ? [`must be at least ${min}, not ${shown}`] : []),
    ...(max !== null && given > max ? [`must be at most ${max}, not ${shown}`] : []),
  ];
}

/** What no process can receive as it is. */
function unpassable(text: string): readonly string[] {
  return [
    ...(text.includes("\0") ? ["has a NUL character, which no program can receive"] : []),
    ...(text.isWellFormed() ? [] : ["has half of a surrogate pair, which no program can receive"]),
  ];
}

function withArticle(type: ParameterType): string {
  return type === "integer" || type === "array" ? `an ${type}` : `a ${type}`;
}

function describe(value: Json, written: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "an array";
  if (typeof value === "object") return "an object";
  if (typeof value === "number") return `the number ${numberText(value, written)}`;
  const text = JSON.stringify(value).toWellFormed();
  return `the ${typeof value} ${text.length > 80 ? `${text.slice(0, 80)}…` : text}`;
}

function numberText(value: number, written: unknown): string {
  return shownNumber(tokenOf(value, written), value);
}

function tokenOf(value: number, written: unknown): string {
  return numberToken(written) ?? String(value);
}

/** Whether a value is of a type; numbers must be finite, and 1.0 is an integer. `written`: as for `problemsOf`. */
export function fitsType(value: unknown, type: ParameterType, written: () => unknown = () => value): boolean {
  switch (type) {
    case "string":
      return typeof value === "string";
    case "boolean":
      return typeof value === "boolean";
    case "number":
      return typeof value === "number" && Number.isFinite(value);
    case "integer":
      // A double may be whole where what was written is not.
      return typeof value === "number" && Number.isInteger(value) && wholeDigits(tokenOf(value, written())) !== null;
    case "array":
      return Array.isArray(value);
  }
}
