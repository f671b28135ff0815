/**
 * How a tool is written in TypeScript: with `tool()`, or as a class. This is what a tool file imports from "orrery",
 * so nothing here may know the rest of the program.
 */
import type * as v from "valibot";

/** A valibot schema of an object, or a JSON Schema. */
export type ToolParameters = v.GenericSchema | v.GenericSchemaAsync | JsonSchema;
export type JsonSchema = Readonly<Record<string, unknown>>;

/** What `execute` is given: what the valibot schema makes of the input, or the input as it is. */
export type ToolInput<P extends ToolParameters> = P extends v.GenericSchema | v.GenericSchemaAsync ? v.InferOutput<P>
  : Record<string, unknown>;

export interface ToolContext {
  /** Aborts when the call is cancelled or its time is over. Its process is ended shortly after, but not one that it shares. */
  readonly signal: AbortSignal;
  /** Tells those who watch what the tool is doing. */
  status(status: string, message?: string): void;
  /** `percent` goes from 0 to 100. */
  progress(task: string, percent: number, message?: string): void;
}

export interface ToolOptions {
  /** It changes nothing: it may run beside other reads, and in plan mode. */
  readonly read_only?: boolean;
  /** It may be run before the model has finished asking for it, and its result thrown away. */
  readonly speculation_safe?: boolean;
  /** Whether a person must agree: "never" is the default, "destructive" asks in normal mode only. */
  readonly approval?: "never" | "always" | "destructive";
  /** 30000 by default; more than 600000 is taken for 600000. */
  readonly timeoutMs?: number;
  /**
   * For a program that embeds Orrery: the tool runs in that program. It is not ended with its call, and a crash of it is a
   * crash of the program.
   */
  readonly inProcess?: boolean;
  /**
   * For a program that embeds Orrery: the file that exports the tool, as `import.meta.url`. Each call loads it in a process
   * of its own, so importing it must be harmless.
   */
  readonly module?: string;
}

export interface ToolDefinition<P extends ToolParameters, R = unknown> extends ToolOptions {
  readonly name: string;
  readonly description: string;
  readonly parameters: P;
  /** What it returns, or resolves to, must be something JSON can hold. */
  execute(input: ToolInput<P>, context: ToolContext): R;
}

/** Known by this key and not by its class, as a file may have come by another copy of this module. */
const brand = Symbol.for("orrery.tool");
const invalid = Symbol.for("orrery.validation_error");

/**
 * A tool as a class. A subclass has `name`, `description`, `parameters` and `execute`.
 *
 * @example
 * ```ts
 * import { Agent, Tool } from "orrery";
 * import * as v from "valibot";
 *
 * const parameters = v.object({ query: v.string() });
 *
 * class Search extends Tool {
 *   readonly name = "search_articles";
 *   readonly description = "Search the articles.";
 *   readonly parameters = parameters;
 *   override readonly inProcess = true;
 *   readonly articles = ["How to brew tea", "How to bake bread"];
 *
 *   execute({ query }: v.InferOutput<typeof parameters>) {
 *     return this.articles.filter((article) => article.includes(query));
 *   }
 * }
 *
 * await using agent = new Agent({ model: "local/none", baseUrl: "http://127.0.0.1:11434/v1" });
 * agent.registerTool(new Search());
 * console.log(JSON.stringify(await agent.executeTool("search_articles", { query: "tea" }))); // ["How to brew tea"]
 * ```
 */
export abstract class Tool implements ToolOptions {
  static readonly [brand] = true;
  readonly [brand] = true;
  abstract readonly name: string;
  abstract readonly description: string;
  abstract readonly parameters: ToolParameters;
  readonly read_only: boolean = false;
  readonly speculation_safe: boolean = false;
  readonly approval: "never" | "always" | "destructive" = "never";
  readonly timeoutMs: number = DEFAULT_TIMEOUT_MS;
  readonly inProcess: boolean = false;
  readonly module?: string;
  /** The input's type is the subclass's to say. */
  abstract execute(input: never, context: ToolContext): unknown;
}

/**
 * The input is wrong in a way the model can put right: the message becomes the call's error, without a stack.
 *
 * @example
 * ```ts
 * import { Agent, tool, ValidationError } from "orrery";
 * import * as v from "valibot";
 *
 * const transfer = tool({
 *   name: "transfer",
 *   description: "Transfer an amount.",
 *   parameters: v.object({ amount: v.number() }),
 *   inProcess: true,
 *   execute({ amount }) {
 *     if (amount <= 0) throw new ValidationError("Amount must be positive");
 *     return { transferred: amount };
 *   },
 * });
 *
 * await using agent = new Agent({ model: "local/none", baseUrl: "http://127.0.0.1:11434/v1" });
 * agent.registerTool(transfer);
 * console.log(JSON.stringify(await agent.executeTool("transfer", { amount: 5 }))); // {"transferred":5}
 * console.log(JSON.stringify(await agent.executeTool("transfer", { amount: 0 }))); // {"error":"Amount must be positive"}
 * ```
 */
export class ValidationError extends Error {
  override readonly name = "ValidationError";
  readonly [invalid] = true;
}

/**
 * A tool from a function. Its `execute` keeps its type, so that a test can call it.
 *
 * @example
 * ```ts
 * import { Agent, tool } from "orrery";
 * import * as v from "valibot";
 *
 * const greet = tool({
 *   name: "greet",
 *   description: "Greet somebody.",
 *   parameters: v.object({ name: v.string(), times: v.optional(v.number(), 1) }),
 *   inProcess: true,
 *   execute: ({ name, times }) => `Hello ${name}!`.repeat(times),
 * });
 *
 * await using agent = new Agent({ model: "local/none", baseUrl: "http://127.0.0.1:11434/v1" });
 * agent.registerTool(greet);
 * console.log(await agent.executeTool("greet", { name: "Ada" })); // Hello Ada!
 * ```
 */
export function tool<const P extends ToolParameters, R>(definition: ToolDefinition<P, R>): Tool & ToolDefinition<P, R> {
  return new FunctionTool(definition);
}

class FunctionTool<P extends ToolParameters, R> extends Tool implements ToolDefinition<P, R> {
  readonly name: string;
  readonly description: string;
  readonly parameters: P;
  override readonly read_only: boolean;
  override readonly speculation_safe: boolean;
  override readonly approval: "never" | "always" | "destructive";
  override readonly timeoutMs: number;
  override readonly inProcess: boolean;
  declare readonly module?: string;
  readonly execute: (input: ToolInput<P>, context: ToolContext) => R;

  constructor(definition: ToolDefinition<P, R>) {
    super();
    if (typeof definition.execute !== "function") throw new TypeError(`Cannot make ${toolNamed(definition.name)} as it has no execute()`);
    const fault = misspelling(definition);
    if (fault !== null) throw new TypeError(`Cannot make ${toolNamed(definition.name)} as ${fault}`);
    this.name = definition.name;
    this.description = definition.description;
    this.parameters = definition.parameters;
    this.read_only = definition.read_only ?? false;
    this.speculation_safe = definition.speculation_safe ?? false;
    this.approval = definition.approval ?? "never";
    this.timeoutMs = definition.timeoutMs ?? DEFAULT_TIMEOUT_MS;
    this.inProcess = definition.inProcess ?? false;
    if (definition.module !== undefined) this.module = definition.module;
    this.execute = (input, context) => definition.execute(input, context);
  }
}

export const DEFAULT_TIMEOUT_MS = 30_000;
export const MAX_TIMEOUT_MS = 600_000;

/** How a tool is spoken of. `name`: whatever its author gave as one. */
export function toolNamed(name: unknown, the = "the", a = "a"): string {
  return typeof name === "string" && name !== "" ? `${the} tool "${name}"` : `${a} tool without a name`;
}

const FIELDS = [
  "read_only",
  "speculation_safe",
  "approval",
  "timeoutMs",
  "inProcess",
  "module",
] as const satisfies readonly (keyof ToolOptions)[];

/** A field that means nothing as it is written, and its author means it: nothing checks the types of a file that is run. */
export function misspelling(given: object): string | null {
  const plain = (name: string) => name.replaceAll("_", "").toLowerCase();
  for (const key of Object.keys(given)) {
    const meant = FIELDS.find((field) => plain(field) === plain(key));
    if (meant !== undefined && meant !== key) return `it has "${key}", which is written "${meant}"`;
  }
  return null;
}

export function isTool(value: unknown): value is Tool {
  return typeof value === "object" && value !== null && brand in value;
}

/** A class whose instances are tools, not made yet. `Tool` itself, which is abstract, is none. */
export function isToolClass(value: unknown): value is new () => Tool {
  return typeof value === "function" && brand in value && !Object.hasOwn(value, brand);
}

export function isValidationError(value: unknown): value is ValidationError {
  try {
    return value instanceof Error && invalid in value;
  } catch {
    // A proxy that refuses to be looked at.
    return false;
  }
}
