/** Where completions get the names from that only the machine knows: one a line, and nothing is started for them. */
export const NAMES_ARGUMENT = "__names";
export const SESSIONS = `orrery ${NAMES_ARGUMENT} sessions 2>/dev/null`;
export const TOOLS = `orrery ${NAMES_ARGUMENT} tools 2>/dev/null`;
