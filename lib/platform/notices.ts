// Stamped in by compile.sh, which knows what the executable is made of; not defined when the program runs from source.
declare const ORRERY_NOTICES: string | undefined;

/** The licences of what is not ours in the executable; null from source, where nothing is in anything. */
export const NOTICES: string | null = typeof ORRERY_NOTICES === "string" ? ORRERY_NOTICES : null;
