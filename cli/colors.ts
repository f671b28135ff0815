/**
 * The few colours we use. Not `picocolors`: it reads `process.stdout` when it is loaded, and on Bun 1.4.5 that takes
 * 2.8 ms, a third of the way of `orrery run` to its first request.
 */
export interface Colors {
  readonly enabled: boolean;
  readonly bold: Paint;
  readonly dim: Paint;
  readonly red: Paint;
  readonly yellow: Paint;
}
type Paint = (text: string) => string;

export function createColors(enabled: boolean): Colors {
  const paint = (open: number, close: number): Paint => enabled ? (text) => `\x1b[${open}m${text}\x1b[${close}m` : (text) => text;
  return { enabled, bold: paint(1, 22), dim: paint(2, 22), red: paint(31, 39), yellow: paint(33, 39) };
}

/** NO_COLOR says no, FORCE_COLOR says yes, else a terminal that is not dumb. */
export function wantsColor(isTerminal: boolean, env: Readonly<Record<string, string | undefined>>): boolean {
  if (env["NO_COLOR"]) return false;
  if (env["FORCE_COLOR"]) return env["FORCE_COLOR"] !== "0";
  return isTerminal && !isDumb(env);
}

/** A terminal of which nothing is known is taken for one that shows text and nothing else. */
export function isDumb({ TERM = "" }: Readonly<Record<string, string | undefined>>): boolean {
  return TERM === "" || TERM === "dumb";
}
