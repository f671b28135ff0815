/** Completions for zsh: a file for a folder of its `fpath`, or to be sourced after `compinit`. */
import { everyCommand, type Option, type Reference, type Value } from "../reference.ts";
import { functionPrefix, namesOf } from "./values.ts";

export function zshCompletions(root: Reference): string {
  const program = root.path;
  const it = functionPrefix(root);
  return `#compdef ${program}
# Completions of ${program} for zsh.
_${it}_session_ids() { local -a found; found=(\${(f)"$(${namesOf("sessions", root)})"}); compadd -V sessions -a found }
_${it}_tool_names() { local -a found; found=(\${(f)"$(${namesOf("tools", root)})"}); compadd -a found }

${everyCommand(root).map((each) => toFunction(it, each)).join("\n\n")}

if [[ $funcstack[1] == ${it} ]]; then ${it} "$@"; else compdef ${it} ${program}; fi
`;
}

function toFunction(it: string, { path, options, operands, commands }: Reference): string {
  const given = [...options.map((option) => toSpec(it, option)), "'(- *)'{-h,--help}'[Print help]'"];
  if (commands.length === 0) {
    const specs = [
      ...given,
      ...operands.map(({ value, brief, isOptional }) => `':${isOptional ? ":" : ""}${escape(brief)}:${action(it, value)}'`),
    ];
    return `${functionName(it, path)}() {\n  _arguments -s \\\n    ${specs.join(" \\\n    ")}\n}`;
  }
  const names = commands.map((each) => `    '${each.path.slice(path.length + 1)}:${escape(each.brief)}'`);
  const cases = commands.map((each) => `    ${each.path.slice(path.length + 1)}) ${functionName(it, each.path)} ;;`);
  return `${functionName(it, path)}() {
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

function toSpec(it: string, { name, letter, brief, value, isRepeatable }: Option): string {
  const once = isRepeatable ? "*" : letter === undefined ? "" : `(${name} ${letter})`;
  const takes = value === undefined ? "" : `:${escape(value.placeholder)}:${action(it, value)}`;
  const says = `[${escape(brief)}]${takes}`;
  return letter === undefined
    ? `'${once}${name}${value === undefined ? "" : "="}${says}'`
    : `'${once}'{${letter},${name}${value === undefined ? "" : "="}}'${says}'`;
}

function action(it: string, { kind }: Value): string {
  if (typeof kind === "object") return `(${kind.words.join(" ")})`;
  switch (kind) {
    case "folder":
      return "_files -/";
    case "file":
      return "_files";
    case "session":
      return `_${it}_session_ids`;
    case "tool":
      return `_${it}_tool_names`;
    case "text":
      return " ";
  }
}

function functionName(it: string, path: string): string {
  return [it, ...path.split(" ").slice(1)].join("_");
}

/** Within single quotes, where _arguments itself gives a meaning to brackets and colons. */
function escape(text: string): string {
  return text.replace(/[[\]:\\]/g, "\\$&").replaceAll("'", "'\\''");
}
