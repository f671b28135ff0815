/** What of a workspace's tools, hooks and early reads counts. */
import { readFile } from "node:fs/promises";
import { coversTool, isForTools } from "../../gate/hook.ts";
import { calledName } from "../../platform/called.ts";
import { parseManifest } from "../../tools/stella/manifest.ts";
import type { Listing } from "../../tools/toolbox.ts";
import type { Workshop } from "../workshop.ts";
import type { Finding } from "./finding.ts";
import { faultsOfArgv, faultsOfShell, type ProgramFault, type StartPlace } from "./programs.ts";

export async function checkTools(workshop: Workshop): Promise<readonly Finding[]> {
  const { toolbox: { listings }, workspace, notices } = workshop;
  const named = (status: string) => listings.filter((each) => each.status === status).map(({ name, origin }) => name ?? origin.path ?? "?");
  const [offered, broken, untrusted] = [named("offered"), named("broken"), named("untrusted")];
  const warned = notices.filter(({ code, level }) => code.startsWith("tool_") && level === "warning" && code !== "tool_untrusted").length;
  return [
    { check: "tools", level: "ok", text: `${offered.length} tools are offered in ${workspace}` },
    ...(broken.length === 0 ? [] : [
      {
        check: "tools",
        level: "error",
        text: `Broken: ${list(broken)}`,
        remedy: `${calledName()} tools --validate says what is wrong, and where`,
      } as const,
    ]),
    ...await checkPrograms(workshop),
    ...(untrusted.length === 0 ? [] : [
      {
        check: "tools",
        level: "warning",
        text: `Not active, as this workspace is not trusted: ${list(untrusted)}`,
        remedy: `Look at them, then ${calledName()} trust ${workspace}`,
      } as const,
    ]),
    ...(warned === 0 ? [] : [
      {
        check: "tools",
        level: "note",
        text: `${count(warned, "warning")} about tool files`,
        remedy: `${calledName()} tools --validate shows them`,
      } as const,
    ]),
  ];
}

/** Of the offered tools that name a program. */
async function checkPrograms({ toolbox: { listings }, policy, workspace }: Workshop): Promise<readonly Finding[]> {
  const place = placeFor({ workspace, policy }, true);
  const found = await Promise.all(
    listings.filter(({ status, origin }) => status === "offered" && origin.path?.endsWith(".toml")).map(
      async ({ name, origin }) => {
        const manifest = await readManifest(origin);
        if (manifest === null) return [];
        const faults = await faultsOfArgv(manifest.command, { ...place, path: manifest.env["PATH"] ?? place.path });
        return faults.map((fault) => toFinding("tools", `${name ?? "?"} (${origin.path})`, fault));
      },
    ),
  );
  return found.flat();
}

async function readManifest({ path = "" }: Listing["origin"]) {
  // It was read a moment ago; if it is gone since, others say so.
  const text = await readFile(path, "utf8").catch(() => "");
  return (await parseManifest(text)).manifest;
}

export function placeFor(
  { workspace, policy: { inherited: { env } } }: Pick<Workshop, "workspace" | "policy">,
  bareNames: boolean,
): StartPlace {
  return { workspace, path: env["PATH"] ?? "", home: env["HOME"], bareNames };
}

/** A program that is not there is an error; one that other commands may guard, or make, is not for sure. */
export function toFinding(check: Finding["check"], whose: string, { text, remedy, unsure }: ProgramFault): Finding {
  return { check, level: unsure ? "warning" : "error", text: `${whose}: ${text}`, remedy };
}

export async function checkHooks(workshop: Workshop): Promise<readonly Finding[]> {
  const { policy: { hooks }, workspace, notices } = workshop;
  const place = placeFor(workshop, false);
  const faults = await Promise.all(
    hooks.active.map(async ({ event, where, command }) =>
      (await faultsOfShell(command, place)).map((fault) => toFinding("hooks", `${event} (${where})`, fault))
    ),
  );
  const unmatched = notices.filter(({ code }) => code === "hook_matches_nothing");
  return [
    { check: "hooks", level: "ok", text: hooks.active.length === 0 ? "No hooks are set" : `${count(hooks.active.length, "hook")} active` },
    ...faults.flat(),
    ...(hooks.inert.length === 0 ? [] : [
      {
        check: "hooks",
        level: "warning",
        text: `${count(hooks.inert.length, "hook")} may not run, as this workspace is not trusted: calls they guard are refused`,
        remedy: `Look at them (${calledName()} config), then ${calledName()} trust ${workspace}`,
      } as const,
    ]),
    ...unmatched.map((
      { text },
    ) => ({ check: "hooks", level: "warning", text, remedy: "Correct the matcher: * stands for any part of a name" } as const)),
  ];
}

export function checkSpeculation({ policy: { configuration: { plain }, hooks }, toolbox: { listings } }: Workshop): Finding {
  const safe = listings.filter(({ status, speculation_safe }) => status === "offered" && speculation_safe);
  // What a hook has a say in never runs early, and the guard of a tool that may not run is such a say.
  const covering = [...hooks.active, ...hooks.inert.map(({ hook }) => hook)].filter(isForTools);
  const early = safe.filter(({ name, rule_name }) => !covering.some((hook) => coversTool(hook, rule_name ?? name ?? ""))).length;
  if (plain.speculation?.value === "off") {
    const remedy = 'Set "speculation": "on", or leave --no-speculation out, if reads may start early';
    return { check: "speculation", level: "note", text: "Early reads are turned off", remedy };
  }
  if (safe.length > 0 && early === 0) {
    const places = [...new Set(covering.map(({ where }) => where))].slice(0, 3).join(", ");
    const text = `Early reads never happen: hooks cover every tool that could start early (${places})`;
    return {
      check: "speculation",
      level: "note",
      text,
      remedy: "Give those hooks a matcher that leaves reads out, if they need not see them",
    };
  }
  return { check: "speculation", level: "ok", text: `Early reads are on: ${count(early, "tool")} may start while the model still writes` };
}

function list(names: readonly string[]): string {
  return names.length <= 8 ? names.join(", ") : `${names.slice(0, 8).join(", ")} and ${names.length - 8} more`;
}

function count(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? "" : "s"}`;
}
