/**
 * A conversation: texts become turns of a session, one after the other, and lines with a slash become commands.
 *
 * H1  One thing at a time: what is entered meanwhile waits, but for commands that need not.
 * H2  The first Ctrl-C stops a turn at a safe point and drops what waits; the second ends it at once and leaves. A
 *     terminal that goes away is as both.
 */
import {
  type AgentNotice,
  type Approver,
  hasErrors,
  type Runtime,
  SessionRefusal,
  type StopReason,
  type TurnOptions,
  type TurnResult,
} from "../../mod.ts";
import { describeCall, isYes, RUN_IT, toAnswer } from "../ask.ts";
import type { Ending } from "../ending.ts";
import { explain } from "../errors.ts";
import { offerTrustBy } from "../offer-trust.ts";
import { oneLine, type Shell, wrap } from "../terminal.ts";
import { clearWaiting, OPENING, whileWaiting } from "../waiting.ts";
import { checkIdle, describeSession, type Room, runSlash } from "./commands.ts";
import { Console } from "./console.ts";
import type { History } from "./history.ts";
import { Seat } from "./seat.ts";
import { parseSlash, type Slash } from "./slash.ts";
import { View } from "./view.ts";

type Input = { readonly kind: "text"; readonly text: string } | Extract<Slash, { kind: "command" }>;

export class Chat {
  readonly #console: Console;
  readonly #view: View;
  readonly #noticed = new Set<string>();
  readonly #waiting: Input[] = [];
  #wake: () => void = () => undefined;
  #room: Room | null = null;
  #turn: { readonly stop: AbortController; readonly now: AbortController } | null = null;
  /** A question of our own. */
  #question: AbortController | null = null;
  #isBusy = true;
  /** Whether the last thing that came was an interruption with nothing to interrupt. */
  #wasWarned = false;
  #leaving: Ending | null = null;

  constructor(shell: Shell, history: History) {
    this.#console = new Console(shell, history, {
      input: (text) => this.#input(text),
      interrupt: () => this.#interrupt(),
      terminate: () => this.#leave("terminated", signalled("SIGTERM")),
      hangUp: () => this.#hangUp(),
      end: () => this.#leave("completed"),
      beforePrompt: () => this.#view.pause(),
      prompt: () => `${this.#room?.seat.mode ?? ""}> `,
    });
    this.#view = new View(this.shell);
  }

  /** Where to write. */
  get shell(): Shell {
    return this.#console.shell;
  }

  readonly approver: Approver = async (question, signal) => {
    const text = await this.#console.ask(describeCall(question, this.shell.err.colors), RUN_IT, signal);
    return toAnswer(text, signal);
  };

  /** What the runtime has to say, once. */
  readonly onNotice = ({ level, text }: AgentNotice): void => {
    clearWaiting();
    if (!this.#noticed.has(text)) this.#sayWrapped(`orrery: ${level}: ${oneLine(text, 400)}`);
    this.#noticed.add(text);
  };

  /** Resolves when the person leaves. @throws what opening the session throws. */
  async run(agent: Runtime, session: string | undefined): Promise<Ending> {
    await this.#offerTrust(agent);
    const seat = Seat.take(agent, session, (event) => {
      clearWaiting();
      this.#view.watch(event);
    });
    const room = this.#furnish(agent, await whileWaiting(this.shell.err, OPENING, seat));
    this.#room = room;
    this.#greet(room, session !== undefined);
    while (this.#leaving === null) {
      const next = this.#waiting.shift();
      if (next === undefined) await this.#rest();
      else await this.#guard(() => this.#perform(next, room));
    }
    // A session that broke is closed with the agent.
    if (this.#leaving !== "failed") await room.seat.close();
    return this.#leaving;
  }

  close(): void {
    this.#console.close();
  }

  #furnish(agent: Runtime, seat: Seat): Room {
    return {
      agent,
      seat,
      shell: this.shell,
      listed: [],
      draft: null,
      say: (text) => this.#say(text),
      turn: (run) => this.#runTurn(run),
      leave: () => this.#leave("completed"),
    };
  }

  #greet({ seat }: Room, isOld: boolean): void {
    const { model = "" } = seat.session.state().header ?? {};
    const { dim } = this.shell.err.colors;
    const lines = [`${model} · mode ${seat.mode} · ${seat.workspace}`, seat.session.id, "/help lists the commands, Ctrl-D leaves"];
    if (isOld) this.#say(describeSession(seat));
    this.#say(lines.flatMap((line) => wrap(line, this.shell.err.columns)).map(dim).join("\n"));
    if (seat.hasOpenTurn) this.#say("The last turn is not finished: /resume finishes it");
  }

  /** Until something is entered. */
  async #rest(): Promise<void> {
    this.#isBusy = false;
    this.#console.prompt();
    await new Promise<void>((resolve) => this.#wake = resolve);
    this.#isBusy = true;
  }

  async #perform(input: Input, room: Room): Promise<void> {
    if (input.kind === "command") return await runSlash(input, room);
    checkIdle(room.seat);
    await this.#runTurn((options) => room.seat.session.prompt(input.text, { source: "chat", ...options }));
  }

  async #runTurn(run: (options: TurnOptions) => Promise<TurnResult | null>): Promise<void> {
    const turn = { stop: new AbortController(), now: new AbortController() };
    this.#turn = turn;
    try {
      const result = await run({ stop: turn.stop.signal, now: turn.now.signal });
      if (result !== null) this.#view.finish(result, this.#room?.seat.session.id ?? "");
    } catch (error) {
      // The journal failed: nothing more can be recorded in this session.
      if (!(error instanceof SessionRefusal)) this.#leaving = "failed";
      throw error;
    } finally {
      this.#turn = null;
    }
    if (this.#leaving === null) await this.#lookAtDraft();
  }

  /** A tool's file that was changed has to be trusted again before its tool is offered. */
  async #lookAtDraft(): Promise<void> {
    const room = this.#room;
    if (room === null || room.draft?.hasChanged() !== true) return;
    const { agent, draft } = room;
    const diagnostics = (await agent.validate()).find(({ path }) => path === draft.file)?.diagnostics ?? [];
    for (const { severity, line, message } of diagnostics) {
      this.#sayWrapped(`${severity}: ${draft.tool}${line === undefined ? "" : `, line ${line}`}: ${oneLine(message, 400)}`);
    }
    if (hasErrors(diagnostics)) return;
    agent.reread();
    await this.#offerTrust(agent);
    await room.seat.renew();
  }

  async #offerTrust(agent: Runtime): Promise<void> {
    const question = new AbortController();
    this.#question = question;
    try {
      await offerTrustBy(agent, async (words, prompt) => isYes(await this.#console.ask(words, prompt, question.signal)));
    } finally {
      this.#question = null;
    }
  }

  async #input(text: string): Promise<void> {
    this.#wasWarned = false;
    const slash = parseSlash(text);
    if (slash?.kind === "unknown") this.#say(`orrery: ${slash.problem}`);
    if (text.trim() === "" || slash?.kind === "unknown") return this.#isBusy ? undefined : this.#console.prompt();
    const room = this.#room;
    if (this.#isBusy && slash !== null && !slash.waits && room !== null) return await this.#guard(() => runSlash(slash, room));
    if (this.#isBusy) this.#say("This waits until the turn has ended");
    this.#waiting.push(slash ?? { kind: "text", text });
    this.#wake();
  }

  #interrupt(): void {
    const hadText = this.#console.clear();
    if (this.#turn !== null) return this.#interruptTurn(this.#turn);
    if (this.#question !== null) return this.#question.abort();
    if (!hadText && (this.#isBusy || this.#wasWarned)) return this.#leave(this.#isBusy ? "interrupted" : "completed");
    this.#wasWarned = !hadText;
    if (!hadText) this.#say("Ctrl-C once more leaves, and so does Ctrl-D");
    this.#console.prompt();
  }

  #interruptTurn({ stop, now }: { readonly stop: AbortController; readonly now: AbortController }): void {
    if (stop.signal.aborted) {
      this.#leaving = "interrupted";
      now.abort(STOPPED);
      // From here on a third Ctrl-C ends the process.
      this.#console.close();
      return;
    }
    const dropped = this.#waiting.splice(0).length;
    const words = dropped === 0 ? "" : `, and what waited is dropped (${dropped})`;
    this.#say(`orrery: Stopping at the next safe point${words}; once more to stop at once and leave`);
    stop.abort(STOPPED);
  }

  /** A turn that runs is stopped at a safe point; if that has been asked for already, at once. */
  #leave(ending: Ending, reason = STOPPED): void {
    if (ending === "terminated" && this.#leaving !== null) this.#turn?.now.abort(reason);
    this.#leaving ??= ending;
    this.#turn?.stop.abort(reason);
    this.#question?.abort();
    this.#wake();
  }

  /** The end of the terminal's input may have come first, and is then no wish of the user's. */
  #hangUp(): void {
    this.#leaving = "terminated";
    this.#leave("terminated", signalled("SIGHUP"));
  }

  async #guard(work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      this.#view.pause();
      await explain(this.shell, error);
    }
  }

  #sayWrapped(text: string): void {
    this.#say(wrap(text, this.shell.err.columns).join("\n"));
  }

  #say(text: string): void {
    this.#view.pause();
    this.shell.err.write(`${text}\n`);
  }
}

const STOPPED: StopReason = { reason: "cancelled", detail: "stopped by the user" };

function signalled(signal: NodeJS.Signals): StopReason {
  return { reason: "cancelled", detail: `${signal} received` };
}
