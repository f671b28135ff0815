/**
 * Numbers as a shell is given them. A model may write 2 as `2.0` or `20e-1`, which no arithmetic, `case` or option of a
 * program takes, so a whole number becomes plain digits: of exactly that number, as a double has not all of them.
 */
import { numberToken } from "../../session/json.ts";
import { readDocument } from "../../session/json-reader.ts";
import type { EnumMember, Parameter, ParameterType } from "./parameters.ts";

/** Of the largest double. */
const MOST_DIGITS = 309;
/** The same in octal, and some zeros. */
const MOST_RADIX_DIGITS = 400;
/** From there on JavaScript, and so the original, writes an exponent. */
const MOST_NUMBER_DIGITS = 21;

const DECIMAL = /^([-+]?)(\d*)(?:\.(\d*))?(?:[eE]([-+]?\d+))?$/;

/** The plain digits of a whole number, however JSON or YAML spells it; null if it is not whole or beyond any double. */
export function wholeDigits(written: string): string | null {
  if (/^0[xo]/.test(written)) return written.length > MOST_RADIX_DIGITS ? null : String(BigInt(written));
  const [, sign, whole, fraction = "", exponent = "0"] = DECIMAL.exec(written) ?? [];
  if (whole === undefined || whole + fraction === "") return null;
  const digits = `${whole}${fraction}`.replace(/^0+/, "");
  let end = digits.length;
  while (digits[end - 1] === "0") end--;
  if (end === 0) return "0";
  const zeros = Number(exponent) - fraction.length + digits.length - end;
  if (zeros < 0 || end + zeros > MOST_DIGITS) return null;
  return `${sign === "-" ? "-" : ""}${digits.slice(0, end)}${"0".repeat(zeros)}`;
}

/** The number that a token means, as text for a parameter of the type. */
function plainNumber(token: string, type: ParameterType | null, members: readonly EnumMember[] | null): string {
  const digits = wholeDigits(token);
  if (digits !== null && (type === "integer" || digits.replace("-", "").length <= MOST_NUMBER_DIGITS)) return digits;
  // The body was written for the values of its enum, which are compared there as texts.
  const member = members?.find((each) => each === Number(token));
  return member === undefined ? token : String(member);
}

type Numeric = Pick<Parameter, "type" | "items" | "enum">;

/**
 * JSON text of a value for a parameter, as `parseKeepingNumbers` gives it, its numbers as a shell is given them. What
 * lies deeper in a list is JSON to the shell too.
 */
export function writeArgument(value: unknown, { type, items, enum: members }: Numeric): string {
  const token = numberToken(value);
  if (token !== null) return plainNumber(token, type, members);
  if (!Array.isArray(value)) return JSON.stringify(value);
  const elements = (value as readonly unknown[]).map((element) => {
    const own = numberToken(element);
    return own === null ? JSON.stringify(element) : plainNumber(own, items, null);
  });
  return `[${elements.join(",")}]`;
}

/** Whether a parser with doubles reads every number of a JSON text as what it is. */
export function fitsDoubles(text: string): boolean {
  let fits = true;
  readDocument(text, {
    number: (token) => {
      const value = Number(token);
      const digits = wholeDigits(token);
      fits &&= Number.isFinite(value) && (digits === null || BigInt(digits) === BigInt(value));
      return value;
    },
  });
  return fits;
}

/** A member of an enum, of its JSON text. */
export function readMember(text: string): EnumMember {
  return fitsDoubles(text) ? JSON.parse(text) as EnumMember : BigInt(wholeDigits(text) ?? text);
}
