/** Completions for zsh: a file for a folder of its `fpath`, or to be sourced after `compinit`. */
import { everyCommand, type Option, type Reference, type Value } from "../reference.ts";
import { SESSIONS, TOOLS } from "./values.ts";

export function zshCompletions(root: Reference): string {
  return `#compdef orrery
# Completions of orrery for zsh.
__orrery_session_ids() { local -a found; found=(\${(f)"$(${SESSIONS})"}); compadd -a found }
__orrery_tool_names() { local -a found; found=(\${(f)"$(${TOOLS})"}); compadd -a found }

${everyCommand(root).map(toFunction).join("\n\n")}

if [[ $funcstack[1] == _orrery ]]; then _orrery "$@"; else compdef _orrery orrery; fi
`;
}

function toFunction({ path, options, operands, commands }: Reference): string {
  const given = [...options.map(toSpec), "'(- *)'{-h,--help}'[Print help]'"];
  if (commands.length === 0) {
    const specs = [
      ...given,
      ...operands.map(({ value, brief, isOptional }) => `':${isOptional ? ":" : ""}${escape(brief)}:${action(value)}'`),
    ];
    return `${functionName(path)}() {\n  _arguments -s \\\n    ${specs.join(" \\\n    ")}\n}`;
  }
  const names = commands.map((each) => `    '${each.path.slice(path.length + 1)}:${escape(each.brief)}'`);
  const cases = commands.map((each) => `    ${each.path.slice(path.length + 1)}) ${functionName(each.path)} ;;`);
  return `${functionName(path)}() {
  local curcontext=$curcontext state line
  local -a commands
  commands=(
${names.join("\n")}
  )
  _arguments -C \\
    ${given.join(" \\\n    ")} \\
    '1:command:->command' '*::argument:->rest' && return
  case $state in
    command) _describe command commands; return ;;
  esac
  case $line[1] in
${cases.join("\n")}
  esac
}`;
}

function toSpec({ name, letter, brief, value, isRepeatable }: Option): string {
  const once = isRepeatable ? "*" : letter === undefined ? "" : `(${name} ${letter})`;
  const takes = value === undefined ? "" : `:${escape(value.placeholder)}:${action(value)}`;
  const says = `[${escape(brief)}]${takes}`;
  return letter === undefined
    ? `'${once}${name}${value === undefined ? "" : "="}${says}'`
    : `'${once}'{${letter},${name}${value === undefined ? "" : "="}}'${says}'`;
}

function action({ kind }: Value): string {
  if (typeof kind === "object") return `(${kind.words.join(" ")})`;
  switch (kind) {
    case "folder":
      return "_files -/";
    case "file":
      return "_files";
    case "session":
      return "__orrery_session_ids";
    case "tool":
      return "__orrery_tool_names";
    case "text":
      return " ";
  }
}

function functionName(path: string): string {
  return `_${path.replaceAll(" ", "_")}`;
}

/** Within single quotes, where _arguments itself gives a meaning to brackets and colons. */
function escape(text: string): string {
  return text.replace(/[[\]:\\]/g, "\\$&").replaceAll("'", "'\\''");
}
