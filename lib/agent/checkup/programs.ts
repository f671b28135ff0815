/** Whether what a command would start is there and can be started, as far as its words tell. Nothing is started to find out. */
import { existsSync } from "node:fs";
import { basename, resolve } from "node:path";
import { readShell, type ShellCommand, withoutKeywords } from "../../gate/shell-words.ts";
import { findProgram } from "../../tools/stella/program.ts";
import { workspaceScript } from "../script-place.ts";

/** What commands are started with. */
export interface StartPlace {
  readonly workspace: string;
  readonly path: string;
  readonly home: string | undefined;
  /** Whether a bare name may stand for a file in the workspace's root. */
  readonly bareNames: boolean;
}

export interface ProgramFault {
  readonly text: string;
  readonly remedy: string;
  /** It stands among other commands, which may guard it, or make what is not there yet. */
  readonly unsure: boolean;
}

export async function faultsOfArgv(argv: readonly string[], place: StartPlace): Promise<readonly ProgramFault[]> {
  const [program = "", ...rest] = argv;
  const fault = await faultOfWords(argv, place, false);
  if (fault !== null) return [fault];
  const code = rest.findIndex((word) => /^-[a-z]*c$/.test(word));
  return SHELL.test(basename(program)) && code !== -1 ? await faultsOfShell(rest[code + 1] ?? "", place) : [];
}

/** The same for a text that a shell is given. */
export async function faultsOfShell(text: string, place: StartPlace): Promise<readonly ProgramFault[]> {
  const commands = readShell(text, place.home) ?? [];
  const isOne = commands.length === 1;
  const faults: ProgramFault[] = [];
  for (const command of commands) {
    const argv = knownWords(command);
    // From there on, names of files are meant from another folder.
    if (/^(?:cd|pushd)$/.test(argv[0] ?? "")) break;
    const isOwn = argv[0] === undefined || BUILT_IN.has(argv[0]) || isDefined(argv[0], text);
    const fault = await faultOfWords(argv, place, isOwn);
    if (fault !== null) faults.push({ ...fault, unsure: !isOne });
  }
  return faults;
}

const SHELL = /^(?:ba|da|k|z|a)?sh$/;

/** What bash, or sh, does itself. */
const BUILT_IN: ReadonlySet<string> = new Set(
  `: . [ [[ alias bg bind break builtin caller case command compgen complete continue declare dirs disown echo enable eval exec exit export
  false fc fg for function getopts hash help history if jobs kill let local logout mapfile popd printf pwd read readarray readonly return
  select set shift shopt source suspend test times trap true type typeset ulimit umask unalias unset until wait while`.split(/\s+/),
);

function isDefined(name: string, text: string): boolean {
  return /^[\w-]+$/.test(name) && new RegExp(`(?:^|[\\s;&|(){}])${name}\\s*\\(\\s*\\)`).test(text);
}

/** The words of a command up to the first that is only made while it runs. */
function knownWords({ words: all }: ShellCommand): readonly string[] {
  const words = withoutKeywords(all);
  const start = words.findIndex(({ source }) => !/^\w+(?:\[[^\]]*\])?\+?=/.test(source));
  const from = start === -1 ? [] : words.slice(start);
  const unknown = from.findIndex(({ known }) => !known);
  return from.slice(0, unknown === -1 ? undefined : unknown).map(({ text }) => text);
}

/** `isOwn`: the first word is no program. */
async function faultOfWords(argv: readonly string[], place: StartPlace, isOwn: boolean): Promise<ProgramFault | null> {
  const { workspace, path, bareNames } = place;
  const [program = ""] = argv;
  if (!isOwn) {
    const { diagnostics } = await findProgram({ program, workspace, path, trusted: bareNames });
    const said = diagnostics.find(({ severity }) => severity !== "info");
    if (said?.code === "program_not_on_path" && !bareNames) {
      return { text: `"${program}" is not on the PATH`, remedy: "Install it, or give its path", unsure: false };
    }
    if (said !== undefined) return { text: said.message, remedy: said.remedy, unsure: false };
  }
  const script = workspaceScript(argv, { workspace, path });
  if (script === null || existsSync(resolve(workspace, script))) return null;
  return { text: `The file "${script}", which ${program} is given, does not exist`, remedy: REMEDY, unsure: false };
}

const REMEDY = "Write the file, or give its path from the workspace's root";
