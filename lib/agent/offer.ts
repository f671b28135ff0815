/** Which tools a session offers its model: those that can run in its mode, asked about or not. */
import { leaveOf } from "../gate/mode.ts";
import type { OfferedTool } from "../session/event.ts";
import type { Mode } from "../session/outcome.ts";
import type { Listing, Status, Toolbox } from "../tools/toolbox.ts";
import type { Tool } from "../tools/tool.ts";

/** A row of the listing as a mode shows it. */
export type ShownListing = Omit<Listing, "status"> & { readonly status: Status | "hidden" };

function isShown({ approval, read_only }: Pick<Tool, "approval" | "read_only">, mode: Mode): boolean {
  return leaveOf(mode, approval, read_only) !== "refuse";
}

/** For the log: what the model is told of. */
export function offeredIn(mode: Mode, { offered, recorded }: Toolbox): OfferedTool[] {
  const shown = new Set(offered.filter((tool) => isShown(tool, mode)).map(({ name }) => name));
  return recorded().filter(({ name }) => shown.has(name));
}

export function listingsIn(mode: Mode, { listings }: Toolbox): readonly ShownListing[] {
  return listings.map((listing) =>
    listing.status !== "offered" || isShown(listing, mode)
      ? listing
      : { ...listing, status: "hidden", reason: `not available in mode ${mode}` }
  );
}
