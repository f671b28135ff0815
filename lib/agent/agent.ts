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
import { newRuntimeId } from "./ids.ts";
import type { AgentOptions } from "./options.ts";
import type { Session } from "./session.ts";
import { createSession, openSession, readLog, type SessionGround, type SessionNeeds } from "./sessions.ts";
import { openWorkshop, type Workshop } from "./workshop.ts";

/** A runtime. Nothing is opened before it is needed; `close` ends every call, session and process of it. */
export interface Agent {
  /** Absolute, without symlinks. */
  readonly workspace: string;
  /** Every tool that was found, and what became of it. */
  toolbox(): Promise<Toolbox>;
  /** @throws {ConfigError} no model can be chosen. @throws {JournalUnavailable} */
  create(options?: { readonly title?: string }): Promise<Session>;
  /** @throws {UsageError} there is no such session. @throws {JournalHeld} another runtime drives it. */
  open(id: string): Promise<Session>;
  /** Newest first. */
  list(limit?: number): Promise<readonly SessionSummary[]>;
  /** @throws {UsageError} there is no such session. */
  events(id: string, after?: number): Promise<readonly LogRow[]>;
  close(): Promise<void>;
}

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

  async toolbox(): Promise<Toolbox> {
    return (await this.#workshop(this.workspace)).toolbox;
  }

  async create(options: { readonly title?: string } = {}): Promise<Session> {
    const workshop = await this.#workshop(this.workspace);
    const { plain } = workshop.policy.configuration;
    const base_url = this.#options.baseUrl ?? (this.#options.model === undefined ? plain.base_url?.value : undefined);
    const model = await this.#model(plain.model?.value ?? defaultModelName(this.#env), base_url);
    return this.#keep(await createSession(this.#open(), workshop, model, {
      system: this.#options.system ?? DEFAULT_SYSTEM,
      mode: plain.mode?.value ?? "auto-accept",
      ...(options.title === undefined ? {} : { title: options.title }),
      ...(base_url === undefined ? {} : { base_url }),
    }));
  }

  async open(id: string): Promise<Session> {
    return this.#keep(await openSession(this.#open(), id, (header) => this.#needs(header)));
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

  async #needs(header: SessionHeader): Promise<SessionNeeds> {
    const { mode, model, baseUrl } = this.#options;
    const workspace = findWorkspace(header.workspace, "/", null);
    const name = model ?? header.model;
    const [opened, workshop] = await Promise.all([this.#model(name, baseUrl ?? (name === header.model ? header.base_url : undefined)), this.#workshop(workspace)]);
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
    const { model, baseUrl, mode, maxSteps, speculation, trustWorkspace } = this.#options;
    const opened = openWorkshop({
      workspace,
      paths: this.#paths,
      env: this.#env,
      platform: process.platform,
      trustFlag: trustWorkspace === true && workspace === this.workspace,
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

