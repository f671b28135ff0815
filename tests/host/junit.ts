/** What a test run came to, from the JUnit reports of the two runners. Skipped tests are neither. */
export interface Tally {
  readonly passed: number;
  readonly failed: number;
}

/** Bun totals its report in the root element; groups are not counted there. */
export function countBunReport(report: string): Tally {
  const root = /<testsuites\b[^>]*>/.exec(report)?.[0];
  if (root === undefined) throw new Error("Cannot read Bun's report: it has no <testsuites>");
  const failed = attribute(root, "failures") + attribute(root, "errors");
  return { passed: attribute(root, "tests") - attribute(root, "skipped") - failed, failed };
}

/** Deno lists groups beside their tests, as `group` and `group > test`: only what has nothing below it is a test. */
export function countDenoReport(report: string): Tally {
  if (!report.includes("<testsuites")) throw new Error("Cannot read Deno's report: it has no <testsuites>");
  const cases = [...report.matchAll(/<testcase\b([^>]*?)(?:\/>|>([\s\S]*?)<\/testcase>)/g)].map(([, attributes = "", body = ""]) => ({
    name: / name="([^"]*)"/.exec(attributes)?.[1] ?? "",
    failed: /<(?:failure|error)\b/.test(body),
    skipped: /<skipped\b/.test(body),
  }));
  const groups = new Set(cases.flatMap(({ name }) => prefixes(name.split(SEPARATOR))));
  const tests = cases.filter(({ name, skipped }) => !groups.has(name) && !skipped);
  const failed = tests.filter((each) => each.failed).length;
  return { passed: tests.length - failed, failed };
}

const SEPARATOR = " &gt; ";

function prefixes(parts: readonly string[]): string[] {
  return parts.slice(1).map((_, index) => parts.slice(0, index + 1).join(SEPARATOR));
}

function attribute(element: string, name: string): number {
  return Number(new RegExp(` ${name}="(\\d+)"`).exec(element)?.[1] ?? 0);
}
