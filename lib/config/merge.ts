/**
 * Many layers, one configuration. Pure. Of two layers of one scope the one that is named first is the more specific.
 *
 * M1  Of plain settings the most specific counts: flag, environment, trusted project, user, organisation.
 * M2  Whatever a project grants counts only if it is trusted; what it denies always counts. A project alone can
 *     therefore not widen anything.
 * M3  What the organisation turns off or limits is a ceiling: nothing lifts it.
 * M4  Hooks of all scopes run, the organisation's first, then the user's, then the project's.
 */
import type { ConfiguredHook, Layer, PlainKey, PlainLeaves, PlainSettings, Switch, TrustSetting } from "./layer.ts";
import { type Scope, SCOPES, type Source, type Sourced } from "./source.ts";

export interface Configuration {
  readonly plain: PlainLeaves;
  /** The organisation's limits: what a caller asks for one turn is held to them too. */
  readonly ceilings: PlainLeaves;
  readonly switches: SwitchLayers;
  readonly always_allow: readonly Sourced<string>[];
  readonly disabled_tools: readonly Sourced<string>[];
  readonly hooks: readonly ConfiguredHook[];
  /** A project's hooks, if it is not trusted: they do not run, but what they guard is refused. */
  readonly inert_hooks: readonly ConfiguredHook[];
  readonly environment: EnvironmentRules;
  readonly trust: Sourced<TrustSetting> | null;
  /** What a project would grant if it were trusted, by the source of each. */
  readonly ungranted: readonly Source[];
}

/** A tool is on if no table turns it off. A file is a table of its own, so that another's `on` does not lift its `off`. */
export interface SwitchLayers {
  readonly organisation: readonly (readonly Switch[])[];
  /** A project's: its `off` always counts. An `on` that is not granted stands in a table where it lifts nothing. */
  readonly project: readonly (readonly Switch[])[];
  /** The user's, and over them a trusted project's: the most specific key counts. */
  readonly merged: readonly Switch[];
}

/** Which variables a child does not get. The organisation's own are lifted only by itself. */
export interface EnvironmentRules {
  readonly organisation: { readonly withhold: readonly Sourced<string>[]; readonly allow: readonly Sourced<string>[] };
  readonly user: { readonly withhold: readonly Sourced<string>[]; readonly allow: readonly Sourced<string>[] };
}

export interface MergeOptions {
  readonly trusted: boolean;
  readonly defaults: { readonly [K in PlainKey]?: PlainSettings[K] };
}

export function mergeSettings(layers: readonly Layer[], { trusted, defaults }: MergeOptions): Configuration {
  const of = (scope: Scope) => layers.filter((layer) => layer.scope === scope);
  const [organisation, user, project] = [of("organisation"), of("user"), of("project")];
  const granted = [...organisation, ...user, ...(trusted ? project : [])];
  return {
    ceilings: ceilingsOf(organisation),
    plain: mergePlain([...granted, ...of("environment"), ...of("flag")], defaults),
    switches: {
      organisation: organisation.map(({ switches }) => switches),
      project: project.flatMap(({ switches }) => trusted ? [switches] : [inState(switches, "off"), inState(switches, "on")]),
      merged: overrideKeys(mergeKeys(user), trusted ? mergeKeys(project) : []),
    },
    always_allow: granted.flatMap((layer) => layer.always_allow),
    disabled_tools: layers.flatMap((layer) => layer.disabled_tools),
    hooks: granted.flatMap((layer) => layer.hooks),
    inert_hooks: trusted ? [] : project.flatMap((layer) => layer.hooks),
    environment: { organisation: withholding(organisation), user: withholding(user) },
    trust: user.find((layer) => layer.trust !== undefined)?.trust ?? null,
    ungranted: trusted ? [] : project.flatMap(grantsOf),
  };
}

/** What counts of a project's layer only if the project is trusted. */
export function grantsOf(layer: Layer): readonly Source[] {
  return [
    ...Object.values(layer.plain).map(({ source }) => source),
    ...layer.switches.filter(({ state }) => state === "on").map(({ source }) => source),
    ...layer.always_allow.map(({ source }) => source),
    ...layer.hooks.map(({ source }) => source),
  ];
}

function mergePlain(layers: readonly Layer[], defaults: MergeOptions["defaults"]): PlainLeaves {
  const leaves = new Map<string, Sourced<unknown>>(
    Object.entries(defaults).map(([key, value]) => [key, { value, source: { scope: "default", key } }]),
  );
  for (const layer of bySpecificity(layers)) {
    for (const [key, leaf] of Object.entries(layer.plain)) leaves.set(key, leaf);
  }
  const organisation = layers.filter(({ scope }) => scope === "organisation");
  for (const [key, ceiling] of Object.entries(ceilingsOf(organisation))) lower(key, leaves, ceiling);
  const off = organisation.map(({ plain }) => plain.speculation).find((leaf) => leaf?.value === "off");
  if (off !== undefined) leaves.set("speculation", off);
  return Object.fromEntries(leaves) as PlainLeaves;
}

const LIMITS = ["limits.max_steps", "limits.timeout_s", "limits.spend_usd"] as const;

/** Of two limits of the organisation the lower one. */
function ceilingsOf(organisation: readonly Layer[]): PlainLeaves {
  const leaves = new Map<string, Sourced<unknown>>();
  for (const { plain } of organisation) {
    for (const key of LIMITS) lower(key, leaves, plain[key]);
  }
  return Object.fromEntries(leaves) as PlainLeaves;
}

function lower(key: string, leaves: Map<string, Sourced<unknown>>, ceiling: Sourced<unknown> | undefined): void {
  const present = leaves.get(key);
  if (ceiling !== undefined && (present === undefined || Number(present.value) > Number(ceiling.value))) leaves.set(key, ceiling);
}

function inState(switches: readonly Switch[], state: Switch["state"]): readonly Switch[] {
  return switches.filter((each) => each.state === state);
}

/** Least specific first. */
function bySpecificity(layers: readonly Layer[]): readonly Layer[] {
  return SCOPES.flatMap((scope) => layers.filter((layer) => layer.scope === scope).reverse());
}

/** One switch for a key. If files of one scope disagree, `off` counts. */
function mergeKeys(layers: readonly Layer[]): readonly Switch[] {
  const merged = new Map<string, Switch>();
  for (const each of layers.flatMap(({ switches }) => switches)) {
    if (!merged.has(each.key) || each.state === "off") merged.set(each.key, each);
  }
  return [...merged.values()];
}

function overrideKeys(lower: readonly Switch[], upper: readonly Switch[]): readonly Switch[] {
  return [...new Map([...lower, ...upper].map((each) => [each.key, each])).values()];
}

function withholding(layers: readonly Layer[]): EnvironmentRules["user"] {
  return { withhold: layers.flatMap((layer) => layer.env_withhold), allow: layers.flatMap((layer) => layer.env_allow) };
}
