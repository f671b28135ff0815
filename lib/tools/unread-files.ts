/** What is said of files whose tools nobody knows, to whoever looks for a tool that is not there. */
import { clip } from "./report.ts";
import type { Listing } from "./toolbox.ts";

const MOST_FILES = 5;
const MOST_OF_A_REASON = 300;

/** A sentence; null if every file's tools are known. */
export function describeUnread(listings: readonly Listing[]): string | null {
  const files = listings.filter(({ name }) => name === null);
  if (files.length === 0) return null;
  const byReason = Map.groupBy(files.slice(0, MOST_FILES), ({ reason = "it could not be read" }) => reason);
  const shown = [...byReason].map(([reason, several]) => {
    const paths = several.map(({ origin }) => origin.path ?? origin.system).join(", ");
    return `${paths} (${clip(reason.replace(/\.$/, ""), MOST_OF_A_REASON)})`;
  });
  const more = files.length > MOST_FILES ? `; and of ${files.length - MOST_FILES} more` : "";
  return `It may be one of those that are not known, of ${shown.join("; of ")}${more}.`;
}
