import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { buildDate } from "../../lib/platform/version.ts";
import { nearest, UsageError } from "../../mod.ts";
import type { Ending } from "../ending.ts";
import type { ManFlags } from "../flags.ts";
import { type ManualPage, manualPages } from "../manual.ts";
import { readReference } from "../reference.ts";
import type { Shell } from "../terminal.ts";

export async function man({ out, err, env }: Shell, { output }: ManFlags, wanted?: string): Promise<Ending> {
  const pages = manualPages(readReference(), buildDate(env));
  const page = wanted === undefined ? null : pageOf(pages, wanted);
  if (output !== undefined) return await writePages(err, output, page === null ? pages : [page]);
  out.write((page ?? pageOf(pages, "orrery")).text);
  return "completed";
}

/** @throws {UsageError} */
function pageOf(pages: readonly ManualPage[], wanted: string): ManualPage {
  const name = wanted.startsWith("orrery") ? wanted : `orrery-${wanted}`;
  const page = pages.find((each) => each.name === name);
  if (page !== undefined) return page;
  const names = pages.map((each) => each.name);
  const near = nearest(name, names);
  throw new UsageError(
    `Cannot show page "${wanted}" as there is none${near === null ? `: there are ${names.join(", ")}` : `: is it ${near}?`}`,
  );
}

async function writePages(err: Shell["err"], folder: string, pages: readonly ManualPage[]): Promise<Ending> {
  try {
    await mkdir(folder, { recursive: true });
    for (const { name, text } of pages) await writeFile(join(folder, `${name}.1`), text);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    err.write(`orrery: Cannot write pages to "${folder}" (${reason}): name a folder that you may write to\n`);
    return "failed";
  }
  err.write(`Wrote ${pages.length === 1 ? "1 page" : `${pages.length} pages`} to ${folder}\n`);
  return "completed";
}
