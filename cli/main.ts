/**
 * [main thread] The executable. It is several programs in one: a tool host if the supervisor started it as one,
 * else the command line. Only here does the process end by our own hand.
 *
 * Everything else is imported late: in the compiled executable what is not imported is not even read, so that
 * `version` and a tool host start as fast as an empty program.
 */
import { writeSync } from "node:fs";
import process from "node:process";
import { isInit, missingPermissions } from "../lib/platform/host.ts";
import { holdSignals as holdAllSignals } from "../lib/platform/init-signals.ts";
import { wasClosed } from "../lib/platform/standard-streams.ts";
import type { Ending } from "./ending.ts";
import type { HeldSignals } from "./held-signals.ts";
import { VERSION_WORDS, versionLine } from "./version-line.ts";

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

process.exit(await start(process.argv.slice(2)));

/** As the first process of a container it only looks after itself, run once more beneath. */
async function start(args: readonly string[]): Promise<number> {
  if (isInit() && missingPermissions().length === 0) {
    const signals = holdAllSignals();
    const { runBeneath } = await import("../lib/platform/init.ts");
    return await runBeneath(args, signals);
  }
  return EXIT_CODES[await main(args)];
}

async function main(args: readonly string[]): Promise<Ending> {
  const [first = ""] = args;
  if (args.length === 1 && VERSION_WORDS.includes(first)) {
    if (wrote(`${versionLine()}\n`)) return "completed";
    return await (await import("./command-line.ts")).commandLine(["version"]);
  }
  const missing = missingPermissions();
  if (missing.length > 0) {
    console.error(`orrery: Cannot start as Deno was not allowed to use ${missing.join(", ")}: start it with deno run -A`);
    return "configuration";
  }
  if (first.startsWith("__")) {
    const { hiddenProgram } = await import("./hidden-program.ts");
    return await hiddenProgram(first, args.slice(1));
  }
  const held = await holdSignals(args);
  const { commandLine } = await import("./command-line.ts");
  return await commandLine(args, held);
}

/** Before the rest is loaded, and only for who must get something whatever happens: to listen costs about a millisecond. */
async function holdSignals(args: readonly string[]): Promise<HeldSignals | null> {
  const { mustReport } = await import("./failure.ts");
  if (!mustReport(args)) return null;
  const { HeldSignals } = await import("./held-signals.ts");
  return new HeldSignals();
}

function wrote(line: string): boolean {
  if (wasClosed(1)) return false;
  try {
    writeSync(1, line);
    return true;
  } catch {
    // A full disk, a closed pipe: the command line knows what to say.
    return false;
  }
}
