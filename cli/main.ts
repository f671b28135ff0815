/**
 * [main thread] The executable. It is several programs in one: a tool host if the supervisor started it as one,
 * else the command line. Only here does the process end by our own hand.
 *
 * Everything else is imported late: in the compiled executable what is not imported is not even read, so that
 * `version` and a tool host start as fast as an empty program.
 */
import process from "node:process";
import type { Ending } from "./ending.ts";
import { versionLine } from "./version-line.ts";

const EXIT_CODES: Readonly<Record<Ending, number>> = {
  completed: 0,
  failed: 1,
  usage: 2,
  stopped: 3,
  unanswered: 4,
  refused: 4,
  configuration: 5,
  endpoint: 6,
  timeout: 124,
  interrupted: 130,
  terminated: 143,
};

process.exit(EXIT_CODES[await main(process.argv.slice(2))]);

async function main(args: readonly string[]): Promise<Ending> {
  const [first = ""] = args;
  if (args.length === 1 && ["version", "--version", "-v"].includes(first)) {
    console.log(versionLine());
    return "completed";
  }
  if (first.startsWith("__")) {
    const { hiddenProgram } = await import("./hidden-program.ts");
    return await hiddenProgram(first);
  }
  const { commandLine } = await import("./command-line.ts");
  return await commandLine(args);
}
