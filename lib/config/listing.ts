/** A configuration as `orrery config` shows it: one row for every leaf, with where it comes from. */
import type { Configuration } from "./merge.ts";
import type { Source } from "./source.ts";

export interface ConfigurationRow {
  readonly key: string;
  readonly value: unknown;
  readonly source: Source;
  /** Why it does not count, if it does not. */
  readonly inert?: string;
}

export function listConfiguration(configuration: Configuration): readonly ConfigurationRow[] {
  const { plain, switches, environment } = configuration;
  const list = (key: string, leaves: readonly { readonly value: unknown; readonly source: Source }[]) =>
    leaves.map((leaf) => ({ key, ...leaf }));
  const states = [...switches.organisation.flat(), ...switches.project.flat().filter(({ state }) => state === "off"), ...switches.merged];
  return [
    ...Object.entries(plain).map(([key, leaf]) => ({ key, ...leaf })),
    ...[...new Set(states)].map(({ key, state, source }) => ({ key: `tools.${key}`, value: state, source })),
    ...list("alwaysAllow", configuration.always_allow),
    ...list("disabledTools", configuration.disabled_tools),
    ...configuration.hooks.map(toHookRow),
    ...configuration.inert_hooks.map((hook) => ({ ...toHookRow(hook), inert: NOT_TRUSTED })),
    ...list("tools.env_withhold", [...environment.organisation.withhold, ...environment.user.withhold]),
    ...list("tools.env_allow", [...environment.organisation.allow, ...environment.user.allow]),
    ...(configuration.trust === null ? [] : [{ key: "trust", ...configuration.trust }]),
  ];
}

const NOT_TRUSTED = "the workspace is not trusted";

function toHookRow({ event, matcher, command, timeout_ms, source }: Configuration["hooks"][number]): ConfigurationRow {
  return { key: `hooks.${event}`, value: { ...(matcher === null ? {} : { matcher }), command, timeoutMs: timeout_ms }, source };
}
