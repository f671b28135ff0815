import { expect, test } from "bun:test";
import { parseDefinition } from "../../../lib/tools/nanocoder/definition.ts";
import { scaffoldTool } from "../../../lib/tools/nanocoder/scaffold.ts";

test("a scaffold keeps the dashes in the file's name, has underscores in the tool's, and loads without a word", async () => {
  for (
    const [given, file, name] of [["k8s-pods", "k8s-pods.md", "k8s_pods"], ["jira.md", "jira.md", "jira"], [
      "My-Tool",
      "My-Tool.md",
      "my_tool",
    ]] as const
  ) {
    const scaffold = scaffoldTool(given);
    if (scaffold.kind !== "scaffold") throw new Error(scaffold.problem);
    expect([scaffold.file, scaffold.name]).toEqual([file, name]);
    const { definition, diagnostics } = await parseDefinition(scaffold.text, { defaultShell: "sh" });
    expect([diagnostics, definition?.name]).toEqual([[], name]);
  }
});

test("a scaffold is refused for a name that is no tool's, or leaves the folder", () => {
  for (const given of ["", "1x", "a.b", "a b", "../../x", "a/b", "..", ".md", "-", "a\\b", "a\0", "read-file", "mcp--x"]) {
    expect([given, scaffoldTool(given).kind]).toEqual([given, "refused"]);
  }
});
