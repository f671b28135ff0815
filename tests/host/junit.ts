/** What a test run came to, from the JUnit reports of the two runners. Skipped tests are neither. */
export interface Tally {
  readonly passed: number;
  readonly failed: number;
  /** The title of each failed test, with its groups or file, and the first lines of why. */
  readonly failures: readonly string[];
}

/** Bun totals its report in the root element; groups are not counted there. */
export function countBunReport(report: string): Tally {
  const root = /<testsuites\b[^>]*>/.exec(report)?.[0];
  if (root === undefined) throw new Error("Cannot read Bun's report: it has no <testsuites>");
  const failed = attribute(root, "failures") + attribute(root, "errors");
  const failures = testCases(report).filter((each) => each.failure !== null).map((each) => `${each.file}: ${describeFailure(each)}`);
  return { passed: attribute(root, "tests") - attribute(root, "skipped") - failed, failed, failures };
}

/** Deno lists groups beside their tests, as `group` and `group > test`: only what has nothing below it is a test. */
export function countDenoReport(report: string): Tally {
  if (!report.includes("<testsuites")) throw new Error("Cannot read Deno's report: it has no <testsuites>");
  const cases = testCases(report);
  const groups = new Set(cases.flatMap(({ name }) => prefixes(name.split(SEPARATOR))));
  const tests = cases.filter(({ name, skipped }) => !groups.has(name) && !skipped);
  const failed = tests.filter((each) => each.failure !== null);
  return { passed: tests.length - failed.length, failed: failed.length, failures: failed.map(describeFailure) };
}

const SEPARATOR = " &gt; ";
const LINES_OF_A_FAILURE = 12;

/** A test as its report has it: names and texts are still escaped as in XML. */
interface TestCase {
  readonly name: string;
  readonly file: string;
  readonly failure: string | null;
  readonly skipped: boolean;
}

function testCases(report: string): TestCase[] {
  return [...report.matchAll(/<testcase\b([^>]*?)(?:\/>|>([\s\S]*?)<\/testcase>)/g)].map(([, attributes = "", body = ""]) => ({
    name: / name="([^"]*)"/.exec(attributes)?.[1] ?? "",
    file: / file="([^"]*)"/.exec(attributes)?.[1] ?? "",
    failure: /<(?:failure|error)\b[^>]*?(?:\/>|>([\s\S]*?)<\/(?:failure|error)>)/.exec(body)?.slice(1).map((text) => text ?? "")[0] ?? null,
    skipped: /<skipped\b/.test(body),
  }));
}

function describeFailure({ name, failure }: TestCase): string {
  const why = unescape(failure ?? "").trim().split("\n").slice(0, LINES_OF_A_FAILURE).map((line) => `\n    ${line}`);
  return `${unescape(name)}${why.join("")}`;
}

function unescape(text: string): string {
  return text.replace(/&(lt|gt|quot|apos|amp|#10);/g, (whole, entity: string) => ENTITIES[entity] ?? whole);
}

const ENTITIES: Readonly<Record<string, string>> = { lt: "<", gt: ">", quot: '"', apos: "'", amp: "&", "#10": "\n" };

function prefixes(parts: readonly string[]): string[] {
  return parts.slice(1).map((_, index) => parts.slice(0, index + 1).join(SEPARATOR));
}

function attribute(element: string, name: string): number {
  return Number(new RegExp(` ${name}="(\\d+)"`).exec(element)?.[1] ?? 0);
}
