import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { CATALOG } from "../../../lib/tools/builtin/catalog.ts";

const page = readFileSync(join(import.meta.dirname, "../../../docs/builtins.md"), "utf8");
const offered = CATALOG.flatMap(({ definition, ...row }) => definition === undefined ? [] : [{ ...row, definition }]);

test("the page's table of built-ins is the catalog", () => {
  const rows = [...page.matchAll(/^\| `(\w+)` +\| (\w+) +\| (yes)? +\| (yes)? +\| (\w+) +\|$/gm)];
  expect(
    rows.map(([, name, group, reads, early, approval]) => ({
      name,
      group,
      read_only: reads === "yes",
      speculation_safe: early === "yes",
      approval,
    })),
  )
    .toEqual(
      offered.map(({ name, group, read_only, speculation_safe, approval }) => ({ name, group, read_only, speculation_safe, approval })),
    );
});

test("the page names every input of every built-in, and which are required", () => {
  const sections = [...page.matchAll(/^##+ `(\w+)`\n\nInput: (.+)$/gm)].map(([, name, inputs = ""]) =>
    [name, inputs === "none" ? [] : inputs.split(", ")] as const
  );
  const inputs = offered.map(({ name, definition }) => {
    const { properties = {}, required = [] } = definition.input_schema as { properties?: object; required?: readonly string[] };
    return [name, Object.keys(properties).map((key) => `\`${key}\`${required.includes(key) ? "\\*" : ""}`)] as const;
  });
  expect(Object.fromEntries(sections)).toEqual(Object.fromEntries(inputs));
});

test("the page has the words of every limit that a schema has", () => {
  const missing = offered.flatMap(({ name, definition }) =>
    [...JSON.stringify(definition.input_schema).matchAll(/"(?:maximum|maxItems|maxLength)":(\d+)/g)]
      .filter(([, limit = ""]) => !new RegExp(`\\b${limit}\\b`).test(page))
      .map(([limit]) => `${name}: ${limit}`)
  );
  expect(missing).toEqual([]);
});
