import type { Session, TurnResult } from "../../mod.ts";
import type { TurnFlags } from "../flags.ts";
import { driveTurn } from "../drive.ts";
import type { Ending } from "../ending.ts";
import type { Shell } from "../terminal.ts";
import { OPENING, whileWaiting } from "../waiting.ts";

export async function resumeSession(shell: Shell, flags: TurnFlags, id: string): Promise<Ending> {
  return await driveTurn(shell, flags, () =>
    Promise.resolve(async (agent, presenter, options, asker) => {
      const session = await whileWaiting(asker.shell.err, OPENING, agent.open(id));
      presenter.begin(session, await agent.workshop(session.state().header?.workspace));
      session.watch((event) => presenter.watch(event));
      const result = await session.resume(options) ?? nothingOpen(session);
      presenter.finish(result, session);
      return result;
    }));
}

/** As if a turn had run in which nothing was to be done. */
function nothingOpen(session: Session): TurnResult {
  const { turn } = session.state();
  return {
    turn: turn.kind === "idle" ? turn.last?.turn ?? 0 : turn.turn,
    reason: "completed",
    detail: "no turn was open",
    text: "",
    unanswered: false,
    timed_out: false,
    steps: 0,
    calls: [],
    usage: { input_tokens: 0, output_tokens: 0 },
    speculation: { saved_ms: 0, wasted: 0, wasted_ms: 0 },
  };
}
