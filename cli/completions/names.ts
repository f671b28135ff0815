/** The names that completions ask for. Bash expands what it is given: nothing but names comes through. */
import process from "node:process";
import { nameTools, openAgent } from "../../mod.ts";

export async function printNames(kind: string): Promise<void> {
  const names = kind === "tools" ? await nameTools() : kind === "sessions" ? await nameSessions() : [];
  const lines = names.filter((name) => /^[\w-]+$/.test(name)).map((name) => `${name}\n`);
  await new Promise<void>((written) => void process.stdout.write(lines.join(""), () => written()));
}

const MOST_SESSIONS = 50;

async function nameSessions(): Promise<readonly string[]> {
  const agent = openAgent();
  try {
    return (await agent.list(MOST_SESSIONS)).map(({ session }) => session);
  } finally {
    await agent.close();
  }
}
