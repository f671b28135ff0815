import { calledName } from "../../lib/platform/called.ts";
import { type Runtime, type TurnOptions, type TurnResult, UsageError } from "../../mod.ts";
import type { RunFlags } from "../flags.ts";
import { driveTurn } from "../drive.ts";
import type { Ending } from "../ending.ts";
import { offerTrust } from "../offer-trust.ts";
import type { Presenter } from "../presenter.ts";
import { readPrompt } from "../prompt.ts";
import type { Shell } from "../terminal.ts";
import { createWaiting, OPENING, whileWaiting } from "../waiting.ts";
import { watchFromStart } from "../watch.ts";

export async function run(shell: Shell, flags: RunFlags, argument?: string): Promise<Ending> {
  return await driveTurn(shell, flags, async () => {
    const prompt = await readPrompt(argument);
    return async (agent, presenter, options, asker) => {
      if (flags.session !== undefined) return await promptExisting(asker.shell, agent, flags.session, prompt, presenter, options);
      await offerTrust(asker, agent, options);
      return await promptNew(asker.shell, agent, prompt, presenter, options);
    };
  });
}

/** Runs a prompt as the first turn of a new session. */
export async function promptNew(
  shell: Shell,
  agent: Runtime,
  prompt: string,
  presenter: Presenter,
  { title, ...options }: TurnOptions & { readonly title?: string },
): Promise<TurnResult> {
  const waiting = createWaiting(shell.err, OPENING);
  waiting.start();
  try {
    const session = await agent.create({ ...(title === undefined ? {} : { title }), ahead: true });
    presenter.begin(session, await agent.workshop());
    const told = watchFromStart(agent, session, (event) => {
      waiting.stop();
      presenter.watch(event);
    });
    const result = await session.prompt(prompt, { source: "cli", ...options });
    await told();
    presenter.finish(result, session);
    return result;
  } finally {
    waiting.stop();
  }
}

async function promptExisting(
  shell: Shell,
  agent: Runtime,
  id: string,
  prompt: string,
  presenter: Presenter,
  options: TurnOptions,
): Promise<TurnResult> {
  const session = await whileWaiting(shell.err, OPENING, agent.open(id));
  presenter.begin(session, await agent.workshop(session.state().header?.workspace));
  if (session.state().turn.kind !== "idle") {
    throw new UsageError(
      `Cannot prompt session "${id}" as its last turn is not finished: finish it with ${calledName()} sessions resume ${id}`,
    );
  }
  session.watch((event) => presenter.watch(event));
  const result = await session.prompt(prompt, { source: "cli", ...options });
  presenter.finish(result, session);
  return result;
}
