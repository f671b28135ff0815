/** What is inert in a workspace, put before the person who runs something in it. */
import { describeInert, type Runtime, type TurnOptions } from "../mod.ts";
import { agrees, canAsk } from "./ask.ts";
import { printable, type Shell } from "./terminal.ts";
import { OPENING, whileWaiting } from "./waiting.ts";

/** Asks once whether it may run from now on, if anybody can be asked; a no leaves everything as it is. */
export async function offerTrust(shell: Shell, agent: Runtime, { stop, now }: TurnOptions): Promise<void> {
  if (!canAsk(shell)) return;
  await whileWaiting(shell.err, OPENING, agent.workshop());
  const signals = [stop, now].filter((signal) => signal !== undefined);
  await offerTrustBy(agent, async (words, question) => {
    shell.err.write(words + question);
    return await agrees(AbortSignal.any(signals));
  });
}

/** The same with another way to ask. */
export async function offerTrustBy(agent: Runtime, ask: (words: string, question: string) => Promise<boolean>): Promise<void> {
  const { policy, workspace } = await agent.workshop();
  const inert = describeInert(policy.trust, workspace);
  if (inert !== "" && await ask(`${printable(inert)}\n`, "Trust them now? [y/N] ")) await agent.trust();
}
