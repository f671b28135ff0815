/** Completions for bash, from 3.2 (macOS) on, without the package bash-completion. */
import { everyCommand, type Option, type Reference, type Value } from "../reference.ts";
import { SESSIONS, TOOLS } from "./values.ts";

export function bashCompletions(root: Reference): string {
  const all = everyCommand(root);
  return `# Completions of orrery for bash.
_orrery_sessions() { ${SESSIONS}; }
_orrery_tools() { ${TOOLS}; }

# _orrery_value PATH OPTION: completes the value of an option, fails if it takes none.
_orrery_value() {
  case "$1 $2" in
${all.flatMap(({ path, options }) => options.flatMap((option) => valueCase(path, option))).join("\n")}
    *) return 1 ;;
  esac
}

_orrery_word() {
  case "$1" in
${all.map(wordCase).join("\n")}
  esac
}

_orrery_words() { COMPREPLY+=($(compgen -W "$1" -- "$cur")); }
_orrery_folders() { compopt -o filenames 2>/dev/null; local IFS=$'\\n'; COMPREPLY+=($(compgen -d -- "$cur")); }
_orrery_files() { compopt -o filenames 2>/dev/null; local IFS=$'\\n'; COMPREPLY+=($(compgen -f -- "$cur")); }

_orrery() {
  local cur=\${COMP_WORDS[COMP_CWORD]} previous=\${COMP_WORDS[COMP_CWORD-1]} path=orrery index
  COMPREPLY=()
  # In "--mode=plan" the sign is a word of its own.
  if [[ $cur == = ]]; then cur= ; elif [[ $previous == = ]]; then previous=\${COMP_WORDS[COMP_CWORD-2]}; fi
  for ((index = 1; index < COMP_CWORD; index++)); do
    case " $path \${COMP_WORDS[index]} " in
${all.slice(1).map(({ path }) => `      " ${path} ") path="${path}" ;;`).join("\n")}
    esac
  done
  if [[ $previous == -* ]] && _orrery_value "$path" "$previous"; then return; fi
  _orrery_word "$path"
}

complete -F _orrery orrery
`;
}

function valueCase(path: string, { name, letter, value }: Option): readonly string[] {
  if (value === undefined) return [];
  const names = [name, ...(letter === undefined ? [] : [letter])].map((each) => `"${path} ${each}"`).join(" | ");
  return [`    ${names}) ${complete(value)} ;;`];
}

function wordCase({ path, options, operands, commands }: Reference): string {
  const words = [
    ...commands.map((command) => command.path.slice(path.length + 1)),
    ...options.flatMap(({ name, letter }) => letter === undefined ? [name] : [name, letter]),
    "--help",
  ];
  const operand = operands.map(({ value }) => `; ${complete(value)}`).join("");
  return `    "${path}") _orrery_words "${words.join(" ")}"${operand} ;;`;
}

function complete({ kind }: Value): string {
  if (typeof kind === "object") return `_orrery_words "${kind.words.join(" ")}"`;
  switch (kind) {
    case "folder":
      return "_orrery_folders";
    case "file":
      return "_orrery_files";
    case "session":
      return '_orrery_words "$(_orrery_sessions)"';
    case "tool":
      return '_orrery_words "$(_orrery_tools)"';
    case "text":
      return ":";
  }
}
