import { describe, expect, test } from "bun:test";
import process from "node:process";
import { UsageError } from "../../lib/config/error.ts";
import { findWorkspace } from "../../lib/config/paths.ts";

describe("findWorkspace()", () => {
  test("takes an empty name for a mistake, not for this folder", () => {
    expect(() => findWorkspace("", process.cwd(), null)).toThrow(UsageError);
    expect(() => findWorkspace("", process.cwd(), null)).toThrow("names no folder");
  });
});
