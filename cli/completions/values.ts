/**
 * Where completions get the names from that only the machine knows. Bash expands what it is given: nothing but
 * names comes through.
 */
export const SESSIONS =
  `orrery sessions list --json --limit 50 2>/dev/null | tr ',{' '\\n\\n' | sed -n 's/^"session":"\\([A-Za-z0-9_-]*\\)".*/\\1/p'`;
export const TOOLS = `orrery tools --json 2>/dev/null | tr ',{' '\\n\\n' | sed -n 's/^"name":"\\([A-Za-z0-9_-]*\\)".*/\\1/p'`;
