/** Completions for fish, from 3.0 on. */
import { everyCommand, type Option, type Reference, type Value } from "../reference.ts";
import { SESSIONS, TOOLS } from "./values.ts";

export function fishCompletions(root: Reference): string {
  const all = everyCommand(root);
  return `# Completions of orrery for fish.
function __orrery_sessions
    ${SESSIONS}
end
function __orrery_tools
    ${TOOLS}
end
# Whether the command that is being typed is this one.
function __orrery_at
    set -l path orrery
    for word in (commandline -opc)[2..-1]
        contains -- "$path $word" ${all.slice(1).map(({ path }) => quote(path)).join(" ")}
        and set path "$path $word"
    end
    test "$path" = "$argv"
end
complete -c orrery -f
complete -c orrery -s h -l help -d 'Print help'
${all.flatMap(toLines).join("\n")}
`;
}

function toLines({ path, options, operands, commands }: Reference): readonly string[] {
  const here = `complete -c orrery -n ${quote(`__orrery_at ${path}`)}`;
  return [
    ...commands.map((each) => `${here} -a ${each.path.slice(path.length + 1)} -d ${quote(each.brief)}`),
    ...operands.flatMap(({ value }) => suggest(value).map((words) => `${here} ${words}`)),
    ...options.map((option) => `${here} ${toFlags(option)}`),
  ];
}

function toFlags({ name, letter, brief, value }: Option): string {
  const takes = value === undefined ? [] : value.kind === "text" ? ["-x"] : ["-x", ...suggest(value)];
  return [...(letter === undefined ? [] : [`-s ${letter.slice(1)}`]), `-l ${name.slice(2)}`, ...takes, `-d ${quote(brief)}`].join(" ");
}

function suggest({ kind }: Value): readonly string[] {
  if (typeof kind === "object") return [`-a ${quote(kind.words.join(" "))}`];
  switch (kind) {
    case "folder":
      return ["-a '(__fish_complete_directories)'"];
    case "file":
      return ["-a '(__fish_complete_path)'"];
    case "session":
      return ["-a '(__orrery_sessions)'"];
    case "tool":
      return ["-a '(__orrery_tools)'"];
    case "text":
      return [];
  }
}

function quote(text: string): string {
  return `'${text.replace(/['\\]/g, "\\$&")}'`;
}
