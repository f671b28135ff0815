import manifest from "../../package.json" with { type: "json" };

// Stamped in by compile.sh; not defined when the program runs from source.
declare const ORRERY_VERSION: string | undefined;
declare const ORRERY_COMMIT: string | undefined;
declare const ORRERY_TARGET: string | undefined;

export const VERSION: string = typeof ORRERY_VERSION === "string" ? ORRERY_VERSION : manifest.version;
/** Short hash of the commit it was built from, `unknown` without one, `source` if it runs from source. */
export const COMMIT: string = typeof ORRERY_COMMIT === "string" ? ORRERY_COMMIT : "source";
/** What the executable was built for, as compile.sh names it; null from source. */
export const TARGET: string | null = typeof ORRERY_TARGET === "string" ? ORRERY_TARGET : null;
