/** A tool file in code that works as it is. */
import { reservedBecause } from "../stella/name.ts";

export type SdkScaffold =
  | { readonly kind: "scaffold"; readonly file: string; readonly text: string }
  | { readonly kind: "refused"; readonly problem: string };

export function scaffoldSdkTool(name: string, language: "ts" | "py"): SdkScaffold {
  const problem = problemOf(name, language);
  if (problem !== null) return { kind: "refused", problem: `Cannot create a tool called ${JSON.stringify(name)}: ${problem}` };
  return { kind: "scaffold", file: `${name}.${language}`, text: language === "ts" ? typescript(name) : python(name) };
}

const NAME = /^[a-z][a-z0-9_]{0,63}$/;

/** Python's words that are no names of functions. */
const KEYWORDS: ReadonlySet<string> = new Set(
  ("and as assert async await break class continue def del elif else except finally for from global if import in is lambda " +
    "nonlocal not or pass raise return try while with yield").split(" "),
);

function problemOf(name: string, language: "ts" | "py"): string | null {
  if (!NAME.test(name)) return "a name has 1 to 64 lower-case letters, digits and underscores, and starts with a letter";
  const reason = reservedBecause(name);
  if (reason !== null) return `the name is reserved: ${reason}. Choose another name`;
  return language === "py" && KEYWORDS.has(name) ? "that is a word of Python. Choose another name" : null;
}

function typescript(name: string): string {
  return `import { tool } from "orrery";
import * as v from "valibot";

export default tool({
  name: "${name}",
  description: "Say in one sentence what this tool does and what it returns.",
  parameters: v.object({
    message: v.pipe(v.string(), v.description("What to return.")),
  }),
  // What this returns is the result. Throw a ValidationError (from "orrery") for an input that is wrong.
  execute({ message }) {
    return message;
  },
});
`;
}

function python(name: string): string {
  return `from stella_sdk import tool


@tool
def ${name}(message: str) -> str:
    """Say in one sentence what this tool does and what it returns.

    Args:
        message: What to return.
    """
    # What this returns is the result. Raise a ValidationError (from stella_sdk) for an input that is wrong.
    return message
`;
}
