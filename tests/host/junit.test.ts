import { expect, test } from "bun:test";
import { countBunReport, countDenoReport } from "./junit.ts";

test("Bun's report is counted from its root, without what was skipped", () => {
  const report = `<?xml version="1.0"?><testsuites name="bun test" tests="5" assertions="1" failures="2" skipped="2" time="0.1">
    <testsuite name="a.test.ts" tests="5" failures="2" skipped="2"><testcase name="x"/>
    <testcase name="a &lt; b" file="a.test.ts"><failure message="m">Error: &quot;1&quot;&#10;&#10;at a</failure></testcase>
    <testcase name="c" file="a.test.ts"><failure type="TimeoutError"/></testcase></testsuite></testsuites>`;
  expect(countBunReport(report)).toEqual({
    passed: 1,
    failed: 2,
    failures: ['a.test.ts: a < b\n    Error: "1"\n    \n    at a', "a.test.ts: c\n    "],
  });
});

test("Deno's report is counted by its tests, not by the groups around them", () => {
  const report = `<testsuites name="deno test" tests="6" failures="3">
    <testsuite name="./a.test.ts"><testcase name="alone" time="0"></testcase>
      <testcase name="outer" time="0"><failure message="1 test step failed">x</failure></testcase></testsuite>
    <testsuite name="steps">
      <testcase name="outer &gt; inner" time="0"><failure message="1 test step failed">x</failure></testcase>
      <testcase name="outer &gt; inner &gt; fails" time="0"><failure message="no">Error: no</failure></testcase>
      <testcase name="outer &gt; inner &gt; holds" time="0"></testcase>
      <testcase name="outer &gt; skipped" time="0"><skipped/></testcase>
    </testsuite></testsuites>`;
  expect(countDenoReport(report)).toEqual({ passed: 2, failed: 1, failures: ["outer > inner > fails\n    Error: no"] });
});

test("a report that is not one is refused, not counted as nothing", () => {
  expect(() => countBunReport("")).toThrow("<testsuites>");
});
