/** What `tools create NAME --format nanocoder` writes. */
import { nameFault } from "./name.ts";

export type Scaffold =
  | { readonly kind: "scaffold"; /** Without a folder. */ readonly file: string; readonly name: string; readonly text: string }
  | { readonly kind: "refused"; readonly problem: string };

/** The file keeps its dashes, the tool's name gets underscores: `k8s-pods` becomes `k8s-pods.md` and `k8s_pods`. */
export function scaffoldTool(given: string): Scaffold {
  const base = given.replace(/\.md$/, "");
  const refused = (reason: string): Scaffold => ({
    kind: "refused",
    problem: `Cannot create a tool called ${JSON.stringify(given)} as ${reason}`,
  });
  if (!/^[A-Za-z0-9_-]+$/.test(base)) {
    return refused("a name has letters, digits, dashes and underscores only, with or without .md: write one like k8s-pods");
  }
  const name = base.toLowerCase().replaceAll("-", "_");
  const fault = nameFault(name);
  if (fault?.severity === "error") return refused(`${fault.message.replace(/^The/, "the")}. ${fault.remedy}`);
  return { kind: "scaffold", file: `${base}.md`, name, text: textFor(name) };
}

function textFor(name: string): string {
  return `---
name: ${name}
description: Say in one sentence what ${name} does and what it returns
parameters:
  message:
    type: string
    required: true
    description: What to print
# never: runs without asking. destructive: asks in normal mode only. always: always asks.
approval: always
---

# Values are quoted already: write the tag without quotes around it.
printf '%s\\n' {{ message }}
`;
}
