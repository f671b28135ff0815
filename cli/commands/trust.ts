import { visible, type Workshop } from "../../mod.ts";
import { withAgent } from "../agent.ts";
import type { TrustFlags } from "../flags.ts";
import type { Ending } from "../ending.ts";
import type { Shell } from "../terminal.ts";
import { whileWaiting } from "../waiting.ts";

export async function trust(shell: Shell, flags: TrustFlags, folder?: string): Promise<Ending> {
  return await withAgent<Ending>(shell, folder === undefined ? {} : { workspace: folder }, async (agent) => {
    const read = () => whileWaiting(shell.err, "asking tool files", agent.workshop());
    const before = await read();
    if (flags.forget) {
      const forgotten = await agent.forgetTrust();
      report(shell, flags, await read(), forgotten ? "No longer trusted" : "Was not trusted before");
    } else {
      if (!flags.json) show(shell, before);
      await agent.trust();
      report(shell, flags, await read(), "Trusted");
    }
    return "completed";
  });
}

/** What is about to become active, before anything is recorded. */
function show({ out }: Shell, { policy: { trust, survey } }: Workshop): void {
  const changes = new Map(trust.verdict.kind === "trusted" ? [] : trust.verdict.changes.map(({ kind, name }) => [name, kind]));
  for (const { name, kind, detail } of survey.entries) {
    const change = changes.get(name);
    const facts = [kind, ...(change === undefined ? [] : [change])].join(", ");
    out.write(`${visible(name)} ${out.colors.dim(facts)}${detail === undefined ? "" : `: ${detail}`}\n`);
  }
}

function report({ out, err }: Shell, { json }: TrustFlags, { workspace, policy: { trust, survey } }: Workshop, said: string): void {
  if (json) {
    const { verdict } = trust;
    const grounds = verdict.kind === "trusted" ? { trusted: true, by: verdict.by } : { trusted: false, reason: verdict.reason };
    out.write(
      `${
        JSON.stringify({ schema_version: 1, workspace, ...grounds, entries: survey.entries, inert: trust.inert.map(({ name }) => name) })
      }\n`,
    );
    return;
  }
  const none = survey.entries.length === 0 ? " (there is nothing in it that could start anything)" : "";
  err.write(`${said}: ${visible(workspace)}${none}\n`);
  if (trust.verdict.kind === "trusted" && trust.verdict.by !== "grant") {
    err.write(`It counts as trusted all the same, by ${GROUNDS[trust.verdict.by]}\n`);
  }
}

const GROUNDS = { flag: "--trust-workspace", environment: "ORRERY_TRUST_WORKSPACE", setting: 'the setting "trust"' } as const;
