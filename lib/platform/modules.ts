/**
 * Which modules a user's file gets by a bare name, wherever on the disk it lies and with no `node_modules` near it.
 * On Bun, also in the compiled binary, they are put in place at run time; on Deno the import map of a tool host,
 * `tool-files.json`, names them, and it holds for every file.
 */
import { bun } from "./host.ts";

/** `modules`: what each name exports. Only imports that come later see them. */
export function provideModules(modules: Readonly<Record<string, Readonly<Record<string, unknown>>>>): void {
  bun?.plugin({
    name: "provided modules",
    setup: (build) => {
      for (const [name, exports] of Object.entries(modules)) build.module(name, () => ({ exports, loader: "object" }));
    },
  });
}
