/** The tree of all commands, read by stricli: help, slips and whatever is not a plain line. */
import { buildApplication, ExitCode, run, text_en } from "@stricli/core";
import { calledName } from "../lib/platform/called.ts";
import { asCalled } from "./called.ts";
import type { CommandScope } from "./command-body.ts";
import { commandTree } from "./command-tree.ts";
import type { Ending } from "./ending.ts";
import { writeFailure } from "./failure.ts";
import { fold } from "./fold.ts";
import type { Out, Shell } from "./terminal.ts";
import { meant, sayMisread, sayUnknownCommand, SLIPS } from "./usage.ts";

/** How stricli reads the words of a line. */
export const SCANNER = { caseStyle: "allow-kebab-for-camel", allowArgumentEscapeSequence: true, distanceOptions: SLIPS } as const;

/** @param args for what is said of them. */
function applicationFor(args: readonly string[]) {
  return buildApplication(commandTree, {
    name: calledName(),
    scanner: SCANNER,
    documentation: { caseStyle: "convert-camel-to-kebab", onlyRequiredInUsageLine: true },
    localization: {
      text: {
        ...text_en,
        noCommandRegisteredForInput: ({ input, corrections }) => sayUnknownCommand(input, corrections, args),
        exceptionWhileParsingArguments: (error) => sayMisread(error, args),
      },
    },
  });
}

export async function runByTree(shell: Shell, args: readonly string[]): Promise<Ending> {
  let ending: Ending | null = null;
  let said = "";
  const stderr = toStream(shell.err, (text) => said += text);
  const process: StricliProcess = { stdout: toStream(shell.out), stderr };
  const scope: CommandScope = { process, shell, args, finish: (how) => void (ending = how) };
  const line = meant(args);
  await run(applicationFor(line), withEmptyValues(line), scope);
  if (ending !== null) return ending;
  const unread = endingOfExitCode(process.exitCode);
  if (unread !== "completed") await writeFailure(shell, args, { ending: unread, message: said.replace(/^orrery: /, "").trim() }, false);
  return unread;
}

/** Stricli 1.3 takes `--name=` for an argument; it is an option whose value is empty. */
function withEmptyValues(args: readonly string[]): readonly string[] {
  const escape = args.indexOf("--");
  const options = escape === -1 ? args : args.slice(0, escape);
  const split = options.flatMap((arg) => /^--[a-z][\w-]*=$/i.test(arg) ? [arg.slice(0, -1), ""] : [arg]);
  return [...split, ...args.slice(options.length)];
}

interface StricliProcess {
  readonly stdout: ReturnType<typeof toStream>;
  readonly stderr: ReturnType<typeof toStream>;
  exitCode?: number | string | null;
}

/**
 * `overhear` is told what the library itself says there; commands write by their shell. Stricli 1.3 leaves parameters of its
 * sequences empty, which terminals understand in more than one way.
 */
function toStream(out: Out, overhear: (text: string) => void = () => {}) {
  const write = (said: string) => {
    const text = asCalled(said).replaceAll(/\x1b\[;+(?=\d+m)/g, "\x1b[");
    overhear(text);
    out.write(out.isTerminal ? fold(text, out.columns) : text);
  };
  return { write, getColorDepth: () => out.colors.enabled ? 4 : 1 };
}

/** Stricli's own exit code, for what never reached a command: help, or a line it could not read. */
function endingOfExitCode(code: unknown): Ending {
  if (code === undefined || code === null || code === ExitCode.Success) return "completed";
  return code === ExitCode.UnknownCommand || code === ExitCode.InvalidArgument ? "usage" : "failed";
}
