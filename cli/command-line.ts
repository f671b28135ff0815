/** From arguments to an ending. */
import { buildApplication, ExitCode, run, text_en } from "@stricli/core";
import type { CommandScope } from "./command-body.ts";
import { commandTree } from "./command-tree.ts";
import type { Ending } from "./ending.ts";
import { flush, openShell, type Out, type Shell } from "./terminal.ts";

const application = buildApplication(commandTree, {
  name: "orrery",
  scanner: { caseStyle: "allow-kebab-for-camel", allowArgumentEscapeSequence: true },
  documentation: { caseStyle: "convert-camel-to-kebab", onlyRequiredInUsageLine: true },
  localization: {
    text: {
      ...text_en,
      noCommandRegisteredForInput: (args) => ours(text_en.noCommandRegisteredForInput({ ...args, ansiColor: false })),
      exceptionWhileParsingArguments: (error) => ours(text_en.exceptionWhileParsingArguments(error, false)),
    },
  },
});

export async function commandLine(args: readonly string[]): Promise<Ending> {
  const shell = openShell();
  const ending = await runCommand(shell, args);
  await flush(shell);
  if (shell.out.failure === null) return ending;
  shell.err.write(`orrery: Cannot write to standard output: ${shell.out.failure.message}\n`);
  await flush(shell);
  return ending === "completed" ? "failed" : ending;
}

async function runCommand(shell: Shell, args: readonly string[]): Promise<Ending> {
  let ending: Ending | null = null;
  const streams = { stdout: toStream(shell.out), stderr: toStream(shell.err) };
  const process: { stdout: typeof streams.stdout; stderr: typeof streams.stderr; exitCode?: number | string | null } = streams;
  const scope: CommandScope = { process, shell, finish: (how) => void (ending = how) };
  await run(application, args, scope);
  return ending ?? endingOfExitCode(process.exitCode);
}

function ours(message: string): string {
  return `orrery: Cannot read the command line: ${message}`;
}

function toStream(out: Out) {
  return { write: (text: string) => out.write(text), getColorDepth: () => out.colors.enabled ? 4 : 1 };
}

/** Stricli's own exit code, for what never reached a command: help, or a line it could not read. */
function endingOfExitCode(code: unknown): Ending {
  if (code === undefined || code === null || code === ExitCode.Success) return "completed";
  return code === ExitCode.UnknownCommand || code === ExitCode.InvalidArgument ? "usage" : "failed";
}
