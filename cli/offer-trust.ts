/** What is inert in a workspace, put before the person who runs something in it. */
import { describeInert, type Runtime, type TurnOptions } from "../mod.ts";
import { canAsk, isYes } from "./ask.ts";
import type { Asker } from "./asker.ts";
import { printable } from "./terminal.ts";
import { OPENING, whileWaiting } from "./waiting.ts";

/** Asks once whether it may run from now on, if anybody can be asked; a no leaves everything as it is. */
export async function offerTrust(asker: Asker, agent: Runtime, { stop, now }: TurnOptions): Promise<void> {
  if (!canAsk(asker.shell)) return;
  await whileWaiting(asker.shell.err, OPENING, agent.workshop());
  const signal = AbortSignal.any([stop, now].filter((each) => each !== undefined));
  await offerTrustBy(agent, async (words, question) => isYes(await asker.ask(() => words + question, signal)));
}

/** The same with another way to ask. */
export async function offerTrustBy(agent: Runtime, ask: (words: string, question: string) => Promise<boolean>): Promise<void> {
  const { policy, workspace } = await agent.workshop();
  const inert = describeInert(policy.trust, workspace);
  if (inert !== "" && await ask(`${printable(inert)}\n`, "Trust them now? [y/N] ")) await agent.trust();
}
