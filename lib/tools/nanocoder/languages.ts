/** Programs that read words, or their input, as a program in a language of their own, and what such a program may run. */

export interface Language {
  /** The options whose value is a program, as a word may begin with them; a long one with its `=`. */
  readonly option: RegExp | null;
  /** Which operand is a program; 0 for none. */
  readonly operand: number;
  /** Words that are programs wherever they stand, as they begin. */
  readonly word: RegExp | null;
  /** It takes its input for a program unless there is another. */
  readonly input: boolean;
  /** What follows a program: options still, arguments whatever they look like, or operands that are never a program. */
  readonly rest: "options" | "arguments" | "operands";
  /** The program is read from a file that is named behind it. */
  readonly file: RegExp | null;
  /** The first operand and a word after which the next one is a program. */
  readonly announces: RegExp | null;
  /** Options with a value, and with two. */
  readonly valued: RegExp | null;
  readonly paired: RegExp | null;
  /** What a program has that runs something of what it is given; null: nothing can. */
  readonly runs: RegExp | null;
  /** What makes it run its arguments, though not its input. */
  readonly opens: RegExp | null;
  /** It takes its environment for part of the program. */
  readonly inherits: boolean;
  readonly remedy: string;
}

const ENVIRONMENT = "Pass it in the environment: x={{ name }} awk '… ENVIRON[\"x\"] …'";

/** What it says may run anything, by way of an option or a line of its own. */
const COMMANDS = "What it reads may run programs: allow only plain characters with a pattern, such as '^[A-Za-z0-9._-]*$'.";

const PYTHON = language({
  option: /^-[bBdEiIOPqsSuvx]*c/,
  input: true,
  rest: "arguments",
  file: /^-[bBdEiIOPqsSuvx]*m/,
  valued: /^-[WX]$/,
  runs:
    /\b(?:eval|exec\w*|(?<!re\.)compile|system|popen\w*|subprocess|spawn\w*|pickle|marshal|yaml\.(?!safe)|__import__|import_module|getattr|runpy|pty)\b/,
  remedy: "python3 -c '… sys.argv[1] …' {{ name }}",
});
const PERL = language({
  option: /^-[aclnpstTuUwWX0-7]*[eE]/,
  input: true,
  valued: /^-I$/,
  runs: /`|\b(?:eval|system|exec|open|qx|readpipe|glob|do\s*[$"'(]|require\s*[$"'(])|\/\w*e\w*\s*(?:[;}'"]|$)|\?\?\{/,
  // A file called `touch x |` is a command to it.
  opens: /<>|(?:^|\s)-[A-Za-z0-9]*[np]/,
  remedy: "perl -e '… $ARGV[0] …' -- {{ name }}",
});
const NODE = language({
  option: /^(?:-(?:pe|e|p)(?![\w-])|--(?:eval|print)(?:=|$))/,
  input: true,
  valued: /^(?:-[rC]|--require|--import|--loader|--conditions)$/,
  runs: /\beval\b|Function|child_process|\bexec\w*\b|spawn|\bvm\b|import\(|require\((?!["'])|setTimeout|setInterval/,
  remedy: "node -e '… process.argv[1] …' -- {{ name }}",
});
const AWK = language({
  option: /^(?:-e|--source(?:=|$))/,
  operand: 1,
  file: /^(?:-[fE]|--(?:file|exec)(?:=|$))/,
  valued: /^(?:-[vFilo]|--(?:assign|field-separator|include|load))$/,
  runs: /system|getline|(?<!\|)\|(?!\|)|@/,
  remedy: `${ENVIRONMENT}; -v would read backslashes in it.`,
});
const SED = language({
  option: /^(?:-[nErsuz]*e|--expression(?:=|$))/,
  operand: 1,
  file: /^(?:-[nErsuz]*f|--file(?:=|$))/,
  valued: /^(?:-l|--line-length)$/,
  // `s/…/…/e` and the command `e`.
  runs: /(?:^|[;{}\n\d$!/,'"|#])\s*[gpiImM0-9]*e[gpiImM0-9]*(?:[\s;}'"]|$)/,
  remedy: `sed takes no values. ${ENVIRONMENT}, or allow only characters that mean nothing to it, such as pattern: '^[A-Za-z0-9 _-]*$'.`,
});
const JQ = language({
  operand: 1,
  file: /^(?:-f|--from-file(?:=|$))/,
  valued: /^(?:-L|--indent)$/,
  paired: /^--(?:arg|argjson|slurpfile|rawfile)$/,
  remedy: "Pass it as an argument instead: jq --arg x {{ name }} '… $x …'",
});
const RUBY = language({
  option: /^-[alnpsvwW0-7]*e/,
  input: true,
  valued: /^-[Ir]$/,
  runs:
    /`|%x|\b(?:\w*eval|system|exec|spawn|(?<!File\.)open|popen\w*|(?:public_)?send|require\s*(?!["'\s])|IO|Kernel|Open3|Marshal|YAML)\b/,
  remedy: "ruby -e '… ARGV[0] …' -- {{ name }}",
});
const PHP = language({
  option: /^-[nq]*r/,
  input: true,
  valued: /^-[cd]$/,
  runs: /`|\b(?:eval|assert|system|\w*exec|passthru|popen|proc_open|include\w*|require\w*|call_user_func\w*|unserialize)\b/,
  remedy: "php -r '… $argv[1] …' -- {{ name }}",
});
/** Its variables are expanded when they are used, and a recipe is text for a shell. */
const MAKE = language({
  option: /^--eval(?:=|$)/,
  word: /^(?!-)/,
  rest: "operands",
  valued: /^-[CIof]$/,
  file: /^(?:-f|--(?:make)?file(?:=|$))/,
  inherits: true,
  remedy: "make expands $(…) in it: allow only plain characters with a pattern, such as '^[A-Za-z0-9._-]*$'.",
});

/** Those whose programs are told of, and not looked into: they may run anything that they are given, but for operands. */
function other(option: RegExp | null, more: Partial<Language> = {}): Language {
  return language({ option, runs: more.rest === "operands" ? null : /(?:)/, remedy: COMMANDS, ...more });
}

/** Also settings that say what to run. */
const GIT_ANNOUNCES =
  /^(?:bisect run|submodule foreach|(?:rebase|difftool) (?:-x|--exec|--extcmd)|filter-branch --[a-z]+-filter|config (?:alias|pager|filter|diff|merge|difftool|mergetool|credential|gpg|sequence|core|include)\.\S+)$/;

const OTHERS: Readonly<Record<string, Language>> = {
  make: MAKE,
  gmake: MAKE,
  psql: other(/^(?:-[^-]*c|--command(?:=|$))/, { input: true, rest: "operands", valued: /^-[dfhpUvLoFRTP]$/ }),
  mysql: other(/^(?:-e|--execute(?:=|$))/, { input: true, rest: "operands", valued: /^-[uhPD]$/ }),
  sqlite3: other(/^-cmd$/, { operand: 2, input: true, valued: /^-(?:init|separator|nullvalue|newline)$/, runs: null }),
  dc: other(/^(?:-e|--expression(?:=|$))/, { input: true, rest: "operands", valued: /^-f$/ }),
  ed: other(null, { input: true, rest: "operands" }),
  vim: other(/^(?:-[cS]|\+|--cmd$)/, { rest: "operands" }),
  ex: other(/^(?:-[cS]|\+|--cmd$)/, { input: true, rest: "operands" }),
  gdb: other(/^-{1,2}(?:ex|eval-command|iex)(?:=|$)/, { input: true, rest: "operands" }),
  m4: other(null, { input: true, rest: "operands", word: /^-D/ }),
  gnuplot: other(/^-e$/, { input: true }),
  lua: other(/^-e/, { input: true }),
  luajit: other(/^-e/, { input: true }),
  tclsh: other(null, { input: true }),
  expect: other(/^-c/, { input: true }),
  Rscript: other(/^-e$/, { input: true }),
  julia: other(/^(?:-[eE]|--(?:eval|print)(?:=|$))/, { input: true }),
  octave: other(/^--eval(?:=|$)/, { input: true }),
  elixir: other(/^(?:-e|--eval)$/),
  osascript: other(/^-e$/, { input: true }),
  pwsh: other(/^-{1,2}(?:c|command)$/i, { input: true }),
  fish: other(/^(?:-[A-Za-z]*c|--command(?:=|$))/, { input: true }),
  bun: other(/^(?:-[ep]|--(?:eval|print)(?:=|$))/),
  emacs: other(/^--?(?:eval|execute)(?:=|$)/, { rest: "operands" }),
  watch: other(null, { word: /^(?!-)/, rest: "operands", valued: /^-[n]$|^--interval$/ }),
  parallel: other(null, { word: /^(?!-)/, input: true, rest: "operands" }),
  at: other(null, { input: true, rest: "operands" }),
  batch: other(null, { input: true, rest: "operands" }),
  crontab: other(null, { input: true }),
  hyperfine: other(null, { word: /^(?!-)/, rest: "operands" }),
  tmux: other(null, { word: /^(?!-)/, rest: "operands", valued: /^-[tsncFxy]$/ }),
  deno: other(null, { operand: 2, runs: null }),
  git: other(/^-c$/, {
    word: /^--(?:upload-pack|receive-pack|exec|extcmd|open-files-in-pager)=|^-O/,
    announces: GIT_ANNOUNCES,
    valued: /^-C$/,
    runs: null,
  }),
  tar: other(/^(?:-I$|--(?:to-command|use-compress-program|checkpoint-action|rsh-command|info-script)(?:=|$))/, {
    rest: "operands",
  }),
  rsync: other(/^(?:-[A-Za-z]*e$|--(?:rsh|rsync-path)(?:=|$))/, { rest: "operands", runs: null }),
  rg: other(/^--(?:pre|hostname-bin)(?:=|$)/, { rest: "operands", runs: null }),
  sort: other(/^--compress-program(?:=|$)/, { rest: "operands", runs: null }),
  zip: other(/^(?:-TT$|--unzip-command(?:=|$))/, { rest: "operands", runs: null }),
  scp: other(/^-[So]/, { rest: "operands", runs: null }),
  sftp: other(/^-[So]/, { input: true, rest: "operands" }),
};

function language(
  {
    remedy,
    operand = 0,
    rest = "options",
    input = false,
    runs = null,
    opens = null,
    inherits = false,
    option = null,
    announces = null,
    word = null,
    file = null,
    valued = null,
    paired = null,
  }:
    & Pick<Language, "remedy">
    & Partial<Language>,
): Language {
  const told = /^[a-z0-9]+ -/.test(remedy) ? `Pass it as an argument instead: ${remedy}` : remedy;
  return { operand, rest, input, runs, opens, inherits, option, announces, word, file, valued, paired, remedy: told };
}

/** @param name without its folder. */
export function languageOf(name: string): Language | null {
  if (/^(?:python|pypy)[\d.]*$/.test(name)) return PYTHON;
  if (/^[gmn]?awk$/.test(name)) return AWK;
  if (/^g?sed$/.test(name)) return SED;
  if (/^(?:go)?jq$/.test(name)) return JQ;
  if (/^node(?:js)?$/.test(name)) return NODE;
  const same: Readonly<Record<string, string>> = {
    mariadb: "mysql",
    mycli: "mysql",
    vi: "vim",
    nvim: "vim",
    R: "Rscript",
    duckdb: "sqlite3",
  };
  const known = same[name] ?? name;
  if (known === "perl") return PERL;
  if (known === "ruby") return RUBY;
  if (known === "php") return PHP;
  return Object.hasOwn(OTHERS, known) ? OTHERS[known] ?? null : null;
}
