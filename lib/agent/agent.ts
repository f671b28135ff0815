/** The composition root: a runtime with its journal, its supervisor and its sessions. [main thread] */
import process from "node:process";

import { findWorkspace, type Paths, resolvePaths } from "../config/paths.ts";
import type { Journal, LogRow, SessionSummary } from "../journal/journal.ts";
import { createMemoryJournal } from "../journal/memory.ts";
import { openSqliteJournal } from "../journal/sqlite.ts";
import type { Model } from "../model/model.ts";
import { createModel, defaultModelName } from "../model/providers.ts";
import { ownIdentity } from "../platform/identity.ts";
import { VERSION } from "../platform/version.ts";
import type { SessionHeader } from "../session/state.ts";
import { createSupervisor } from "../supervisor/supervisor.ts";
import type { Toolbox } from "../tools/toolbox.ts";
import { type Fork, forkSession } from "./fork.ts";
import { newRuntimeId, newSessionId } from "./ids.ts";
import type { AgentOptions, NewSessionOptions } from "./options.ts";
import type { Session } from "./session.ts";
import { checkExists, createSession, openSession, readLog, type SessionGround, type SessionNeeds } from "./sessions.ts";
import { openWorkshop, type Workshop } from "./workshop.ts";

/** A runtime. Nothing is opened before it is needed; `close` ends every call, session and process of it. */
export interface Agent {
  /** Absolute, without symlinks. */
  readonly workspace: string;
  /** Every tool that was found, here or in another folder, and what became of it. */
  toolbox(workspace?: string): Promise<Toolbox>;
  /** @throws {ConfigError} no model can be chosen. @throws {JournalUnavailable} */
  create(options?: NewSessionOptions): Promise<Session>;
  /**
   * With `as: "recorded"` the session keeps its own mode and model, whatever this runtime was opened with.
   * @throws {UsageError} there is no such session. @throws {JournalHeld} another runtime drives it.
   */
  open(id: string, options?: { readonly as?: "recorded" }): Promise<Session>;
  /** Closes one session and forgets it. */
  release(session: Session): Promise<void>;
  /**
   * A new session with the events 1 to `at` of another; all of them without `at`.
   * @throws {UsageError} there is no such session or event.
   */
  fork(id: string, at?: number): Promise<Fork>;
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

/** The reading half of the journal. */
export type Log = Pick<Journal, "read" | "head" | "list">;

/** @throws {UsageError} the workspace is not a folder. @throws {ConfigError} */
export function openAgent(options: AgentOptions = {}): Agent {
  const env = options.env ?? process.env;
  const paths = resolvePaths(env);
  return new Runtime(options, env, paths, findWorkspace(options.workspace, process.cwd(), paths.home));
}

const DEFAULT_SYSTEM = "You are a careful assistant that works in a folder with the tools you are given. " +
  "Use them to find out what is true rather than to guess, and say plainly when something failed or is not known.";

class Runtime implements Agent {
  readonly workspace: string;
  readonly #options: AgentOptions;
  readonly #env: NonNullable<AgentOptions["env"]>;
  readonly #paths: Paths;
  readonly #workshops = new Map<string, Promise<Workshop>>();
  readonly #sessions = new Set<Session>();
  #ground: SessionGround | null = null;

  constructor(options: AgentOptions, env: NonNullable<AgentOptions["env"]>, paths: Paths, workspace: string) {
    this.#options = options;
    this.#env = env;
    this.#paths = paths;
    this.workspace = workspace;
  }

  get log(): Log {
    return this.#open().journal;
  }

  async toolbox(workspace = this.workspace): Promise<Toolbox> {
    return (await this.#workshop(workspace)).toolbox;
  }

  async create(options: NewSessionOptions = {}): Promise<Session> {
    const workspace = options.workspace === undefined ? this.workspace : findWorkspace(options.workspace, "/", null);
    const workshop = await this.#workshop(workspace);
    const { plain } = workshop.policy.configuration;
    const base_url = this.#baseUrlFor(options.model, plain.base_url?.value);
    const model = await this.#model(options.model ?? plain.model?.value ?? defaultModelName(this.#env), base_url);
    return this.#keep(
      await createSession(this.#open(), workshop, model, {
        system: options.system ?? this.#options.system ?? DEFAULT_SYSTEM,
        mode: options.mode ?? plain.mode?.value ?? "auto-accept",
        ...(options.title === undefined ? {} : { title: options.title }),
        ...(base_url === undefined ? {} : { base_url }),
      }),
    );
  }

  async open(id: string, options: { readonly as?: "recorded" } = {}): Promise<Session> {
    const overrides = options.as === "recorded" ? {} : this.#options;
    return this.#keep(await openSession(this.#open(), id, (header) => this.#needs(header, overrides)));
  }

  async release(session: Session): Promise<void> {
    this.#sessions.delete(session);
    await session.close();
  }

  async fork(id: string, at?: number): Promise<Fork> {
    return await forkSession(this.#open(), id, at);
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

  async list(limit?: number): Promise<readonly SessionSummary[]> {
    return await this.#open().journal.list(limit === undefined ? {} : { limit });
  }

  async events(id: string, after = 0): Promise<readonly LogRow[]> {
    const rows = await readLog(this.#open().journal, id);
    return after === 0 ? rows : rows.filter((row) => (row.kind === "event" ? row.event.seq : row.seq) > after);
  }

  async close(): Promise<void> {
    const ground = this.#ground;
    if (ground === null) return;
    await Promise.allSettled([...this.#sessions].map((session) => session.close()));
    await ground.supervisor.close();
    await ground.journal.close();
  }

  #keep(session: Session): Session {
    this.#sessions.add(session);
    return session;
  }

  /** A base URL given for one model says nothing of another, unless that is a local one: those have no other. */
  #baseUrlFor(model: string | undefined, setting: string | undefined): string | undefined {
    const { baseUrl, model: own } = this.#options;
    if (model === undefined || model === own) return baseUrl ?? (own === undefined ? setting : undefined);
    return model.startsWith("local/") ? baseUrl ?? setting : undefined;
  }

  async #needs(header: SessionHeader, { mode, model, baseUrl }: Pick<AgentOptions, "mode" | "model" | "baseUrl">): Promise<SessionNeeds> {
    const workspace = findWorkspace(header.workspace, "/", null);
    const name = model ?? header.model;
    const [opened, workshop] = await Promise.all([
      this.#model(name, baseUrl ?? (name === header.model ? header.base_url : undefined)),
      this.#workshop(workspace),
    ]);
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

  #model(name: string, baseUrl: string | undefined): Promise<Model> {
    return createModel({ name, env: this.#env, ...(baseUrl === undefined ? {} : { baseUrl }) });
  }

  #workshop(workspace: string): Promise<Workshop> {
    const known = this.#workshops.get(workspace);
    if (known !== undefined) return known;
    const { model, baseUrl, mode, defaultMode, maxSteps, speculation, trustWorkspace } = this.#options;
    const opened = openWorkshop({
      workspace,
      paths: this.#paths,
      env: this.#env,
      platform: process.platform,
      trustFlag: trustWorkspace === true && workspace === this.workspace,
      ...(defaultMode === undefined ? {} : { defaultMode }),
      flags: { model, base_url: baseUrl, mode, "limits.max_steps": maxSteps, speculation: speculation === false ? "off" : undefined },
    });
    this.#workshops.set(workspace, opened);
    return opened;
  }

  #open(): SessionGround {
    return this.#ground ??= this.#openGround();
  }

  #openGround(): SessionGround {
    const id = newRuntimeId();
    const notify = this.#options.onNotice ?? (() => undefined);
    return {
      journal: this.#openJournal(),
      owner: { runtime: id, ...ownIdentity() },
      supervisor: createSupervisor({ runtime: id }),
      approver: this.#options.approver ?? null,
      runtime: `orrery/${VERSION}`,
      notify,
    };
  }

  #openJournal(): Journal {
    if (this.#options.journal === "memory") return createMemoryJournal();
    const notify = this.#options.onNotice;
    return openSqliteJournal({
      path: this.#paths.journal,
      ...(notify === undefined ? {} : { onNotice: (notice) => notify({ level: "warning", ...notice }) }),
    });
  }
}
