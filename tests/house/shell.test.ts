/** The shell scripts that a stranger or CI runs, and the service unit. */
import { expect, test } from "bun:test";
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { root } from "./sources.ts";

const scripts = ["install.sh", "compile.sh", ".ci/setup.sh", ".ci/run", "tests/run.sh", "scripts/wordcount.sh"];
const has = (program: string) => spawnSync("sh", ["-c", `command -v ${program}`]).status === 0;

test.skipIf(!has("shellcheck"))("shellcheck has nothing to say of any script", () => {
  const { status, stdout } = spawnSync("shellcheck", scripts, { cwd: root, encoding: "utf8" });
  expect([status, stdout]).toEqual([0, ""]);
});

test("every script that says /bin/sh is read by sh", () => {
  for (const script of scripts) {
    if (!readFileSync(join(root, script), "utf8").startsWith("#!/bin/sh\n")) continue;
    expect([script, spawnSync("sh", ["-n", script], { cwd: root, encoding: "utf8" }).stderr]).toEqual([script, ""]);
  }
});

test("the page's change of the service unit takes its command away before it sets another", () => {
  const [, change = ""] = /```ini\n(\[Service\][\s\S]*?)```/.exec(readFileSync(join(root, "docs/install.md"), "utf8")) ?? [];
  const commands = [...change.matchAll(/^ExecStart=(.*)$/gm)].map(([, command = ""]) => command);
  const [own = ""] = /(?<=^ExecStart=).*$/m.exec(readFileSync(join(root, "docs/orrery.service"), "utf8")) ?? [];
  expect(commands).toEqual(["", own.replace("/var/lib/orrery/work", "/srv/site")]);
  // A transient user could not write there.
  expect(change).toContain("\nDynamicUser=no\nUser=");
  if (!has("systemd-analyze")) return;
  const folder = mkdtempSync(join(tmpdir(), "orrery-unit-"));
  try {
    const command = (text: string) => text.replaceAll("/usr/local/bin/orrery", "/bin/sh").replace(/^Documentation=.*\n/m, "");
    const file = join(folder, "orrery.service");
    writeFileSync(file, command(readFileSync(join(root, "docs/orrery.service"), "utf8")));
    mkdirSync(`${file}.d`);
    writeFileSync(join(`${file}.d`, "override.conf"), command(change));
    const { stderr } = spawnSync("systemd-analyze", ["verify", "--man=no", file], { encoding: "utf8" });
    expect(stderr.split("\n").filter((line) => line.includes("orrery.service"))).toEqual([]);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test.skipIf(!has("systemd-analyze"))("systemd understands the whole service unit and counts it as contained", () => {
  const folder = mkdtempSync(join(tmpdir(), "orrery-unit-"));
  try {
    const unit = readFileSync(join(root, "docs/orrery.service"), "utf8");
    expect(unit).toContain("\nKillMode=control-group\n");
    // It is verified with a program that there is.
    const file = join(folder, "orrery.service");
    writeFileSync(file, unit.replaceAll("/usr/local/bin/orrery", "/bin/sh").replace(/^Documentation=.*\n/m, ""));
    const verified = spawnSync("systemd-analyze", ["verify", "--man=no", file], { encoding: "utf8" });
    expect(verified.stderr.split("\n").filter((line) => line.includes("orrery.service"))).toEqual([]);
    const { stdout } = spawnSync("systemd-analyze", ["security", "--offline=true", "--threshold=20", file], { encoding: "utf8" });
    expect(Number(/exposure level for orrery\.service: ([\d.]+)/.exec(stdout)?.[1])).toBeLessThan(2.1);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
