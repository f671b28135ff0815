import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { buildDate } from "../../lib/platform/version.ts";
import { nearest, UsageError } from "../../mod.ts";
import type { Ending } from "../ending.ts";
import type { ManFlags } from "../flags.ts";
import { manualPages } from "../manual.ts";
import { readReference } from "../reference.ts";
import type { Shell } from "../terminal.ts";

export async function man({ out, err, env }: Shell, { output }: ManFlags, wanted = "orrery"): Promise<Ending> {
  const pages = manualPages(readReference(), buildDate(env));
  if (output !== undefined) {
    try {
      await mkdir(output, { recursive: true });
      for (const { name, text } of pages) await writeFile(join(output, `${name}.1`), text);
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      err.write(`orrery: Cannot write pages to "${output}" (${reason}): name a folder that you may write to\n`);
      return "failed";
    }
    err.write(`Wrote ${pages.length} pages to ${output}\n`);
    return "completed";
  }
  const name = wanted.startsWith("orrery") ? wanted : `orrery-${wanted}`;
  const page = pages.find((each) => each.name === name);
  if (page === undefined) {
    const names = pages.map((each) => each.name);
    const near = nearest(name, names);
    throw new UsageError(
      `Cannot show page "${wanted}" as there is none${near === null ? `: there are ${names.join(", ")}` : `: is it ${near}?`}`,
    );
  }
  out.write(page.text);
  return "completed";
}
