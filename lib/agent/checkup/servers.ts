/** Whether the MCP servers that files name are there. None is started, nor asked: that is what `orrery tools` does. */
import type { Paths } from "../../config/paths.ts";
import { calledName } from "../../platform/called.ts";
import { resolveServer } from "../../tools/mcp/destination.ts";
import { findServers } from "../servers.ts";
import type { Workshop } from "../workshop.ts";
import type { Finding } from "./finding.ts";
import { faultsOfArgv } from "./programs.ts";
import { placeFor, toFinding } from "./workshop.ts";

export async function checkServers(workshop: Workshop, paths: Paths): Promise<readonly Finding[]> {
  const named = await findServers(workshop, paths);
  if (named === null) return [{ check: "servers", level: "ok", text: "No MCP servers are named" }];
  const { files, merged: { active, inert } } = named;
  const faults = await Promise.all(active.map((server) => checkServer(server, workshop)));
  const broken = files.flatMap(({ file, broken }) => broken.map(({ name, reason }) => `"${name}" of ${file.path}: ${reason}`));
  const unreadable = files.flatMap(({ file, broken, diagnostics }) =>
    broken.length > 0 ? [] : diagnostics.filter(({ severity }) => severity === "error").map(({ message }) => `${file.path}: ${message}`)
  );
  const ready = active.length - faults.filter((each) => each.length > 0).length;
  return [
    ...(ready === 0 ? [] : [
      {
        check: "servers",
        level: "note",
        text: `Nothing is missing that ${ready} MCP server${ready === 1 ? "" : "s"} would need to start; none was started to find out more`,
        remedy: `${calledName()} tools starts those that may run, and shows which answer`,
      } as const,
    ]),
    ...faults.flat(),
    ...[...broken, ...unreadable].map((text): Finding => ({
      check: "servers",
      level: "error",
      text: `Broken: ${text}`,
      remedy: `Correct its entry: ${calledName()} tools shows every server, and why it is not connected`,
    })),
    ...(inert.length === 0 ? [] : [
      {
        check: "servers",
        level: "warning",
        text: `Not active, as this workspace is not trusted: ${inert.map(({ server }) => server.name).join(", ")}`,
        remedy: `Look at them, then ${calledName()} trust ${workshop.workspace}`,
      } as const,
    ]),
  ];
}

async function checkServer(server: Parameters<typeof resolveServer>[0], workshop: Workshop): Promise<readonly Finding[]> {
  const { workspace, policy: { inherited: { env } } } = workshop;
  const resolved = resolveServer(server, { workspace, env });
  const whose = `"${server.name}" (${server.path})`;
  if (resolved.kind === "unresolved") {
    return [{ check: "servers", level: "error", text: `${whose}: ${resolved.problem}`, remedy: "Set what it names, or correct its entry" }];
  }
  const { destination } = resolved;
  if (destination.kind === "http") return [];
  const place = { ...placeFor(workshop, false), path: destination.env["PATH"] ?? "" };
  return (await faultsOfArgv(destination.argv, place)).map((fault) => toFinding("servers", whose, fault));
}
