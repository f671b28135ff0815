/** Commands that run the one that stands behind their own options and operands: `timeout 5 grep …`, `uv run python …`. */

interface Wrapper {
  /** The options whose value is the next word. */
  readonly valued: RegExp | null;
  /** Its own operands before the command. */
  readonly operands: number;
  /** The operand that makes it one. */
  readonly only: RegExp | null;
  /** The options whose value is a command, as a word may begin with them. */
  readonly text: RegExp | null;
}

/** How far the words of such a command were read. Plain data, as it is part of a reader's state. */
export interface WrapperReading {
  readonly name: string;
  operands: number;
  skip: boolean;
  ended: boolean;
}

function wrapper(valued: RegExp | null = null, { operands = 0, only = null, text = null }: Partial<Omit<Wrapper, "valued">> = {}): Wrapper {
  return { valued, operands, only, text };
}

const RUN = wrapper(/^(?:-p|--(?:python|with|package|project|directory|extra|group|env-file|name))$/, { only: /^run$/ });
const EXEC = wrapper(null, { only: /^exec$/, text: /^(?:-c|--call)(?:=|$)/ });
const FETCH = wrapper(/^(?:-p|--(?:package|with|from|python))$/, { text: /^(?:-c|--call)(?:=|$)/ });

const WRAPPERS: Readonly<Record<string, Wrapper>> = {
  env: wrapper(/^-[0iv]*[uC]$|^--(?:unset|chdir)$/, { text: /^(?:-[0iv]*S|--split-string(?:=|$))/ }),
  sudo: wrapper(/^-[A-Za-z]*[ugCpRTDhrtU]$|^--(?:user|group|chdir|chroot|host|prompt|role|type|close-from|command-timeout|other-user)$/),
  doas: wrapper(/^-[uC]$/),
  pkexec: wrapper(/^--user$/),
  exec: wrapper(/^-[cl]*a$/),
  nice: wrapper(/^(?:-n|--adjustment)$/),
  ionice: wrapper(/^(?:-[cn]|--class|--classdata)$/),
  chrt: wrapper(/^-[TPD]$/, { operands: 1 }),
  taskset: wrapper(null, { operands: 1 }),
  nohup: wrapper(),
  setsid: wrapper(),
  stdbuf: wrapper(/^(?:-[ioe]|--(?:input|output|error))$/),
  time: wrapper(/^(?:-[fo]|--(?:format|output))$/),
  timeout: wrapper(/^(?:-[ks]|--(?:kill-after|signal))$/, { operands: 1 }),
  xargs: wrapper(/^-[0rtpox]*[nsPdaELI]$|^--(?:max-args|max-procs|max-chars|max-lines|delimiter|arg-file|process-slot-var)$/),
  unshare: wrapper(/^-[RSGw]$/),
  nsenter: wrapper(/^-[tSG]$/),
  chroot: wrapper(null, { operands: 1 }),
  flock: wrapper(/^(?:-[wE]|--(?:wait|timeout|conflict-exit-code))$/, { operands: 1 }),
  "systemd-run": wrapper(/^(?:-[puHMEt]|--(?:property|unit|description|slice|setenv|host|machine|uid|gid|working-directory|on-calendar))$/),
  strace: wrapper(/^-[A-Za-z]*[aeEIoOpPsSuX]$/),
  ltrace: wrapper(/^-[A-Za-z]*[aAeFlnopsuwx]$/),
  busybox: wrapper(),
  npx: FETCH,
  bunx: FETCH,
  uvx: FETCH,
  uv: RUN,
  poetry: RUN,
  pipenv: RUN,
  pdm: RUN,
  hatch: RUN,
  rye: RUN,
  conda: RUN,
  npm: EXEC,
  pnpm: EXEC,
  yarn: EXEC,
  bundle: EXEC,
};

export function isWrapper(name: string): boolean {
  return Object.hasOwn(WRAPPERS, name);
}

/** @param name a word without its folder that names a command. */
export function beginWrapper(name: string): WrapperReading | null {
  return isWrapper(name) ? { name, operands: 0, skip: false, ended: false } : null;
}

/** Whether the word that begins like this names the command that is run. */
export function isPassed(reading: WrapperReading, plain: string): boolean {
  const found = WRAPPERS[reading.name];
  if (found === undefined || reading.skip || isOwn(reading, plain)) return false;
  return found.only === null ? reading.operands === found.operands : reading.operands > 0;
}

/** Whether the word that begins like this is, or has, a command in the value of an option. */
export function isCommandText({ name, ended }: WrapperReading, plain: string, previous: string): boolean {
  const text = WRAPPERS[name]?.text ?? null;
  if (text === null || ended) return false;
  return text.test(plain) || (text.exec(previous)?.[0] === previous && !previous.endsWith("="));
}

/** What a complete word says about those to come; null once the command is named. */
export function nextWrapped(reading: WrapperReading, plain: string): WrapperReading | null {
  const found = WRAPPERS[reading.name];
  if (found === undefined) return null;
  if (reading.skip) return { ...reading, skip: false };
  if (plain === "--" && !reading.ended) return { ...reading, ended: true };
  if (isOwn(reading, plain)) return { ...reading, skip: !reading.ended && found.valued?.test(plain) === true };
  const names = isPassed(reading, plain) || (found.only !== null && !found.only.test(plain));
  return names ? null : { ...reading, operands: reading.operands + 1 };
}

/** An option, or a variable for the command. */
function isOwn({ ended }: WrapperReading, plain: string): boolean {
  return (/^-/.test(plain) && !ended) || /^[A-Za-z_]\w*=/.test(plain);
}
