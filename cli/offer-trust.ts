/** What is inert in a workspace, put before the person who runs something in it. */
import { type Agent, describeInert, type TurnOptions } from "../mod.ts";
import { agrees, canAsk } from "./ask.ts";
import { printable, type Shell } from "./terminal.ts";

/** Asks once whether it may run from now on, if anybody can be asked; a no leaves everything as it is. */
export async function offerTrust(shell: Shell, agent: Agent, { stop, now }: TurnOptions): Promise<void> {
  if (!canAsk(shell)) return;
  const { policy, workspace } = await agent.workshop();
  const inert = describeInert(policy.trust, workspace);
  if (inert === "") return;
  shell.err.write(`${printable(inert)}\nTrust them now? [y/N] `);
  const signals = [stop, now].filter((signal) => signal !== undefined);
  if (await agrees(AbortSignal.any(signals))) await agent.trust();
}
