/** What settings and trust say for one workspace, made into what the gate and the tools use. */
import { join } from "node:path";
import { type Configuration, mergeSettings } from "../config/merge.ts";
import type { ConfiguredHook, Layer, PlainSettings } from "../config/layer.ts";
import type { Environment, Paths } from "../config/paths.ts";
import { environmentLayer, flagLayer } from "../config/plain-layer.ts";
import { describeSettingsDiagnostic, readSettings, type SettingsChoice } from "../config/settings.ts";
import { describeSource } from "../config/source.ts";
import { type InheritedEnvironment, inheritedEnvironment, isOn, SERVER_TOKENS } from "../config/environment.ts";
import type { Hook, InertHook } from "../gate/hook.ts";
import type { HookSet } from "../gate/hooks.ts";
import type { ProgramContext } from "../gate/program-place.ts";
import { type Survey, surveyWorkspace } from "../gate/survey.ts";
import { createSwitches, type Switches } from "../gate/switches.ts";
import { checkTrust, describeReason, type WorkspaceTrust } from "../gate/trust.ts";
import { createTrustStore } from "../gate/trust-store.ts";
import { workspaceFiles } from "../gate/workspace-files.ts";
import { secretVariables } from "../model/providers.ts";
import { DEFAULT_LIMITS } from "../session/next.ts";
import type { Mode } from "../session/outcome.ts";
import { nearest } from "../tools/nearest.ts";
import type { AgentNotice } from "./options.ts";

export interface Policy {
  readonly configuration: Configuration;
  readonly survey: Survey;
  readonly trust: WorkspaceTrust;
  readonly switches: Switches;
  readonly hooks: HookSet;
  /** What a child may inherit, and what of the environment it does not get. */
  readonly inherited: InheritedEnvironment;
  /** Rule names of tools that need no prompt. */
  readonly always_allow: ReadonlySet<string>;
  /** Absolute paths of files that hold a secret of the runtime. */
  readonly secret_files: readonly string[];
  readonly notices: readonly AgentNotice[];
}

export interface PolicyOptions {
  /** Absolute, without symlinks. */
  readonly workspace: string;
  readonly paths: Paths;
  readonly env: Environment;
  readonly platform: string;
  /** `--trust-workspace` was given for this workspace. */
  readonly trustFlag: boolean;
  /** Files with secrets besides the token file that is the default and that of the settings. */
  readonly secretFiles?: readonly string[];
  readonly defaultMode?: Mode;
  /** With "sound" nothing may be started: a file that is left out may hold the guard against it. */
  readonly settings?: SettingsChoice;
  readonly flags: { readonly [K in keyof PlainSettings]?: PlainSettings[K] | undefined };
}

/** Variables that are the runtime's own, whoever it works for: keys of providers and the server's token. */
export function runtimeSecrets(): readonly string[] {
  return [...secretVariables(), ...SERVER_TOKENS];
}

/** Reads and weighs; starts nothing. @throws {ConfigError} */
export async function openPolicy(
  { workspace, paths, env, platform, trustFlag, flags, secretFiles = [], defaultMode = "auto-accept", settings = "all" }: PolicyOptions,
): Promise<Policy> {
  const read = readSettings({ paths, env, workspace, platform }, nearest, settings);
  const layers: readonly Layer[] = [...read.layers, environmentLayer(env), flagLayer(flags)];
  const survey = await surveyWorkspace(workspace, workspaceFiles);
  const trust = await checkTrust(survey, createTrustStore(paths.data), {
    flag: trustFlag,
    environment: isOn(env["ORRERY_TRUST_WORKSPACE"]),
    setting: mergeSettings(layers, { trusted: false, defaults: {} }).trust?.value ?? null,
    home: paths.home,
  });
  const configuration = mergeSettings(layers, {
    trusted: trust.verdict.kind === "trusted",
    defaults: { mode: defaultMode, speculation: "on", "limits.max_steps": DEFAULT_LIMITS.max_steps },
  });
  const inherited = inheritedEnvironment(env, secretVariables(), configuration.environment);
  return {
    configuration,
    survey,
    trust,
    inherited,
    switches: toSwitches(configuration),
    hooks: await toHooks(configuration, trust, { workspace, path: inherited.env["PATH"] ?? "", home: inherited.env["HOME"] }),
    secret_files: [...secretFiles, join(paths.data, "server.token"), ...tokenFiles(layers)],
    always_allow: new Set(configuration.always_allow.map(({ value }) => value)),
    notices: read.diagnostics.filter(({ severity }) => severity !== "info").map((said) => ({
      level: "warning",
      code: `settings_${said.code}`,
      text: describeSettingsDiagnostic(said),
    })),
  };
}

/** Of every layer: a server may run with another workspace and other flags than this session. */
function tokenFiles(layers: readonly Layer[]): readonly string[] {
  return layers.flatMap(({ plain }) => plain["serve.token_file"]?.value ?? []);
}

function toSwitches({ switches, disabled_tools }: Configuration): Switches {
  const tables = [...switches.organisation, ...switches.project, switches.merged].map((table) =>
    table.map(({ key, state, source }) => ({ key, state, where: describeSource(source) }))
  );
  return createSwitches(tables, disabled_tools.map(({ value, source }) => ({ name: value, where: describeSource(source) })));
}

/** A hook that runs something of an untrusted workspace would do what the workspace says, whoever wrote the hook. */
async function toHooks(configuration: Configuration, { verdict }: WorkspaceTrust, place: ProgramContext): Promise<HookSet> {
  const reason = verdict.kind === "trusted" ? null : describeReason(verdict);
  const active: Hook[] = [];
  const inert: InertHook[] = configuration.inert_hooks.map((configured) => ({
    hook: toHook(configured),
    reason: reason ?? "it is not trusted",
  }));
  if (configuration.hooks.length === 0) return { active, inert };
  const { workspaceProgramOf } = await import("../gate/program-place.ts");
  for (const configured of configuration.hooks) {
    const hook = toHook(configured);
    const program = reason === null ? null : workspaceProgramOf(hook.command, place);
    if (program === null) active.push(hook);
    else inert.push({ hook, reason: `its command, by "${program}", may lead into the workspace, and ${reason}` });
  }
  return { active, inert };
}

function toHook({ event, matcher, command, timeout_ms, source }: ConfiguredHook): Hook {
  const scope = source.scope === "organisation" || source.scope === "user" ? source.scope : "project";
  return { event, matcher, command, timeout_ms, scope, where: describeSource(source) };
}
