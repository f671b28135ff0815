/** Where a path leads. */
import { existsSync, realpathSync } from "node:fs";

/** Bun 1.4.5 takes a file for missing while another is moved to its place; two such moments in a row are rare, twenty are none. */
const LOOKS = 20;

/** Absolute, without links; null if nothing is there. @throws what else the system says of the path. */
export function realPath(path: string): string | null {
  for (let looks = 1;; looks++) {
    try {
      return realpathSync(path);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
      if (looks === LOOKS || !existsSync(path)) return null;
    }
  }
}
