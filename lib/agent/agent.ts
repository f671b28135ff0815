/** The composition root: a runtime with its journal, its supervisor and its sessions. [main thread] */
import process from "node:process";

import { UsageError } from "../config/error.ts";
import { findWorkspace, type Paths, resolvePaths } from "../config/paths.ts";
import { grantFileTrust, grantTrust, TrustError } from "../gate/trust.ts";
import { createTrustStore, type TrustStore } from "../gate/trust-store.ts";
import type { Journal, LogRow, SessionSummary } from "../journal/journal.ts";
import { createMemoryJournal } from "../journal/memory.ts";
import { openSqliteJournal } from "../journal/sqlite.ts";
import type { Model } from "../model/model.ts";
import { createModel, defaultModelName } from "../model/providers.ts";
import { ownIdentity } from "../platform/identity.ts";
import { VERSION } from "../platform/version.ts";
import type { SessionHeader } from "../session/state.ts";
import { createSupervisor, type Supervisor } from "../supervisor/supervisor.ts";
import type { Toolbox } from "../tools/toolbox.ts";
import type { Cancellation, CancelOptions } from "./cancel.ts";
import { type Fork, forkSession } from "./fork.ts";
import { newInquiryId, newRuntimeId, newSessionId, now } from "./ids.ts";
import type { AgentOptions, NewSessionOptions } from "./options.ts";
import type { PolicyOptions } from "./policy.ts";
import type { CreatedTool, ScaffoldRequest } from "./scaffold.ts";
import type { Session, TurnOptions } from "./session.ts";
import { findServers, openServers, type Servers } from "./servers.ts";
import { folderOf } from "./in-place.ts";
import { requireText } from "./text.ts";
import { checkExists, createSession, openSession, type SessionGround, type SessionNeeds } from "./sessions.ts";
import { isOutdated } from "./program.ts";
import type { ToolCall, ToolRequest } from "./tool-call.ts";
import type { RunAside } from "./tool-modules.ts";
import type { Imported } from "./transfer.ts";
import type { ValidatedFile } from "./validation.ts";
import { describeInertHere, openWorkshop, stampTools, type Workshop } from "./workshop.ts";

/** A runtime. Nothing is opened before it is needed; `close` ends every call, session and process of it. */
export interface Agent {
  /** Absolute, without symlinks. */
  readonly workspace: string;
  /** Every tool that was found, here or in another folder, and what became of it; of MCP servers if they have been started. */
  toolbox(workspace?: string): Promise<Toolbox>;
  /** Tools, settings and trust of this or another folder. Starts nothing but new tool files in code. @throws {ConfigError} */
  workshop(workspace?: string): Promise<Workshop>;
  /** Finds the workspace's settings good, and the model that they or the options name, if they do. @throws what `create` would. */
  checkModel(workspace?: string): Promise<void>;
  /** The same with MCP servers and their tools: starts those that may run, and waits for them as a session does. @throws {ConfigError} */
  equip(workspace?: string): Promise<Workshop>;
  /** Tools, settings and trust are read again at their next use. Sessions that are open keep what they have. */
  reread(): void;
  /** Runs one tool as a session would, without a model and without a trace in the journal. @throws {ConfigError} */
  callTool(request: ToolRequest, options?: TurnOptions): Promise<ToolCall>;
  /** Everything there is to say about the tool files here, or in one folder. @throws {UsageError} there is no such folder. @throws {ConfigError} */
  validate(directory?: string): Promise<readonly ValidatedFile[]>;
  /** Writes the files of a new tool, and trusts it as it is. @throws {UsageError} @throws {TrustError} */
  createTool(request: ScaffoldRequest): Promise<CreatedTool>;
  /** Trusts this workspace as `workshop` last saw it. @throws {TrustError} */
  trust(): Promise<void>;
  /** Whether there was anything to forget. @throws {TrustError} */
  forgetTrust(): Promise<boolean>;
  /** @throws {ConfigError} no model can be chosen. @throws {JournalUnavailable} unless `ahead`. */
  create(options?: NewSessionOptions): Promise<Session>;
  /**
   * With `as: "recorded"` the session keeps its own mode and model, whatever this runtime was opened with; with `inPlace`
   * it is opened only if the path of its folder leads to where it led when it was recorded.
   * @throws {UsageError} there is no such session, or it may not be opened here. @throws {JournalHeld} another runtime drives it.
   */
  open(id: string, options?: OpenOptions): Promise<Session>;
  /** Closes one session and forgets it. */
  release(session: Session): Promise<void>;
  /**
   * A new session with the events 1 to `at` of another; all of them without `at`.
   * @throws {UsageError} there is no such session or event.
   */
  fork(id: string, at?: number): Promise<Fork>;
  /**
   * Ends the open turn of a session that another runtime drives, or that lost its runtime. Every call of it has its end then.
   * @throws {UsageError} there is no such session. @throws {CancelUnanswered} whoever drives it did not react.
   */
  cancel(id: string, options?: CancelOptions): Promise<Cancellation>;
  /**
   * The recorded events of a session as JSON lines, in pieces of some lines: the bytes that the journal holds.
   * @throws {UsageError} there is no such session. @throws {UnsoundLog} an event cannot be read.
   */
  export(id: string): AsyncIterable<string>;
  /**
   * Takes in a session as `export` gives it: all of it, or nothing.
   * @throws {UnsoundLog} with the line and the reason. @throws {JournalOccupied} the session is here already.
   */
  import(lines: AsyncIterable<Uint8Array>): Promise<Imported>;
  /** Takes a session out of the journal. @throws {UsageError} there is none. @throws {JournalHeld} a runtime drives it. */
  remove(id: string): Promise<void>;
  /** What the journal holds, for readers. */
  readonly log: Log;
  /** Whether the journal takes writes. @throws {JournalUnavailable} it does not. */
  probe(): Promise<void>;
  /** Newest first. */
  list(limit?: number): Promise<readonly SessionSummary[]>;
  /** @throws {UsageError} there is no such session. */
  events(id: string, after?: number): Promise<readonly LogRow[]>;
  close(): Promise<void>;
}

export interface OpenOptions {
  readonly as?: "recorded";
  readonly inPlace?: boolean;
}

/** The reading half of the journal. */
export type Log = Pick<Journal, "read" | "head" | "standing" | "list">;

/** @throws {UsageError} the workspace is not a folder. @throws {ConfigError} */
export function openAgent(options: AgentOptions = {}): Agent {
  return openDriven(options, (model) => model);
}

/** The same with something between every session and its model. @throws as `openAgent` */
export function openDriven(options: AgentOptions, drive: (model: Model) => Model): Agent {
  const env = options.env ?? process.env;
  const paths = resolvePaths(env);
  return new Runtime(options, env, paths, findWorkspace(options.workspace, process.cwd(), paths.home), drive);
}

/** What this runtime was opened with that holds for a session that exists. */
type Overrides = Pick<AgentOptions, "mode" | "model" | "baseUrl" | "trustWorkspace" | "onlyHere">;

const DEFAULT_SYSTEM = "You are a careful assistant that works in a folder with the tools you are given. " +
  "Use them to find out what is true rather than to guess, and say plainly when something failed or is not known.";

class Runtime implements Agent {
  readonly workspace: string;
  readonly #options: AgentOptions;
  readonly #env: NonNullable<AgentOptions["env"]>;
  readonly #paths: Paths;
  readonly #workshops = new Map<string, Promise<Workshop>>();
  readonly #trusted: Set<string>;
  readonly #sessions = new Set<Session>();
  readonly #servers = new Map<string, Promise<Servers>>();
  readonly #drive: (model: Model) => Model;
  readonly #id = newRuntimeId();
  #supervisor: Supervisor | null = null;
  #ground: SessionGround | null = null;

  constructor(
    options: AgentOptions,
    env: NonNullable<AgentOptions["env"]>,
    paths: Paths,
    workspace: string,
    drive: (model: Model) => Model,
  ) {
    this.#options = options;
    this.#env = env;
    this.#paths = paths;
    this.#drive = drive;
    this.workspace = workspace;
    const { trustWorkspace = false } = options;
    const trusted = typeof trustWorkspace === "boolean" ? (trustWorkspace ? [workspace] : []) : trustWorkspace;
    this.#trusted = new Set(trusted.map((folder) => findWorkspace(folder, process.cwd(), null)));
  }

  get log(): Log {
    return this.#open().journal;
  }

  async toolbox(workspace = this.workspace): Promise<Toolbox> {
    const workshop = await this.#workshop(workspace);
    return (await this.#servers.get(workspace))?.equip(workshop).toolbox ?? workshop.toolbox;
  }

  async workshop(workspace = this.workspace): Promise<Workshop> {
    return await this.#workshop(workspace);
  }

  async checkModel(workspace = this.workspace): Promise<void> {
    const workshop = await this.#workshop(workspace);
    if ((this.#options.model ?? workshop.policy.configuration.plain.model?.value) !== undefined) await this.#chooseModel(workshop);
  }

  async equip(workspace = this.workspace): Promise<Workshop> {
    return await this.#equipped(workspace);
  }

  reread(): void {
    this.#workshops.clear();
  }

  async callTool(request: ToolRequest, options: TurnOptions = {}): Promise<ToolCall> {
    const { callTool, needsServers } = await import("./tool-call.ts");
    const plain = await this.workshop();
    const workshop = needsServers(request.name, plain) ? await this.#equipped(this.workspace) : plain;
    const openModel = async () => (await this.#chooseModel(workshop)).model;
    return await callTool({ ground: this.#open(), workshop, openModel }, request, options);
  }

  async validate(directory?: string): Promise<readonly ValidatedFile[]> {
    const { validateToolFiles } = await import("./validation.ts");
    return await validateToolFiles(this.#policyOptions(this.workspace), this.#runAside, directory);
  }

  async createTool(request: ScaffoldRequest): Promise<CreatedTool> {
    const { writeScaffold } = await import("./scaffold.ts");
    const created = await writeScaffold(this.workspace, request, (await this.toolbox()).listings);
    const [definition = ""] = created.files;
    await this.#changeTrust((store) => grantFileTrust(this.workspace, definition, created.digest, store, now()));
    return created;
  }

  async trust(): Promise<void> {
    const { policy } = await this.workshop();
    await this.#changeTrust((store) => grantTrust(policy.survey, store, now()));
  }

  async forgetTrust(): Promise<boolean> {
    return await this.#changeTrust((store) => store.forget(this.workspace));
  }

  async create(options: NewSessionOptions = {}): Promise<Session> {
    const system = options.system ?? this.#options.system ?? DEFAULT_SYSTEM;
    requireText(system, "a system prompt");
    if (options.title !== undefined) requireText(options.title, "a title");
    const workspace = options.workspace === undefined ? this.workspace : findWorkspace(options.workspace, "/", null);
    const ground = this.#open();
    await this.#probeForServers(workspace);
    const workshop = await this.#equipped(workspace);
    const inert = this.#tellInert(workshop);
    const { now } = this.#options;
    const { plain } = workshop.policy.configuration;
    const { model, base_url } = await this.#chooseModel(workshop, options.model);
    return this.#keep(
      await createSession(ground, workshop, model, {
        system: [system, inert].filter((text) => text !== null).join("\n\n"),
        mode: options.mode ?? plain.mode?.value ?? "auto-accept",
        ...(options.title === undefined ? {} : { title: options.title }),
        ahead: options.ahead ?? false,
        ...(now === undefined ? {} : { now }),
        ...(base_url === undefined ? {} : { base_url }),
      }),
    );
  }

  async open(id: string, { as, inPlace = false }: OpenOptions = {}): Promise<Session> {
    const overrides = as === "recorded" ? {} : this.#options;
    return this.#keep(await openSession(this.#open(), id, (header) => this.#needs(header, overrides, inPlace)));
  }

  async release(session: Session): Promise<void> {
    this.#sessions.delete(session);
    await session.close();
  }

  async fork(id: string, at?: number): Promise<Fork> {
    return await forkSession(this.#open(), id, at);
  }

  async cancel(id: string, options: CancelOptions = {}): Promise<Cancellation> {
    const { cancelTurn } = await import("./cancel.ts");
    return await cancelTurn(this.#open(), id, options);
  }

  async *export(id: string): AsyncGenerator<string> {
    const { exportLog } = await import("./transfer.ts");
    yield* exportLog(this.#open().journal, id);
  }

  async import(lines: AsyncIterable<Uint8Array>): Promise<Imported> {
    const { importLog } = await import("./transfer.ts");
    return await importLog(this.#open().journal, lines);
  }

  async remove(id: string): Promise<void> {
    const { journal, owner } = this.#open();
    await checkExists(journal, id);
    await journal.remove(await journal.acquire(id, owner));
  }

  async probe(): Promise<void> {
    const { journal, owner } = this.#open();
    await (await journal.acquire(newSessionId(), owner)).release();
  }

  /** Where no session can be kept no server is started either. */
  async #probeForServers(workspace: string): Promise<void> {
    if (this.#servers.has(workspace) || this.#options.offer === "own") return;
    if (await findServers(await this.#workshop(workspace), this.#paths) !== null) await this.probe();
  }

  async list(limit?: number): Promise<readonly SessionSummary[]> {
    return await this.#open().journal.list(limit === undefined ? {} : { limit });
  }

  async events(id: string, after = 0): Promise<readonly LogRow[]> {
    const { journal } = this.#open();
    await checkExists(journal, id);
    return await journal.read(id, { after });
  }

  async close(): Promise<void> {
    await Promise.allSettled([...this.#sessions].map((session) => session.close()));
    const servers = await Promise.all(this.#servers.values());
    await Promise.all(servers.map((each) => each.close()));
    await this.#supervisor?.close();
    await this.#ground?.journal.close();
  }

  /** For tool files that are asked what is in them. */
  readonly #runAside: RunAside = (launch) =>
    this.#supervise().run({ session: "tool-files", call: newInquiryId(), launch, signal: new AbortController().signal });

  #supervise(): Supervisor {
    return this.#supervisor ??= createSupervisor({ runtime: this.#id });
  }

  #keep(session: Session): Session {
    this.#sessions.add(session);
    return session;
  }

  /** The model that is named, else that of the settings, else the only one that there is a key for. */
  async #chooseModel({ policy }: Workshop, named?: string): Promise<{ readonly model: Model; readonly base_url: string | undefined }> {
    const { plain } = policy.configuration;
    const base_url = this.#baseUrlFor(named, plain.base_url?.value);
    return { model: await this.#model(named ?? plain.model?.value ?? defaultModelName(this.#env), base_url), base_url };
  }

  /** A base URL given for one model says nothing of another, unless that is a local one: those have no other. */
  #baseUrlFor(model: string | undefined, setting: string | undefined): string | undefined {
    const { baseUrl, model: own } = this.#options;
    if (model === undefined || model === own) return baseUrl ?? (own === undefined ? setting : undefined);
    return model.startsWith("local/") ? baseUrl ?? setting : undefined;
  }

  async #needs(header: SessionHeader, overrides: Overrides, inPlace: boolean): Promise<SessionNeeds> {
    const { mode, model, baseUrl } = overrides;
    const workspace = folderOf(header.workspace);
    if (inPlace && workspace !== header.workspace) {
      throw new UsageError(`Cannot open that session as its folder, "${header.workspace}", is not there any more as it was`);
    }
    if (overrides.onlyHere === true && workspace !== this.workspace) {
      throw new UsageError(`Cannot go on with that session in "${this.workspace}" as it works in "${workspace}": leave --workspace out`);
    }
    if (overrides.trustWorkspace === true) this.#trustHere(workspace);
    const name = model ?? header.model;
    const [opened, workshop] = await Promise.all([
      this.#model(name, baseUrl ?? (name === header.model ? header.base_url : undefined)),
      this.#equipped(workspace),
    ]);
    this.#tellInert(workshop);
    return {
      workshop,
      model: opened,
      changes: {
        ...(mode === undefined ? {} : { mode }),
        ...(model === undefined ? {} : { model }),
        ...(baseUrl === undefined ? {} : { base_url: baseUrl }),
      },
    };
  }

  #trustHere(workspace: string): void {
    if (this.#trusted.has(workspace)) return;
    this.#trusted.add(workspace);
    this.#workshops.delete(workspace);
  }

  /** Whatever is inert is never so in silence: whoever opened this runtime is told, and the model. */
  #tellInert({ policy }: Workshop): string | null {
    const text = describeInertHere(policy);
    if (text !== null) this.#options.onNotice?.({ level: "warning", code: "workspace_untrusted", text });
    return text;
  }

  async #model(name: string, baseUrl: string | undefined): Promise<Model> {
    return this.#drive(await createModel({ name, env: this.#env, ...(baseUrl === undefined ? {} : { baseUrl }) }));
  }

  /** With the tools of its MCP servers, which are started for the first session and stay for the others. */
  async #equipped(workspace: string): Promise<Workshop> {
    const workshop = await this.#current(workspace);
    if (this.#options.offer === "own") return workshop;
    const opened = this.#servers.get(workspace) ?? openServers(workshop, this.#paths, this.#supervise(), this.#options.stop);
    this.#servers.set(workspace, opened);
    return (await opened).equip(workshop);
  }

  /** Read again if files of its tools have changed: a runtime may live long. */
  async #current(workspace: string): Promise<Workshop> {
    if (!this.#workshops.has(workspace)) return await this.#workshop(workspace);
    const known = await this.#workshop(workspace);
    const isSame = known.stamp === await stampTools(this.#policyOptions(workspace));
    if (isSame && !await isOutdated(known.toolbox)) return known;
    this.#workshops.delete(workspace);
    return await this.#workshop(workspace);
  }

  #workshop(workspace: string): Promise<Workshop> {
    const known = this.#workshops.get(workspace);
    if (known !== undefined) return known;
    const opened = this.#openWorkshop(workspace);
    this.#workshops.set(workspace, opened);
    return opened;
  }

  async #openWorkshop(workspace: string): Promise<Workshop> {
    const { tools = [], offer = "all" } = this.#options;
    const own = tools.length === 0 ? [] : await (await import("../tools/sdk/embedded.ts")).embedTools(tools);
    return await openWorkshop(this.#policyOptions(workspace), this.#runAside, { own, offer });
  }

  /** What was read before a change of trust is read again. */
  async #changeTrust<T>(change: (store: TrustStore) => Promise<T>): Promise<T> {
    try {
      return await change(createTrustStore(this.#paths.data));
    } catch (error) {
      if (error instanceof TrustError) throw error;
      const reason = error instanceof Error ? error.message : String(error);
      throw new TrustError(`Cannot change the record of trust in "${this.#paths.data}": ${reason}`, { cause: error });
    } finally {
      this.#workshops.delete(this.workspace);
    }
  }

  #policyOptions(workspace: string): PolicyOptions {
    const { model, baseUrl, mode, defaultMode, maxSteps, speculation, secretFiles } = this.#options;
    return {
      workspace,
      paths: this.#paths,
      env: this.#env,
      platform: process.platform,
      trustFlag: this.#trusted.has(workspace),
      ...(secretFiles === undefined ? {} : { secretFiles }),
      ...(defaultMode === undefined ? {} : { defaultMode }),
      flags: {
        model,
        base_url: baseUrl,
        mode,
        "limits.max_steps": maxSteps,
        speculation: speculation === undefined ? undefined : speculation ? "on" : "off",
      },
    };
  }

  #open(): SessionGround {
    return this.#ground ??= this.#openGround();
  }

  #openGround(): SessionGround {
    const notify = this.#options.onNotice ?? (() => undefined);
    return {
      journal: this.#openJournal(),
      owner: { runtime: this.#id, ...ownIdentity() },
      supervisor: this.#supervise(),
      approver: this.#options.approver ?? null,
      runtime: `orrery/${VERSION}`,
      notify,
    };
  }

  #openJournal(): Journal {
    if (this.#options.journal === "memory") return createMemoryJournal();
    const notify = this.#options.onNotice;
    const journal = openSqliteJournal({
      path: this.#paths.journal,
      ...(notify === undefined ? {} : { onNotice: (notice) => notify({ level: "warning", ...notice }) }),
    });
    const { now } = this.#options;
    if (now?.aborted === true) journal.hurry();
    else now?.addEventListener("abort", () => journal.hurry(), { once: true });
    return journal;
  }
}
