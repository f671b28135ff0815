/** Completions for fish, from 3.0 on. */
import { everyCommand, type Option, type Reference, type Value } from "../reference.ts";
import { functionPrefix, namesOf } from "./values.ts";

export function fishCompletions(root: Reference): string {
  const all = everyCommand(root);
  const program = root.path;
  const it = `_${functionPrefix(root)}`;
  return `# Completions of ${program} for fish.
function ${it}_sessions
    ${namesOf("sessions", root)}
end
function ${it}_tools
    ${namesOf("tools", root)}
end
# Whether the command that is being typed is this one.
function ${it}_at
    set -l path ${program}
    for word in (commandline -opc)[2..-1]
        contains -- "$path $word" ${all.slice(1).map(({ path }) => quote(path)).join(" ")}
        and set path "$path $word"
    end
    test "$path" = "$argv"
end
complete -c ${program} -f
complete -c ${program} -s h -l help -d 'Print help'
${all.flatMap((each) => toLines(root, each)).join("\n")}
`;
}

function toLines(root: Reference, { path, options, operands, commands }: Reference): readonly string[] {
  const it = `_${functionPrefix(root)}`;
  const here = `complete -c ${root.path} -n ${quote(`${it}_at ${path}`)}`;
  return [
    ...commands.map((each) => `${here} -a ${each.path.slice(path.length + 1)} -d ${quote(each.brief)}`),
    ...operands.flatMap(({ value }) => suggest(it, value).map((words) => `${here} ${words}`)),
    ...options.map((option) => `${here} ${toFlags(it, option)}`),
  ];
}

function toFlags(it: string, { name, letter, brief, value }: Option): string {
  const takes = value === undefined ? [] : value.kind === "text" ? ["-x"] : ["-x", ...suggest(it, value)];
  return [...(letter === undefined ? [] : [`-s ${letter.slice(1)}`]), `-l ${name.slice(2)}`, ...takes, `-d ${quote(brief)}`].join(" ");
}

function suggest(it: string, { kind }: Value): readonly string[] {
  if (typeof kind === "object") return [`-a ${quote(kind.words.join(" "))}`];
  switch (kind) {
    case "folder":
      return ["-a '(__fish_complete_directories)'"];
    case "file":
      return ["-a '(__fish_complete_path)'"];
    case "session":
      return [`-k -a '(${it}_sessions)'`];
    case "tool":
      return [`-a '(${it}_tools)'`];
    case "text":
      return [];
  }
}

function quote(text: string): string {
  return `'${text.replace(/['\\]/g, "\\$&")}'`;
}
