/** Opening sessions: a new one, or one that exists and may have been left in the middle of a turn. */
import type { Journal, Lease, LeaseOwner } from "../journal/journal.ts";
import { UsageError } from "../config/error.ts";
import type { PlainLeaves } from "../config/layer.ts";
import type { Configuration } from "../config/merge.ts";
import type { Model } from "../model/model.ts";
import { calledName } from "../platform/called.ts";
import { toLiveEvent } from "../tools/sdk/wire.ts";
import { createGate } from "../gate/gate.ts";
import { type HookRunner, hookShell } from "../gate/hook.ts";
import { createHooks, type Hooks } from "../gate/hooks.ts";
import { DEFAULT_LIMITS } from "../session/next.ts";
import { isKnown, SessionId } from "../session/event.ts";
import type { ChildUse } from "../session/command.ts";
import type { Mode } from "../session/outcome.ts";
import { initialState, type SessionHeader, type SessionState } from "../session/state.ts";
import type { JsonObject } from "../session/json.ts";
import type { Supervisor } from "../supervisor/supervisor.ts";
import type { ChildBrief, PlanState } from "../tools/tool.ts";
import { readOnly } from "../tools/toolbox.ts";
import * as v from "valibot";
import type { Approver } from "./approver.ts";
import type { SessionModel } from "./code-model.ts";
import { Feed } from "./feed.ts";
import { newHookId, newSessionId, now } from "./ids.ts";
import { isInPlace } from "./in-place.ts";
import { knownFiles } from "./known-files.ts";
import { closeChildren, endLeftovers } from "./leftovers.ts";
import { checkBeginning, DAMAGED, readState } from "./log-state.ts";
import type { AgentNotice } from "./options.ts";
import { CHILD_STEPS, createChildren, MAX_DEPTH } from "./children.ts";
import { priceOf } from "./prices.ts";
import { Recorder } from "./recorder.ts";
import { Session } from "./session.ts";
import { SessionTools } from "./session-tools.ts";
import type { TurnPorts } from "./turn.ts";
import type { Workshop } from "./workshop.ts";

/** What every session of a runtime shares. */
export interface SessionGround {
  readonly journal: Journal;
  readonly owner: LeaseOwner;
  readonly supervisor: Supervisor;
  readonly approver: Approver | null;
  readonly runtime: string;
  notify(notice: AgentNotice): void;
}

export interface NewSession {
  readonly title?: string;
  readonly system: string;
  readonly mode: Mode;
  readonly base_url?: string;
  /** Does not wait for the lease, if nothing runs before the session is open. */
  readonly ahead?: boolean;
  /** Ends what runs before that. */
  readonly now?: AbortSignal;
  readonly parent?: { readonly session: string; readonly call: string; readonly depth: number };
}

/** @throws {JournalUnavailable} */
export async function createSession(ground: SessionGround, workshop: Workshop, model: Model, options: NewSession): Promise<Session> {
  return (await beginSession(ground, workshop, model, options)).session;
}

/** As `createSession`, with what drives its turns. */
export async function beginSession(
  ground: SessionGround,
  workshop: Workshop,
  model: Model,
  options: NewSession,
): Promise<{ readonly session: Session; readonly ports: TurnPorts }> {
  const session = newSessionId();
  const { journal, owner } = ground;
  // Where no session can be kept no hook is run either.
  const isFirst = workshop.policy.hooks.active.every(({ event }) => event !== "SessionStart");
  const lease = options.ahead === true && isFirst ? journal.begin(session, owner) : await journal.acquire(session, owner);
  return await keepingOrReleasing(lease, async () => await recordOpening(ground, workshop, model, lease, options));
}

async function recordOpening(ground: SessionGround, workshop: Workshop, model: Model, lease: Lease, options: NewSession) {
  const opened = openDriver({ ground, workshop, model, lease, depth: options.parent?.depth ?? 0 }, initialState);
  const begun = await opened.hooks.atSessionStart(options.now ?? new AbortController().signal);
  opened.recorder.mustRecord({
    type: "open",
    at: now(),
    session: lease.session,
    workspace: workshop.workspace,
    model: model.id,
    mode: options.mode,
    system: [options.system, begun.text].filter((text) => text !== "").join("\n\n"),
    tools: opened.tools.atOpening(options.mode),
    runtime: ground.runtime,
    ...(options.title === undefined ? {} : { title: options.title }),
    ...(options.base_url === undefined ? {} : { base_url: options.base_url }),
    ...(options.parent === undefined ? {} : { parent: { session: options.parent.session, call: options.parent.call } }),
  });
  const complaints = begun.notices.map((notice) => ({ level: "warning" as const, ...notice }));
  for (const notice of [...workshop.notices, ...complaints]) opened.recorder.mustRecord({ type: "note", at: now(), ...notice });
  return opened;
}

/** @throws {UsageError} there is no such session. */
export async function checkExists(journal: Journal, id: string): Promise<void> {
  if (!v.is(SessionId, id)) {
    throw new UsageError(`Cannot open session "${id}" as that is not the id of one: they look like ses_ and a UUID`);
  }
  if (await journal.head(id) > 0) return;
  throw new UsageError(`Cannot open session "${id}" as there is none with that id in the journal: see ${calledName()} sessions list`);
}

/** Tools and model of a session that exists, found by its header. */
export interface SessionNeeds {
  readonly workshop: Workshop;
  readonly model: Model;
  readonly changes: { readonly mode?: Mode; readonly model?: string; readonly base_url?: string };
}

/**
 * Takes a session up again.
 * @throws {JournalHeld} another runtime drives it. @throws {UsageError} there is none. @throws {UnsoundLog} its beginning is lost.
 */
export async function openSession(
  ground: SessionGround,
  id: string,
  needs: (header: SessionHeader) => Promise<SessionNeeds>,
): Promise<Session> {
  await checkExists(ground.journal, id);
  const lease = await ground.journal.acquire(id, ground.owner);
  return await keepingOrReleasing(lease, async () => {
    const { state, damage, unsaid } = await readState(ground.journal, id);
    for (const text of damage) ground.notify({ level: "error", code: DAMAGED, text });
    checkBeginning(state, "open", id);
    const { workshop, model, changes } = await needs(state.header);
    await endLeftovers(ground, lease, state);
    const used = await closeChildren(ground, state);
    const { session, recorder, tools } = openDriver(
      { ground, workshop, model, lease, depth: await depthOf(ground.journal, state.header), used },
      state,
    );
    const by = "user";
    if (changes.mode !== undefined && changes.mode !== state.header.mode) {
      recorder.mustRecord({ type: "change_mode", at: now(), mode: changes.mode, by });
    }
    if (changes.model !== undefined && changes.model !== state.header.model) {
      const { base_url } = changes;
      recorder.mustRecord({ type: "change_model", at: now(), model: changes.model, by, ...(base_url === undefined ? {} : { base_url }) });
    }
    for (const text of unsaid) recorder.mustRecord({ type: "note", at: now(), level: "error", code: DAMAGED, text });
    tools.record();
    return session;
  });
}

/** A session that does not come to be must not stay held. */
async function keepingOrReleasing<T>(lease: Lease, open: () => Promise<T>): Promise<T> {
  try {
    return await open();
  } catch (error) {
    await lease.release();
    throw error;
  }
}

interface Driver {
  readonly ground: SessionGround;
  readonly workshop: Workshop;
  readonly model: SessionModel;
  readonly lease: Lease;
  /** Levels of parents above the session. */
  readonly depth: number;
  /** What children have used for the calls that its last runtime left running. */
  readonly used?: ReadonlyMap<string, ChildUse>;
}

function openDriver(driver: Driver, state: SessionState) {
  const { ground, workshop, model, lease } = driver;
  const feed = new Feed();
  model.speakTo?.((message) => feed.tell(toLiveEvent(lease.session, message)));
  const recorder = new Recorder(ground.journal, lease, feed, state);
  const { workspace, policy } = workshop;
  const tools = new SessionTools(workshop, recorder);
  const { plain } = policy.configuration;
  const childrenOf = (call: string | null, approver: Approver | null) =>
    call === null || driver.depth >= MAX_DEPTH
      ? {}
      : { children: createChildren((brief) => openChild(driver, recorder.state, brief, call), approver) };
  const hooks = openHooks(ground, workshop, lease.session);
  const ports: TurnPorts = {
    session: lease.session,
    recorder,
    feed,
    model,
    tools,
    gate: createGate({ hooks, always_allow: policy.always_allow }),
    hooks,
    supervisor: ground.supervisor,
    approver: ground.approver,
    ...limitsOf(policy.configuration),
    price: priceOf(model.id, plain["limits.prices"]?.value, plain["limits.spend_usd"]?.value),
    env_withheld: policy.inherited.withheld,
    speculate: plain.speculation?.value !== "off",
    inherited: inheritedCalls(state),
    planContext: (call, approver = null) => ({
      workspace,
      env: policy.inherited.env,
      secret_files: policy.secret_files,
      state: projections(recorder),
      ...childrenOf(call, approver),
    }),
  };
  return { session: new Session(ports, lease, driver.used), ports, recorder, hooks, tools };
}

function inheritedCalls({ turn, header }: SessionState): TurnPorts["inherited"] {
  const calls = turn.kind === "running" && turn.phase.kind === "calling" ? turn.phase.calls : [];
  const digests = new Map(header?.tools.map(({ name, digest }) => [name, digest]));
  return new Map(
    calls.filter(({ status }) => status.kind === "asking" || status.kind === "allowed").map(({ call, name }) => [call, digests.get(name)]),
  );
}

/** It works with what its parent has, in the mode its parent is in. */
async function openChild(
  { ground, workshop, model, depth, lease }: Driver,
  parent: SessionState,
  brief: ChildBrief,
  call: string,
): Promise<Session> {
  const { configuration } = workshop.policy;
  const steps = Math.min(configuration.plain["limits.max_steps"]?.value ?? CHILD_STEPS, CHILD_STEPS);
  const plain: PlainLeaves = {
    ...configuration.plain,
    "limits.max_steps": { value: steps, source: { scope: "default", key: "limits.max_steps" } },
    ...spendLeft(configuration.plain, parent),
  };
  const own: Workshop = {
    ...toolsFor(brief, workshop),
    policy: { ...workshop.policy, configuration: { ...configuration, plain } },
    notices: [],
  };
  const { header } = parent;
  const asked = model.plain ?? model;
  return await createSession(ground, own, asked, {
    title: brief.title,
    system: header?.system ?? "",
    mode: header?.mode ?? "normal",
    // With the model alone it could not be resumed by itself.
    ...(header?.base_url === undefined || header.model !== asked.id ? {} : { base_url: header.base_url }),
    parent: { session: lease.session, call, depth: depth + 1 },
  });
}

/** What a child may spend is what its parent has left: the limit holds for all of them together. */
function spendLeft({ "limits.spend_usd": limit }: PlainLeaves, parent: SessionState): Pick<PlainLeaves, "limits.spend_usd"> {
  if (limit === undefined) return {};
  return { "limits.spend_usd": { ...limit, value: Math.max(0, limit.value - (parent.usage.cost_usd ?? 0)) } };
}

/** Who only looks has what there was when his parent was opened: tools of servers are none of it. */
function toolsFor({ read_only }: ChildBrief, { toolbox, live, ...workshop }: Workshop): Workshop {
  if (read_only) return { ...workshop, toolbox: readOnly(toolbox) };
  return live === undefined ? { ...workshop, toolbox } : { ...workshop, toolbox: live.toolbox(), live };
}

/** Levels of parents above a session that is opened again, as their first events tell. */
async function depthOf(journal: Journal, header: SessionHeader | null): Promise<number> {
  let depth = 0;
  for (let parent = header?.parent; parent !== undefined && depth <= MAX_DEPTH; depth++) {
    const [row] = await journal.read(parent.session, { limit: 1 });
    parent = row?.kind === "event" && row.event.type === "session_opened" && isKnown(row.event) ? row.event.parent : undefined;
  }
  return depth;
}

/** Bytes of JSON that a token stands for, on the cautious side, and the part of the window that is kept for the reply. */
const BYTES_PER_TOKEN = 3;
const REPLY_SHARE = 0.2;

function limitsOf({ plain, ceilings }: Configuration): Pick<TurnPorts, "limits" | "request_bytes" | "timeout_ms" | "timeout_most_ms"> {
  const spend_usd = plain["limits.spend_usd"]?.value;
  const window = plain["limits.context_tokens"]?.value;
  const timeout = plain["limits.timeout_s"]?.value;
  const most = ceilings["limits.timeout_s"]?.value;
  return {
    limits: {
      ...DEFAULT_LIMITS,
      max_steps: plain["limits.max_steps"]?.value ?? DEFAULT_LIMITS.max_steps,
      ...(spend_usd === undefined ? {} : { spend_usd }),
    },
    request_bytes: window === undefined ? null : Math.floor(window * (1 - REPLY_SHARE) * BYTES_PER_TOKEN),
    timeout_ms: timeout === undefined ? null : timeout * 1000,
    timeout_most_ms: most === undefined ? null : most * 1000,
  };
}

/** Hooks run under the same supervisor as tools, so that nothing of them outlives them, and where tools run. */
function openHooks(ground: SessionGround, { workspace, policy }: Workshop, session: string): Hooks {
  const run: HookRunner = async (launch, signal) => {
    if (!isInPlace(workspace)) throw new Error(`the folder of this session, "${workspace}", is not there any more as it was`);
    return await ground.supervisor.run({ session, call: newHookId(), launch, signal });
  };
  return createHooks(policy.hooks, run, { workspace, env: policy.inherited.env, shell: hookShell() });
}

function projections(recorder: Recorder): PlanState {
  return {
    get reads() {
      return knownFiles(recorder.state);
    },
    get tasks() {
      return recorder.state.tasks as JsonObject;
    },
    get scratch() {
      return recorder.state.scratch;
    },
  };
}
