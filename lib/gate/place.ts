/** What programs are told apart by: where a path leads, and whether there is a file. By name alone; links are the caller's. */
import { statSync } from "node:fs";
import { isAbsolute, relative } from "node:path";
import { mayStart } from "../platform/mounts.ts";

/** Whether the path is the folder, or in it. */
export function lies(path: string, folder: string): boolean {
  const way = relative(folder, path);
  return !(way === ".." || way.startsWith("../") || isAbsolute(way));
}

export function isFile(path: string): boolean {
  try {
    return statSync(path).isFile();
  } catch {
    // Not there, or not for us to see: then it is not what would be run.
    return false;
  }
}

/** Whether the system would start it, as far as it and its mount tell. */
export function isExecutable(path: string): boolean {
  return isFile(path) && mayStart(path);
}
