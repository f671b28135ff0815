/** What is said of files whose tools nobody knows, to whoever looks for a tool that is not there. */
import { clip } from "./report.ts";
import type { Listing } from "./toolbox.ts";

const MOST_FILES = 5;
const MOST_OF_A_REASON = 200;

/** Lines; null if every file's tools are known. */
export function describeUnread(listings: readonly Listing[]): string | null {
  const files = listings.filter(({ name }) => name === null);
  if (files.length === 0) return null;
  const byReason = Map.groupBy(files.slice(0, MOST_FILES), shortReason);
  const shown = [...byReason].map(([reason, several]) =>
    `- ${several.map(({ origin }) => origin.path ?? origin.system).join(", ")}: ${reason}`
  );
  const more = files.length > MOST_FILES ? [`- and ${files.length - MOST_FILES} more`] : [];
  return ["It may be in a file whose tools are not known:", ...shown, ...more].join("\n");
}

/** Of a broken one the first sentence: checking the files says all there is to say of them. */
function shortReason({ status, reason = "it could not be read" }: Listing): string {
  const [first = reason] = reason.split(status === "broken" ? /[.!?](?:\s|$)|\n/ : /\n/, 1);
  return clip(first.replace(/\.$/, ""), MOST_OF_A_REASON);
}
