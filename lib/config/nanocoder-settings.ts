/**
 * What Nanocoder's `agents.config.json` says about tools: `nanocoder.alwaysAllow` and `nanocoder.disabledTools`, and
 * nothing else of it. A grant that cannot be read is none, and that is said; a denial that cannot be read is a fault.
 */
import { emptyLayer } from "./layer.ts";
import { parseLocated, type Path } from "./located-json.ts";
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
  return { layer: report.failed ? empty : layer, diagnostics: report.diagnostics };
}

function names(
  key: "alwaysAllow" | "disabledTools",
  block: Readonly<Record<string, unknown>>,
  report: SettingsReport,
): readonly Sourced<string>[] {
  const list = block[key];
  const complain = (path: Path, problem: string) => {
    if (key === "disabledTools") report.error(path, problem);
    else report.warn("wrong_value", path, `${problem}; it is ignored`);
  };
  if (list === undefined) return [];
  if (!Array.isArray(list)) {
    complain(["nanocoder", key], `"nanocoder.${key}" must be a list of tool names`);
    return [];
  }
  return list.flatMap((name: unknown, index) => {
    if (typeof name === "string") {
      return [{ value: OUR_NAMES.get(name) ?? name, source: report.source(["nanocoder", key, index], `nanocoder.${key}`) }];
    }
    complain(["nanocoder", key, index], `An element of "nanocoder.${key}" must be the name of a tool`);
    return [];
  });
}
