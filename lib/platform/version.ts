import manifest from "../../package.json" with { type: "json" };

// Stamped in by compile.sh; not defined when the program runs from source.
declare const ORRERY_VERSION: string | undefined;
declare const ORRERY_COMMIT: string | undefined;
declare const ORRERY_TARGET: string | undefined;
declare const ORRERY_EPOCH: string | undefined;

export const VERSION: string = typeof ORRERY_VERSION === "string" ? ORRERY_VERSION : manifest.version;
/** Short hash of the commit it was built from, `unknown` without one, `source` if it runs from source. */
export const COMMIT: string = typeof ORRERY_COMMIT === "string" ? ORRERY_COMMIT : "source";
/** What the executable was built for, as compile.sh names it; null from source. */
export const TARGET: string | null = typeof ORRERY_TARGET === "string" ? ORRERY_TARGET : null;

/** The day of the commit it was built from; from source today, or what SOURCE_DATE_EPOCH says. */
export function buildDate(env: Readonly<Record<string, string | undefined>>): string {
  const epoch = typeof ORRERY_EPOCH === "string" ? ORRERY_EPOCH : env["SOURCE_DATE_EPOCH"];
  return new Date(/^\d{1,11}$/.test(epoch ?? "") ? Number(epoch) * 1000 : Date.now()).toISOString().slice(0, 10);
}
