/**
 * What `import … from "bun:test"` means on Deno: the part of it that this project's tests use, over `node:test` and
 * the `expect` package. As on Bun (`tests/run.ts`), a test that takes
 * longer than half a minute fails unless it says otherwise.
 */
import * as node from "node:test";

export { expect } from "expect";
export { after as afterAll, afterEach, before as beforeAll, beforeEach } from "node:test";

type Body = () => void | Promise<unknown>;
/** Milliseconds, or an object that holds them. */
type Limit = number | { readonly timeout?: number };
type Register = (name: string, body: Body, limit?: Limit) => void;

const DEFAULT_LIMIT_MS = 30_000;

export const test = withVariants((name, body, limit, skip) => {
  const timeout = typeof limit === "number" ? limit : limit?.timeout ?? DEFAULT_LIMIT_MS;
  // Bun reads 0 as "no limit", node:test as "at once".
  node.test(name, { skip, ...(timeout === 0 ? {} : { timeout }) }, async () => void await body());
});

export const describe = withVariants((name, body, _limit, skip) => {
  node.describe(name, { skip }, () => void body());
});

function withVariants(register: (name: string, body: Body, limit: Limit | undefined, skip: boolean) => void): Register & {
  skip: Register;
  skipIf(condition: unknown): Register;
  if(condition: unknown): Register;
} {
  const when = (skip: boolean): Register => (name, body, limit) => register(name, body, limit, skip);
  return Object.assign(when(false), {
    skip: when(true),
    skipIf: (condition: unknown) => when(Boolean(condition)),
    if: (condition: unknown) => when(!condition),
  });
}
