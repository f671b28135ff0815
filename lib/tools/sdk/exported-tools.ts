/** [child process] Which tools a module has, by what it exports. */
import type { Diagnostic } from "../diagnostic.ts";
import { isTool, isToolClass, type Tool } from "./define.ts";

type ToolClass = new () => Tool;

export interface ExportedTools {
  readonly tools: readonly Tool[];
  /** What seems to be meant as a tool and cannot be made one. */
  readonly notices: readonly Diagnostic[];
}

/** Exported tools, also in lists, and one instance of each exported class that has none among them. */
export function collectTools(exports: readonly unknown[]): ExportedTools {
  const exported = exports.flatMap((each): readonly unknown[] => Array.isArray(each) ? each : [each]);
  const given = new Set(exported.filter(isTool));
  const classes = [...new Set(exported.filter(isToolClass))];
  const made: Tool[] = [];
  const notices: Diagnostic[] = [];
  for (const each of classes) {
    if ([...given].some((known) => Object.getPrototypeOf(known) === each.prototype)) continue;
    const isBase = [...given].some((known) => known instanceof each) || classes.some((other) => other.prototype instanceof each);
    if (argumentsNeeded(each) > 0) {
      if (!isBase) notices.push(notMade(each));
      continue;
    }
    const instance = new each();
    // It says too little of itself to be a tool: others are derived from it.
    if (instance.name === undefined || (isBase && typeof instance.execute !== "function")) continue;
    made.push(instance);
  }
  // A base gives way to what is derived from it and has its name.
  const all = [...given, ...made];
  const yields = (base: Tool) => all.some((other) => other !== base && other.name === base.name && other instanceof base.constructor);
  return { tools: [...given, ...made.filter((each) => !yields(each))], notices };
}

/** Of the constructor that runs: a class that is written without one has that of its base. */
function argumentsNeeded(of: ToolClass): number {
  const base: unknown = Object.getPrototypeOf(of);
  const hasOwn = /\bconstructor\s*\(/.test(Function.prototype.toString.call(of));
  return hasOwn || !isToolClass(base) ? of.length : argumentsNeeded(base);
}

function notMade({ name }: ToolClass): Diagnostic {
  return {
    severity: "warning",
    code: "class_not_made",
    message: `The class ${name} is not used, as its constructor needs arguments`,
    remedy: `Export one that is made, \`new ${name}(…)\`, or have it need no arguments.`,
  };
}
