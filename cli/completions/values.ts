/** Where completions get the names from that only the machine knows. The commands start nothing of a workspace. */
export const SESSIONS =
  `orrery sessions list --json --limit 50 2>/dev/null | tr ',{' '\\n\\n' | sed -n 's/^"session":"\\([^"]*\\)".*/\\1/p'`;
export const TOOLS = `orrery tools --json 2>/dev/null | tr ',{' '\\n\\n' | sed -n 's/^"name":"\\([A-Za-z0-9_-]*\\)".*/\\1/p'`;
