/** Completions for bash, from 3.2 (macOS) on, without the package bash-completion. */
import { everyCommand, type Option, type Reference, type Value } from "../reference.ts";
import { functionPrefix, namesOf } from "./values.ts";

export function bashCompletions(root: Reference): string {
  const all = everyCommand(root);
  const program = root.path;
  const it = functionPrefix(root);
  return `# Completions of ${program} for bash.
${it}_sessions() { ${namesOf("sessions", root)}; }
${it}_tools() { ${namesOf("tools", root)}; }

# ${it}_value PATH OPTION: completes the value of an option, fails if it takes none.
${it}_value() {
  case "$1 $2" in
${all.flatMap(({ path, options }) => options.flatMap((option) => valueCase(it, path, option))).join("\n")}
    *) return 1 ;;
  esac
}

${it}_word() {
  case "$1" in
${all.map((each) => wordCase(it, each)).join("\n")}
  esac
}

${it}_words() { COMPREPLY+=($(compgen -W "$1" -- "$cur")); }
${it}_folders() { compopt -o filenames 2>/dev/null; local IFS=$'\\n'; COMPREPLY+=($(compgen -d -- "$cur")); }
${it}_files() { compopt -o filenames 2>/dev/null; local IFS=$'\\n'; COMPREPLY+=($(compgen -f -- "$cur")); }

${it}() {
  local cur=\${COMP_WORDS[COMP_CWORD]} previous=\${COMP_WORDS[COMP_CWORD-1]} path=${program} index
  COMPREPLY=()
  # In "--mode=plan" the sign is a word of its own.
  if [[ $cur == = ]]; then cur= ; elif [[ $previous == = ]]; then previous=\${COMP_WORDS[COMP_CWORD-2]}; fi
  for ((index = 1; index < COMP_CWORD; index++)); do
    case " $path \${COMP_WORDS[index]} " in
${all.slice(1).map(({ path }) => `      " ${path} ") path="${path}" ;;`).join("\n")}
    esac
  done
  if [[ $previous == -* ]] && ${it}_value "$path" "$previous"; then return; fi
  ${it}_word "$path"
}

complete -F ${it} ${program}
`;
}

function valueCase(it: string, path: string, { name, letter, value }: Option): readonly string[] {
  if (value === undefined) return [];
  const names = [name, ...(letter === undefined ? [] : [letter])].map((each) => `"${path} ${each}"`).join(" | ");
  return [`    ${names}) ${complete(it, value)} ;;`];
}

function wordCase(it: string, { path, options, operands, commands }: Reference): string {
  const words = [
    ...commands.map((command) => command.path.slice(path.length + 1)),
    ...options.flatMap(({ name, letter }) => letter === undefined ? [name] : [name, letter]),
    "--help",
  ];
  const operand = operands.map(({ value }) => `; ${complete(it, value)}`).join("");
  return `    "${path}") ${it}_words "${words.join(" ")}"${operand} ;;`;
}

function complete(it: string, { kind }: Value): string {
  if (typeof kind === "object") return `${it}_words "${kind.words.join(" ")}"`;
  switch (kind) {
    case "folder":
      return `${it}_folders`;
    case "file":
      return `${it}_files`;
    case "session":
      return `compopt -o nosort 2>/dev/null; ${it}_words "$(${it}_sessions)"`;
    case "tool":
      return `${it}_words "$(${it}_tools)"`;
    case "text":
      return ":";
  }
}
