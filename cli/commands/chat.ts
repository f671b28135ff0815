import { join } from "node:path";
import { calledName } from "../../lib/platform/called.ts";
import { resolvePaths, UsageError } from "../../mod.ts";
import { toAgentOptions, withAgent } from "../agent.ts";
import { canAsk } from "../ask.ts";
import { Chat } from "../chat/chat.ts";
import { openHistory } from "../chat/history.ts";
import type { ChatFlags } from "../flags.ts";
import type { Ending } from "../ending.ts";
import type { Shell } from "../terminal.ts";

export async function chat(shell: Shell, flags: ChatFlags): Promise<Ending> {
  if (!canAsk(shell)) {
    throw new UsageError(
      `Cannot chat as standard input and standard error are not both a terminal: ${calledName()} run "…" runs one prompt without one`,
    );
  }
  const history = openHistory(
    join(resolvePaths(shell.env).data, "chat-history"),
    (text) => shell.err.write(`orrery: warning: ${text}\n`),
  );
  const talk = new Chat(shell, history);
  try {
    const { approver, onNotice } = talk;
    const options = { ...toAgentOptions(flags), defaultMode: "normal" as const, approver, onNotice };
    return await withAgent(talk.shell, options, (agent) => talk.run(agent, flags.session));
  } finally {
    talk.close();
  }
}
