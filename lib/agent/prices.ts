/** What replies cost, where the endpoint does not say it. */
import { readFileSync } from "node:fs";
import * as v from "valibot";
import { ConfigError } from "../config/error.ts";
import { withoutByteOrderMark } from "../session/byte-order-mark.ts";
import type { Usage } from "../session/outcome.ts";

const amount = v.pipe(v.number(), v.minValue(0));
const Row = v.strictObject({ input: amount, output: amount, cached_input: v.optional(amount) });
const Prices = v.record(v.string(), Row);

/** US dollars for a million tokens; `reported`: a limit is held against what the endpoint says that a reply cost. */
export type Price = v.InferOutput<typeof Row> | "reported";

/** Providers whose replies carry their cost. */
const REPORTING = ["openrouter/"];

/**
 * The price of one model, or null if none is known.
 * @throws {ConfigError} the table cannot be used, or there is a spend limit that nothing could be held against.
 */
export function priceOf(model: string, table: string | undefined, spend_usd: number | undefined): Price | null {
  const price = table === undefined ? undefined : readPrices(table)[model];
  if (price !== undefined) return price;
  if (spend_usd === undefined) return null;
  if (REPORTING.some((prefix) => model.startsWith(prefix))) return "reported";
  throw new ConfigError(
    `Cannot hold "limits.spend_usd" as the price of "${model}" is not known: put it into the table that "limits.prices" names`,
  );
}

/** The usage with its cost, unless the endpoint reported one. Tokens that were not reported are no tokens that cost nothing. */
export function withCost(usage: Usage, price: Price | null): Usage {
  if (price === null || usage.cost_usd !== undefined || usage.unreported_replies !== undefined) return usage;
  if (price === "reported") return usage.input_tokens + usage.output_tokens === 0 ? usage : { ...usage, unreported_replies: 1 };
  const cached = usage.cached_input_tokens ?? 0;
  const input = Math.max(0, usage.input_tokens - cached) * price.input + cached * (price.cached_input ?? price.input);
  return { ...usage, cost_usd: (input + usage.output_tokens * price.output) / 1_000_000 };
}

function readPrices(path: string): v.InferOutput<typeof Prices> {
  try {
    return v.parse(Prices, JSON.parse(withoutByteOrderMark(readFileSync(path, "utf8"))));
  } catch (error) {
    const reason = error instanceof v.ValiError ? `${v.getDotPath(error.issues[0]) ?? "it"}: ${error.message}` : (error as Error).message;
    throw new ConfigError(`Cannot use the price table "${path}": ${reason}`, { cause: error });
  }
}
