/**
 * May this workspace start anything? A clone of somebody's repository may not, until a person says so.
 *
 * W1  Without grounds the answer is no. Nothing in the workspace itself can be a ground.
 * W2  A grant is bound to a digest of every entry that was seen when it was given: one that was added, changed or
 *     removed since takes the whole grant back. Grounds that a person gives for a folder (a flag, the environment, his
 *     settings) hold whatever is in it.
 * W3  A single file can be trusted by itself (what `tools create` wrote), as long as it stays as it is.
 */
import { join } from "node:path";
import { calledName } from "../platform/called.ts";
import { matchesSequence, matchesWildcard } from "../session/wildcard.ts";
import { entryName, type Survey, type SurveyEntry } from "./survey.ts";
import type { TrustStore } from "./trust-store.ts";
import { visible } from "./visible.ts";

export interface TrustGrounds {
  /** `--trust-workspace` */
  readonly flag: boolean;
  /** `ORRERY_TRUST_WORKSPACE` is exactly 1, true, yes or on. */
  readonly environment: boolean;
  /** The user's setting `trust`. */
  readonly setting: "all" | readonly string[] | null;
  /** What `~` stands for in the setting. */
  readonly home: string | null;
}

export interface WorkspaceTrust {
  readonly verdict: TrustVerdict;
  /** What is listed and may not run; nothing if the workspace is trusted. */
  readonly inert: readonly SurveyEntry[];
  /** Whether a tool's file may run with the content that has this digest. For the moment of use: what was read may have changed since. */
  allowsFile(path: string, digest: string): boolean;
}

export type TrustVerdict =
  | { readonly kind: "trusted"; readonly by: "flag" | "environment" | "setting" | "grant" }
  | { readonly kind: "untrusted"; readonly reason: UntrustedReason; readonly detail?: string; readonly changes: readonly TrustChange[] };

export type UntrustedReason = "never_trusted" | "changed" | "unreadable" | "record_unusable";

/** What differs from what was trusted. */
export interface TrustChange {
  readonly kind: "added" | "changed" | "removed";
  readonly name: string;
}

/** Thrown when trust cannot be granted; says why. */
export class TrustError extends Error {
  override readonly name = "TrustError";
}

export async function checkTrust(survey: Survey, store: TrustStore, grounds: TrustGrounds): Promise<WorkspaceTrust> {
  const by = blanket(survey.workspace, grounds);
  if (by !== null) return { verdict: { kind: "trusted", by }, inert: [], allowsFile: () => true };
  const records = await store.read(survey.workspace);
  const files = new Map(records.files.map(({ name, digest }) => [name, digest]));
  if (records.problem !== null) return untrusted(survey, files, "record_unusable", [], records.problem);
  if (records.workspace === null) return untrusted(survey, files, "never_trusted", []);
  const granted = new Map(Object.entries(records.workspace.digests));
  const changes = compare(granted, files, survey.entries);
  if (changes.length > 0) return untrusted(survey, files, "changed", changes);
  const unread = survey.entries.find(({ digest }) => digest === null);
  if (unread !== undefined) {
    return untrusted(survey, files, "unreadable", [], `"${unread.name}" cannot be read: ${unread.problem ?? "unknown fault"}`);
  }
  return { verdict: { kind: "trusted", by: "grant" }, inert: [], allowsFile: matching(survey.workspace, new Map([...granted, ...files])) };
}

/**
 * Trusts what the survey saw: show it to the person first, and grant that very survey.
 * @throws {TrustError} if something in it could not be read.
 */
export async function grantTrust(survey: Survey, store: TrustStore, at: string): Promise<void> {
  const unread = survey.entries.find(({ digest }) => digest === null);
  if (unread !== undefined) {
    throw new TrustError(`Cannot trust "${survey.workspace}" as "${unread.name}" cannot be read: ${unread.problem ?? "unknown fault"}`);
  }
  const digests = Object.fromEntries(survey.entries.flatMap(({ name, digest }) => digest === null ? [] : [[name, digest]]));
  await store.writeWorkspace({ workspace: survey.workspace, granted_at: at, digests });
}

/**
 * Trusts one file of the workspace as it is now.
 * @throws {TrustError} if it does not lie in the workspace.
 */
export async function grantFileTrust(workspace: string, path: string, digest: string, store: TrustStore, at: string): Promise<void> {
  const name = entryName(workspace, path);
  if (name === null) throw new TrustError(`Cannot trust "${path}" for "${workspace}" as it does not lie in it`);
  await store.writeFile({ workspace, granted_at: at, name, digest });
}

/** Whether a setting like `["~/code/**"]` names this folder. In a pattern `*` stays within one name, and `**` spans any number of them. */
export function coversFolder(patterns: readonly string[], folder: string, home: string | null): boolean {
  return patterns.some((pattern) => {
    if (!pattern.startsWith("~")) return matchesSequence(segments(pattern), segments(folder), "**", matchesWildcard);
    return home !== null && matchesSequence(segments(join(home, pattern.slice(1))), segments(folder), "**", matchesWildcard);
  });
}

/** For people: what is inert in this workspace, why, and what would change that. Empty if nothing is. Each thing is one line. */
export function describeInert({ verdict, inert }: WorkspaceTrust, workspace: string): string {
  if (verdict.kind === "trusted" || inert.length === 0) return "";
  const changes = new Map(verdict.changes.map(({ kind, name }) => [name, kind]));
  const gone = verdict.changes.filter(({ kind }) => kind === "removed").map(({ name }) => `  ${visible(name)} (removed)`);
  const lines = inert.map(({ name, detail, problem }) => {
    const notes = [changes.get(name), problem === undefined ? undefined : `cannot be read: ${visible(problem)}`].filter((note) =>
      note !== undefined
    );
    return `  ${visible(name)}${notes.length === 0 ? "" : ` (${notes.join(", ")})`}${detail === undefined ? "" : `: ${detail}`}`;
  });
  return [
    `These may not run as ${describeReason(verdict)}:`,
    ...lines,
    ...gone,
    `To trust them: ${calledName()} trust ${visible(workspace)}`,
  ].join(
    "\n",
  );
}

export function describeReason({ reason, detail }: Extract<TrustVerdict, { kind: "untrusted" }>): string {
  switch (reason) {
    case "never_trusted":
      return "this workspace is not trusted";
    case "changed":
      return "this workspace has changed since it was trusted";
    case "unreadable":
    case "record_unusable":
      return `this workspace cannot count as trusted: ${detail ?? reason}`;
  }
}

function blanket(workspace: string, { flag, environment, setting, home }: TrustGrounds): "flag" | "environment" | "setting" | null {
  if (flag) return "flag";
  if (environment) return "environment";
  if (setting === null) return null;
  return setting === "all" || coversFolder(setting, workspace, home) ? "setting" : null;
}

function untrusted(
  survey: Survey,
  files: ReadonlyMap<string, string>,
  reason: UntrustedReason,
  changes: readonly TrustChange[],
  detail?: string,
): WorkspaceTrust {
  return {
    verdict: { kind: "untrusted", reason, changes, ...(detail === undefined ? {} : { detail }) },
    inert: survey.entries.filter(({ kind, name, digest }) => !(kind === "tool" && digest !== null && files.get(name) === digest)),
    allowsFile: matching(survey.workspace, files),
  };
}

function matching(workspace: string, digests: ReadonlyMap<string, string>): WorkspaceTrust["allowsFile"] {
  return (path, digest) => {
    const name = entryName(workspace, path);
    return name !== null && digests.get(name) === digest;
  };
}

function compare(
  granted: ReadonlyMap<string, string>,
  files: ReadonlyMap<string, string>,
  entries: readonly SurveyEntry[],
): readonly TrustChange[] {
  const present = new Set(entries.map(({ name }) => name));
  const differing = entries.flatMap(({ name, digest }): readonly TrustChange[] => {
    const before = granted.get(name);
    if (digest !== null && (before === digest || files.get(name) === digest)) return [];
    return [{ kind: before === undefined ? "added" : "changed", name }];
  });
  return [...differing, ...[...granted.keys()].filter((name) => !present.has(name)).map((name) => ({ kind: "removed", name }) as const)];
}

function segments(path: string): readonly string[] {
  return path.split("/").filter((name) => name !== "" && name !== ".");
}
