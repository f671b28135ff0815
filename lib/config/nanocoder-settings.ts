/**
 * What Nanocoder's `agents.config.json` says about tools: `nanocoder.alwaysAllow` and `nanocoder.disabledTools`, and
 * nothing else of it. As there, what is not a string is dropped; here that is said.
 */
import { emptyLayer } from "./layer.ts";
import { parseLocated } from "./located-json.ts";
import type { ParsedSettings } from "./settings-file.ts";
import { SettingsReport } from "./settings-report.ts";
import { isRecord } from "./settings-schema.ts";
import type { Sourced } from "./source.ts";

/** Tools that have another name here. */
const OUR_NAMES: ReadonlyMap<string, string> = new Map([["execute_bash", "bash"]]);

export function parseNanocoderSettings(
  text: string,
  origin: { readonly path: string; readonly scope: "user" | "project" },
): ParsedSettings {
  const located = parseLocated(text);
  const report = new SettingsReport(
    { ...origin, dialect: "orrery" },
    (path) => located.kind === "fault" ? located.position : located.positionOf(path),
  );
  const empty = emptyLayer(origin.scope, origin.path);
  if (located.kind === "fault") {
    report.error([], `Cannot use these settings as ${located.message}`);
    return { layer: empty, diagnostics: report.diagnostics };
  }
  const block = isRecord(located.value) ? located.value["nanocoder"] : undefined;
  if (!isRecord(block)) return { layer: empty, diagnostics: [] };
  const layer = { ...empty, always_allow: names("alwaysAllow", block, report), disabled_tools: names("disabledTools", block, report) };
  return { layer, diagnostics: report.diagnostics };
}

function names(key: string, block: Readonly<Record<string, unknown>>, report: SettingsReport): readonly Sourced<string>[] {
  const list = block[key];
  if (list === undefined) return [];
  if (!Array.isArray(list)) {
    report.warn("wrong_value", ["nanocoder", key], `"nanocoder.${key}" is ignored: it must be a list of tool names`);
    return [];
  }
  return list.flatMap((name: unknown, index) => {
    if (typeof name === "string") {
      return [{ value: OUR_NAMES.get(name) ?? name, source: report.source(["nanocoder", key, index], `nanocoder.${key}`) }];
    }
    report.warn("wrong_value", ["nanocoder", key, index], `An element of "nanocoder.${key}" is ignored: it must be the name of a tool`);
    return [];
  });
}
