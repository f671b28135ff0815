import { existsSync } from "node:fs";
import { chmod, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, isAbsolute, join, relative } from "node:path";
import process from "node:process";
import wordcountManifest from "../../.stella/tools/wordcount.toml" with { type: "text" };
import { calledName } from "../../lib/platform/called.ts";
import wordcountScript from "../../scripts/wordcount.sh" with { type: "text" };
import { realPath } from "../../lib/platform/real-path.ts";
import { isCompiled, ownCommand } from "../../lib/platform/self.ts";
import type { Session, TurnResult } from "../../mod.ts";
import { withAgent } from "../agent.ts";
import type { NoFlags } from "../flags.ts";
import { endingOf } from "../drive.ts";
import { fold } from "../fold.ts";
import type { Ending } from "../ending.ts";
import { listenForInterruption } from "../interruption.ts";
import { createPresenter } from "../presenter.ts";
import type { Out, Shell } from "../terminal.ts";
import { promptNew } from "./run.ts";

const PROMPT = "What is notes.txt about, and how many words has it?";

const NOTES = `An orrery is a clockwork of the planets. Turn the handle and every sphere moves
as its neighbours make it move, and the machine can be turned back to any day.
`;

/** What the model of the demo says. The file is written into the workspace, to be read and changed. */
const SCRIPT = {
  replies: [
    { delay_ms: 60, text: ["I read the file ", "first."], calls: [{ name: "read_file", arguments: { path: "notes.txt" } }] },
    {
      delay_ms: 60,
      text: ["Now the ", "workspace's own tool ", "counts its words."],
      calls: [{ name: "wordcount", arguments: { path: "notes.txt" } }],
    },
    {
      delay_ms: 60,
      text: [
        "It is about orreries, ",
        "machines that show the planets ",
        "and can be turned back. ",
        "The tool says: {{result wordcount}} words.",
      ],
    },
  ],
};

/** The calls that must work. */
const SHOWN = ["read_file", "wordcount"];

export async function demo(shell: Shell, _flags: NoFlags): Promise<Ending> {
  const workspace = await layOut().catch((error: unknown) => {
    const reason = error instanceof Error ? error.message : String(error);
    shell.err.write(`orrery: Cannot make a folder for the demo in "${tmpdir()}" (${reason}): set TMPDIR to one that you may write to\n`);
  });
  if (workspace === undefined) return "failed";
  const model = `script:${join(workspace, "script.json")}`;
  let began = false;
  const interruption = listenForInterruption(shell);
  try {
    const options = { workspace, model, trustWorkspace: true, now: interruption.now };
    return await withAgent(shell, options, async (agent) => {
      // Where no session can be kept nothing is shown but that.
      await agent.probe();
      began = true;
      announce(shell.err, workspace);
      const { stop, now } = interruption;
      let session = "";
      const presenter = { ...createPresenter(shell, "text", false), begin: ({ id }: Session) => void (session = id) };
      const result = await promptNew(shell, agent, PROMPT, presenter, { title: "Demo", stop, now });
      shell.err.write(fold(whatNext(workspace, model, session), shell.err.columns));
      const ending = endingOf(result, interruption);
      return ending === "completed" ? judge(shell.err, result) : ending;
    });
  } finally {
    interruption.close();
    if (!began) await rm(workspace, { recursive: true, force: true });
  }
}

/** The turn goes on after a call that failed, as any does. The demo is there to show that calls work. */
function judge({ write, columns }: Out, { calls }: TurnResult): Ending {
  const worked = calls.filter(({ is_error }) => !is_error).map(({ name }) => name);
  const failed = SHOWN.filter((name) => !worked.includes(name));
  if (failed.length === 0) return "completed";
  const remedy = `what it printed of that says why, and ${ownName()} doctor looks at what calls need`;
  write(`${fold(`orrery: The demo did not work, as ${failed.join(" and ")} failed: ${remedy}`, columns)}\n`);
  return "failed";
}

function announce({ write, columns, colors: { dim, bold } }: Out, workspace: string): void {
  const tell = (text: string) => write(`${fold(text, columns)}\n`);
  tell(dim(`workspace ${workspace}: a text, a tool (.stella/tools/wordcount.toml) and the model's script`));
  tell(bold(`> ${PROMPT}`));
}

function whatNext(workspace: string, model: string, session: string): string {
  const command = ownName();
  const [folder, script] = [workspace, model].map(shellWord);
  return `
Every step is in the journal:
  ${command} sessions list
  ${command} sessions show ${session}
  ${command} sessions events ${session}
Play it again, or change the script first:
  ${command} run --workspace ${folder} --trust-workspace --model ${script} "${PROMPT}"
`;
}

async function layOut(): Promise<string> {
  const workspace = await mkdtemp(join(tmpdir(), "orrery-demo-"));
  const manifest: string = wordcountManifest;
  const files = {
    "notes.txt": NOTES,
    "script.json": `${JSON.stringify(SCRIPT, null, 2)}\n`,
    ".stella/tools/wordcount.toml": manifest,
    "scripts/wordcount.sh": wordcountScript,
  };
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(join(workspace, path)), { recursive: true });
    await writeFile(join(workspace, path), text);
  }
  await chmod(join(workspace, "scripts/wordcount.sh"), 0o755);
  return workspace;
}

/** How the person who started us can do so again, from here. */
function ownName(): string {
  if (!isCompiled) return ownCommand().map(fromHere).map(shellWord).join(" ");
  const name = calledName();
  const onPath = (process.env["PATH"] ?? "").split(":").map((folder) => join(folder, name)).find((path) => existsSync(path));
  return onPath !== undefined && realPath(onPath) === realPath(process.execPath) ? name : shellWord(fromHere(process.execPath));
}

function shellWord(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}

/** The shorter way to say a file's path; anything else as it is. */
function fromHere(word: string): string {
  if (!isAbsolute(word)) return word;
  const path = relative(process.cwd(), word);
  return path.startsWith("..") ? word : path.includes("/") ? path : `./${path}`;
}
