/**
 * The text of one settings file as a layer. Everything wrong is said at once, with line and column; what is only
 * unknown, or does not count here, is a warning. Pure.
 */
import { dirname, resolve } from "node:path";
import * as v from "valibot";
import { type ConfiguredHook, emptyLayer, type Layer, type PlainKey, type Switch } from "./layer.ts";
import { parseLocated, type Path } from "./located-json.ts";
import {
  DEFAULT_HOOK_TIMEOUT_MS,
  HOOK_EVENTS,
  type HookEvent,
  type HookGroups,
  hookGroups,
  isRecord,
  KNOWN_KEYS,
  LONGEST_HOOK_TIMEOUT_MS,
  OnOff,
  SettingsFile,
  toolsEntries,
} from "./settings-schema.ts";
import { dotted, type SettingsDiagnostic, type SettingsOrigin, SettingsReport } from "./settings-report.ts";
import type { Sourced } from "./source.ts";

/** The known name that a wrong one most likely stands for. */
export type NearestName = (name: string, known: readonly string[]) => string | null;

/** `layer` is empty if there is an error. */
export interface ParsedSettings {
  readonly layer: Layer;
  readonly diagnostics: readonly SettingsDiagnostic[];
}

/** Settings that name a file: relative to the folder of the file that says so. */
const PATHS: readonly string[] = ["limits.prices", "serve.token_file"];

/** Of one value the first fault is enough. */
const FIRST_FAULT = { abortPipeEarly: true };

/** Stella's hooks that are fired by what Orrery does not have. */
const STELLA_EVENTS = ["PreCompact", "PreIssueWork", "PostIssueWork"];

export function parseSettings(text: string, origin: SettingsOrigin, nearest: NearestName): ParsedSettings {
  const located = parseLocated(text);
  const report = new SettingsReport(origin, (path) => located.kind === "fault" ? located.position : located.positionOf(path));
  if (located.kind === "fault") {
    report.error([], `Cannot use these settings as ${located.message}`);
    return failed(origin, report.diagnostics);
  }
  if (!isRecord(located.value)) {
    report.error([], "Settings must be one JSON object");
    return failed(origin, report.diagnostics);
  }
  reportUnknown(located.value, report, nearest);
  const parsed = v.safeParse(SettingsFile, located.value, FIRST_FAULT);
  if (!parsed.success) report.issues(parsed.issues);
  const tools = isRecord(located.value["tools"])
    ? readTools(located.value["tools"], report)
    : { switches: [], env_withhold: [], env_allow: [] };
  const hooks = isRecord(located.value["hooks"]) ? readHooks(located.value["hooks"], report, nearest) : [];
  if (!parsed.success || report.failed) return failed(origin, report.diagnostics);
  return { layer: toLayer(parsed.output, tools, hooks, report), diagnostics: report.diagnostics };
}

function toLayer(file: SettingsFile, tools: ToolsPart, hooks: readonly ConfiguredHook[], report: SettingsReport): Layer {
  const { origin } = report;
  const list = (key: "alwaysAllow" | "disabledTools") =>
    (file[key] ?? []).map((value, index) => ({ value, source: report.source([key, index], key) }));
  return {
    scope: origin.scope,
    path: origin.path,
    plain: plainLeaves(file, report),
    switches: tools.switches,
    hooks,
    always_allow: list("alwaysAllow"),
    disabled_tools: list("disabledTools"),
    env_withhold: tools.env_withhold.length > 0 && report.inPlace(["tools", "env_withhold"]) ? tools.env_withhold : [],
    env_allow: tools.env_allow.length > 0 && report.inPlace(["tools", "env_allow"]) ? tools.env_allow : [],
    ...(file.trust !== undefined && report.inPlace(["trust"]) ? { trust: { value: file.trust, source: report.source(["trust"]) } } : {}),
  };
}

function plainLeaves(file: SettingsFile, report: SettingsReport): Layer["plain"] {
  const { model, base_url, mode, speculation } = file;
  const groups = { limits: file.limits, serve: file.serve !== undefined && report.inPlace(["serve"]) ? file.serve : undefined };
  const flat: Partial<Record<PlainKey, unknown>> = { model, base_url, mode, speculation };
  for (const [group, members] of Object.entries(groups)) {
    for (const [key, value] of Object.entries(members ?? {})) flat[`${group}.${key}` as PlainKey] = value;
  }
  const given = Object.entries(flat).filter(([, value]) => value !== undefined);
  const settle = (key: string, value: unknown) => PATHS.includes(key) ? resolve(dirname(report.origin.path), String(value)) : value;
  return Object.fromEntries(given.map(([key, value]) => [key, { value: settle(key, value), source: report.source(key.split(".")) }]));
}

interface ToolsPart {
  readonly switches: readonly Switch[];
  readonly env_withhold: readonly Sourced<string>[];
  readonly env_allow: readonly Sourced<string>[];
}

/** By hand: a tool may be called `constructor`, which the library would leave out. */
function readTools(tools: Readonly<Record<string, unknown>>, report: SettingsReport): ToolsPart {
  const switches: Switch[] = [];
  const lists = { env_withhold: [] as Sourced<string>[], env_allow: [] as Sourced<string>[] };
  for (const [key, value] of Object.entries(tools)) {
    if (key === "env_withhold" || key === "env_allow") {
      const parsed = v.safeParse(toolsEntries[key], value, FIRST_FAULT);
      if (!parsed.success) report.issues(parsed.issues, ["tools", key]);
      else {lists[key].push(
          ...parsed.output.map((name, index) => ({ value: name, source: report.source(["tools", key, index], `tools.${key}`) })),
        );}
      continue;
    }
    const state = v.safeParse(OnOff, value);
    if (state.success) switches.push({ key, state: state.output, source: report.source(["tools", key]) });
    else report.issues(state.issues, ["tools", key]);
  }
  return { switches, ...lists };
}

function readHooks(hooks: Readonly<Record<string, unknown>>, report: SettingsReport, nearest: NearestName): readonly ConfiguredHook[] {
  return Object.entries(hooks).flatMap(([event, value]) => {
    const path = ["hooks", event];
    if (!isHookEvent(event)) {
      if (STELLA_EVENTS.includes(event)) report.warn("hook_event", path, `Hooks of "${event}" never run here`);
      else report.warn("hook_event", path, `"${event}" is not an event, so its hooks never run${suggestion(nearest(event, HOOK_EVENTS))}`);
      return [];
    }
    const parsed = v.safeParse(hookGroups, value, FIRST_FAULT);
    if (parsed.success) return parsed.output.flatMap((group, index) => toHooks(event, group, [...path, index], report));
    report.issues(parsed.issues, path);
    return [];
  });
}

function toHooks(event: HookEvent, group: HookGroups[number], path: Path, report: SettingsReport): readonly ConfiguredHook[] {
  const matches = event === "PreToolUse" || event === "PostToolUse";
  if (!matches && group.matcher !== undefined) report.warn("hook_matcher", [...path, "matcher"], `"matcher" has no meaning for ${event}`);
  return group.hooks.map((hook, index) => {
    const at = [...path, "hooks", index];
    const asked = hook.timeoutMs === undefined || hook.timeoutMs === 0 ? DEFAULT_HOOK_TIMEOUT_MS : hook.timeoutMs;
    if (asked > LONGEST_HOOK_TIMEOUT_MS) {
      report.warn(
        "hook_timeout",
        [...at, "timeoutMs"],
        `"timeoutMs" is at most ${LONGEST_HOOK_TIMEOUT_MS}, which is what counts instead of ${asked}`,
      );
    }
    return {
      event,
      matcher: matches ? group.matcher ?? null : null,
      command: hook.command,
      timeout_ms: Math.min(asked, LONGEST_HOOK_TIMEOUT_MS),
      source: report.source(at),
    };
  });
}

function reportUnknown(settings: Readonly<Record<string, unknown>>, report: SettingsReport, nearest: NearestName): void {
  const foreign: string[] = [];
  const visit = (value: unknown, path: Path, shape: string): void => {
    if (Array.isArray(value)) return value.forEach((element, index) => visit(element, [...path, index], `${shape}.#`));
    if (!isRecord(value)) return;
    const known = KNOWN_KEYS[shape];
    for (const [key, member] of Object.entries(value)) {
      if (known !== undefined && !known.includes(key)) {
        const near = nearest(key, known);
        if (report.origin.dialect === "stella" && path.length === 0 && near === null) foreign.push(key);
        else report.warn("unknown_key", [...path, key], `Unknown key "${dotted([...path, key])}" is ignored${suggestion(near)}`);
      } else visit(member, [...path, key], nextShape(shape, key));
    }
  };
  visit(settings, [], "");
  if (foreign.length > 0) {
    report.note(
      "foreign_keys",
      [foreign[0] ?? ""],
      `Orrery does not read ${foreign.map((key) => `"${key}"`).join(", ")}`,
    );
  }
}

function nextShape(shape: string, key: string): string {
  if (shape === "") return key;
  return shape === "hooks" ? "hooks.*" : `${shape}.${key}`;
}

function suggestion(name: string | null): string {
  return name === null ? "" : `; did you mean "${name}"?`;
}

function isHookEvent(name: string): name is HookEvent {
  return (HOOK_EVENTS as readonly string[]).includes(name);
}

function failed(origin: SettingsOrigin, diagnostics: readonly SettingsDiagnostic[]): ParsedSettings {
  return { layer: emptyLayer(origin.scope, origin.path), diagnostics };
}
