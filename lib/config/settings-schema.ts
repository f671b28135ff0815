/** What a settings file may say. */
import * as v from "valibot";
import { secretIn } from "../session/address.ts";
import { Mode } from "../session/outcome.ts";

export const HOOK_EVENTS = ["SessionStart", "PreToolUse", "PostToolUse", "Stop"] as const;
export type HookEvent = (typeof HOOK_EVENTS)[number];

export const DEFAULT_HOOK_TIMEOUT_MS = 60_000;
export const LONGEST_HOOK_TIMEOUT_MS = 600_000;

const text = (what: string) =>
  v.pipe(
    v.string(`must be ${what}`),
    v.check((given) => given.trim() !== "" && !given.includes("\0"), `must be ${what}, and not be blank`),
  );
const names = v.array(text("the name of a tool"), "must be a list of tool names");
export const OnOff = v.picklist(["on", "off"], 'must be "on" or "off"');
const count = v.pipe(v.number("must be a number"), v.integer("must be a whole number"), v.minValue(1, "must be at least 1"));
const amount = v.pipe(v.number("must be a number"), v.finite("must be finite"), v.gtValue(0, "must be more than 0"));
const withholding = v.array(text('the name of a variable, a pattern with "*", or "credentials"'), "must be a list of names of variables");

const variable = v.pipe(text("the name of a variable"), v.regex(/^[^*=]*$/, 'must be the whole name of a variable, without "*" and "="'));

const Hook = v.object({
  type: v.optional(v.literal("command", 'must be "command"')),
  command: text("a command for the shell"),
  timeoutMs: v.optional(
    v.pipe(v.number("must be a number of milliseconds"), v.integer("must be a whole number"), v.minValue(0, "must not be negative")),
  ),
});
const HookGroup = v.object({
  matcher: v.optional(v.string('must be a pattern for names of tools, in which only "*" is special')),
  hooks: v.array(v.looseObject(Hook.entries, "must be an object with a command"), "must be a list of hooks"),
});
const HookGroups = v.array(v.looseObject(HookGroup.entries, 'must be an object with "hooks"'), 'must be a list of {"matcher", "hooks"}');

const TrustGlob = v.pipe(text("a folder or a pattern for one"), v.regex(/^(?:\/|~(?:\/|$))/, 'must begin with "/" or "~/"'));

/** The keys of a settings file. Unknown ones are reported by `unknownKeys`, and `tools` and `hooks` looked at more closely. */
export const SettingsFile = v.object({
  model: v.optional(text("provider/model")),
  base_url: v.optional(
    v.pipe(
      text("an address"),
      v.check(isWebAddress, "must be an address that begins with http:// or https://"),
      // It is recorded and shown, and so would they be.
      v.check(
        (given) => secretIn(given) === null,
        "must hold no user name, no password and no key in its query: keys come from the provider's variable",
      ),
    ),
  ),
  mode: v.optional(v.picklist(Mode.options, `must be one of ${Mode.options.join(", ")}`)),
  speculation: v.optional(OnOff),
  limits: v.optional(v.object({
    max_steps: v.optional(count),
    timeout_s: v.optional(amount),
    spend_usd: v.optional(amount),
    prices: v.optional(text("the path of a price table")),
    context_tokens: v.optional(count),
  }, "must be an object")),
  serve: v.optional(v.object({
    host: v.optional(text("a host name or an address")),
    port: v.optional(
      v.pipe(
        v.number("must be a number"),
        v.integer("must be a whole number"),
        v.minValue(0, "must be a port"),
        v.maxValue(65535, "must be a port"),
      ),
    ),
    token_file: v.optional(text("a path")),
  }, "must be an object")),
  trust: v.optional(v.union([v.literal("all"), v.array(TrustGlob)], 'must be "all" or a list of folders, each beginning with "/" or "~/"')),
  tools: v.optional(v.custom<Readonly<Record<string, unknown>>>(isRecord, 'must be an object of "on" and "off"')),
  hooks: v.optional(v.custom<Readonly<Record<string, unknown>>>(isRecord, "must be an object with the names of events")),
  alwaysAllow: v.optional(names),
  disabledTools: v.optional(names),
});
export type SettingsFile = v.InferOutput<typeof SettingsFile>;

/** The parts of `tools` and `hooks`, by the key that holds them. */
export const toolsEntries = { env_withhold: withholding, env_allow: v.array(variable, "must be a list of names of variables") };
export const hookGroups = HookGroups;
export type HookGroups = v.InferOutput<typeof HookGroups>;

/** Known keys of every object in a settings file, by the names that lead to it; `#` stands for an element. */
export const KNOWN_KEYS: Readonly<Record<string, readonly string[]>> = {
  "": Object.keys(SettingsFile.entries),
  "limits": ["max_steps", "timeout_s", "spend_usd", "prices", "context_tokens"],
  "serve": ["host", "port", "token_file"],
  "hooks.*.#": Object.keys(HookGroup.entries),
  "hooks.*.#.hooks.#": Object.keys(Hook.entries),
};

export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isWebAddress(address: string): boolean {
  return /^https?:\/\//i.test(address) && URL.canParse(address);
}
