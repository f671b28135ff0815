/** The environment of a tool's shell, and `${VAR}` in what the file says of it. */

/** They would turn a child that runs Bun into something else. */
const HOST_SWITCHES = ["BUN_OPTIONS", "BUN_BE_BUN"];
/** They would run a file before the script, or change how the shell reads it. */
const SHELL_SWITCHES = ["BASH_ENV", "ENV", "SHELLOPTS", "BASHOPTS"];
const DROPPED = new Set([...HOST_SWITCHES, ...SHELL_SWITCHES]);

export type Environment = Readonly<Record<string, string>>;

/** Whether no script inherits a variable of that name, whatever the settings allow. */
export function isDropped(name: string): boolean {
  return DROPPED.has(name);
}

/** What a script inherits, and so what `${VAR}` expands from. */
export function inheritedBy(env: Environment): Environment {
  return Object.fromEntries(Object.entries(env).filter(([name]) => !isDropped(name)));
}

/** What is inherited, then the tool's own, whose entries do not see each other. */
export function composeEnvironment(given: Environment, own: Environment): Environment {
  const inherited = inheritedBy(given);
  return { ...inherited, ...expandAll(own, inherited) };
}

export function expandAll(own: Environment, env: Environment): Environment {
  return Object.fromEntries(Object.entries(own).map(([name, value]) => [name, expandVariables(value, env)]));
}

/**
 * `${VAR}` and `${VAR:-text}`, where the text counts when VAR is not set or empty, as in a shell. Everything else stays,
 * `$VAR` too, and what was put in is not looked at again.
 */
export function expandVariables(text: string, env: Environment): string {
  return text.replaceAll(/\$\{([A-Za-z_]\w*)(?::-([^}]*))?\}/g, (_all, name: string, fallback: string | undefined) => {
    const value = Object.hasOwn(env, name) ? env[name] ?? "" : "";
    return value === "" ? fallback ?? "" : value;
  });
}
