/** Rules of the settings that name nothing: most likely mistakes, and in a denial one that lets through what it was to stop. */
import { describeSource, type Source } from "../config/source.ts";
import { unmatchedHooks } from "../gate/hook.ts";
import { nearest } from "../tools/nearest.ts";
import type { Policy } from "./policy.ts";

export interface UnknownRule {
  readonly code: "hook_matches_nothing" | "switch_matches_nothing" | "name_matches_nothing";
  readonly text: string;
  readonly source: Source;
}

/** @param names of all tools that are known. @param unknown beginnings of names that there may be besides. */
export function unknownRules(policy: Policy, names: readonly string[], unknown: readonly string[]): readonly UnknownRule[] {
  return [...unknownMatchers(policy, names, unknown), ...unknownSwitches(policy, names, unknown), ...unknownNames(policy, names, unknown)];
}

function unknownMatchers({ configuration }: Policy, names: readonly string[], unknown: readonly string[]): readonly UnknownRule[] {
  // Up to its first `*` a pattern says how the names it fits begin.
  const mayFit = (pattern: string) => {
    const beginning = pattern.split("*", 1)[0] ?? "";
    return unknown.some((each) => beginning.startsWith(each) || (pattern !== beginning && each.startsWith(beginning)));
  };
  return unmatchedHooks([...configuration.hooks, ...configuration.inert_hooks], names)
    .filter(({ matcher }) => !mayFit(matcher ?? "*"))
    .map(({ event, matcher, source }) => ({
      code: "hook_matches_nothing",
      text: `The ${event} hook ${describeSource(source)} is for "${matcher ?? "*"}", which is no tool that is known here`,
      source,
    }));
}

function unknownSwitches(
  { configuration, switches }: Policy,
  names: readonly string[],
  unknown: readonly string[],
): readonly UnknownRule[] {
  const unmatched = new Set(switches.unknownKeys(names).map(({ where }) => where));
  const { organisation, project, merged } = configuration.switches;
  const rules = new Map([...organisation.flat(), ...project.flat(), ...merged].map((rule) => [describeSource(rule.source), rule]));
  return [...rules].filter(([where, { key }]) => unmatched.has(where) && !unknown.some((each) => key.startsWith(each)))
    .map(([where, { source }]) => ({
      code: "switch_matches_nothing",
      text: `The switch ${where} names no tool and no group that is known here`,
      source,
    }));
}

function unknownNames({ configuration }: Policy, names: readonly string[], unknown: readonly string[]): readonly UnknownRule[] {
  const known = new Set(names);
  return [...configuration.disabled_tools, ...configuration.always_allow]
    .filter(({ value }) => !known.has(value) && !unknown.some((each) => value.startsWith(each)))
    .map(({ value, source }) => {
      const near = nearest(value, names);
      const hint = near === null ? "" : `; the nearest is "${near}"`;
      return {
        code: "name_matches_nothing",
        text: `"${value}", listed in ${describeSource(source)}, is no tool that is known here${hint}`,
        source,
      };
    });
}
