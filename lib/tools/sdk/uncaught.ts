import process from "node:process";

/**
 * Rejects with the first error that nobody catches from now on, unless the author listens for such errors. Left to the
 * hosts, Deno (2.9.6) ends the process, and Bun (1.4.5) goes on as long as the program's main module awaits something.
 */
export function nextUncaught(): Promise<never> {
  const { promise, reject } = Promise.withResolvers<never>();
  promise.catch(() => {}); // For whoever waits; a call that has answered does not.
  for (const event of ["uncaughtException", "unhandledRejection"]) {
    process.on(event, (error: unknown) => {
      if (process.listenerCount(event) === 1) reject(error);
    });
  }
  return promise;
}
