/** Reading JSON of unknown shape without a schema: a stream is read hundreds of times a second. */
export type Fields = Readonly<Record<string, unknown>>;

export function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export function fieldsIn(value: unknown, key: string): Fields | undefined {
  const found = isFields(value) ? value[key] : undefined;
  return isFields(found) ? found : undefined;
}

/** A string that is not empty. */
export function textIn(value: unknown, key: string): string | undefined {
  const found = isFields(value) ? value[key] : undefined;
  return typeof found === "string" && found !== "" ? found : undefined;
}

/**
 * What should be the text of a JSON document and with some servers is the document itself. `exact` gives `value` with
 * its numbers as written. Null, "" and an empty list, which is an empty object to some languages, are absent.
 */
export function documentIn(value: unknown, key: string, exact: () => unknown): string | undefined {
  const found = isFields(value) ? value[key] : undefined;
  if (typeof found === "string") return textIn(value, key);
  if (found === undefined || found === null || (Array.isArray(found) && found.length === 0)) return undefined;
  const parsed = exact();
  return JSON.stringify(isFields(parsed) ? parsed[key] : found);
}

export function numberIn(value: unknown, key: string): number | undefined {
  const found = isFields(value) ? value[key] : undefined;
  return typeof found === "number" && Number.isFinite(found) ? found : undefined;
}

/** Beyond what any one request can use or cost. */
const MOST = 1e9;

/** A sum of money; undefined also for a number that can be none: what was not said must not be taken for what was. */
export function amountIn(value: unknown, key: string): number | undefined {
  const found = numberIn(value, key);
  return found !== undefined && found >= 0 && found <= MOST ? found : undefined;
}

/** A count of tokens, likewise. */
export function countIn(value: unknown, key: string): number | undefined {
  const found = amountIn(value, key);
  return Number.isInteger(found) ? found : undefined;
}

export function listIn(value: unknown, key: string): readonly unknown[] {
  const found = isFields(value) ? value[key] : undefined;
  return Array.isArray(found) ? found : NONE;
}

const NONE: readonly unknown[] = [];
