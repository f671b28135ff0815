import { expect, test } from "bun:test";
import { asCalled } from "../../cli/called.ts";

test("command lines are said under the name that the program was called by, and nothing else is", () => {
  const text = "USAGE\n  orrery run\n/usr/bin/orrery run, .orrery/tools and orrery.service of Orrery; see orrery config.";
  expect(asCalled(text, "stella")).toBe(
    "USAGE\n  stella run\n/usr/bin/orrery run, .orrery/tools and orrery.service of Orrery; see stella config.",
  );
  expect(asCalled(text, "orrery")).toBe(text);
});
