/**
 * The order of results, the same on every machine: files that have the text in their path, then those that have it as a
 * word of its own, then those with more matching lines, then those nearer the top, then by name.
 */
import type { Match } from "./scan.ts";

export interface FileMatches {
  readonly path: string;
  readonly named: boolean;
  readonly word: boolean;
  /** Matching lines, those that are not listed included. */
  readonly count: number;
  readonly matches: readonly Match[];
}

/** Keeps the best files and forgets the others, however many there are. */
export class Ranking {
  readonly #most: number;
  #kept: FileMatches[] = [];
  #files = 0;
  #matches = 0;

  constructor(most: number) {
    this.#most = most;
  }

  add(file: FileMatches): void {
    this.#files++;
    this.#matches += file.count;
    this.#kept.push(file);
    if (this.#kept.length >= 2 * this.#most) this.#kept = this.best().slice();
  }

  /** The best first. */
  best(): readonly FileMatches[] {
    return this.#kept.toSorted(compareFiles).slice(0, this.#most);
  }

  get totals(): { readonly files: number; readonly matches: number } {
    return { files: this.#files, matches: this.#matches };
  }
}

function compareFiles(left: FileMatches, right: FileMatches): number {
  return Number(right.named) - Number(left.named) || Number(right.word) - Number(left.word) || right.count - left.count ||
    comparePaths(left.path, right.path);
}

export function comparePaths(left: string, right: string): number {
  return left.split("/").length - right.split("/").length || (left < right ? -1 : left > right ? 1 : 0);
}
