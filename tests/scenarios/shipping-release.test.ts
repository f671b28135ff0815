/**
 * compile.sh as it makes a release, with a stand-in for Bun: what it writes, what it lists, and what it leaves alone.
 * The real builds are in shipping-image.test.ts.
 */
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { execFileSync, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { chmodSync, cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";

const repository = join(import.meta.dirname, "../..");
const TARGETS = ["linux-x64", "linux-x64-baseline", "linux-x64-musl", "linux-x64-musl-baseline", "linux-arm64", "linux-arm64-musl"];
const ALL = [...TARGETS, "darwin-arm64", "darwin-x64"];
const hasTar = spawnSync("tar", ["--version"], { encoding: "utf8" }).stdout?.includes("GNU tar") === true;

/** Builds a program that plays every demo, but for arm64. */
const STAND_IN = `#!/bin/sh
case $* in
  --version) echo 1.0.0; exit ;;
  *--metafile=* | -p*) exit ;;
  *scripts/notices.ts*) echo "Third-party notices"; exit ;;
  *"cli/main.ts man"*) mkdir -p "$4"; echo .TH >"$4/orrery.1"; exit ;;
  *"cli/main.ts completions"*) echo "# $3"; exit ;;
esac
for word; do
  if [ "$before" = --outfile ]; then file=$word; fi
  before=$word
done
case $* in *arm64*) code=1 ;; *) code=0 ;; esac
printf '#!/bin/sh\\n# %s\\nexit %s\\n' "$*" "$code" | sed "s|$file||" >"$file"
`;

interface Manifest {
  readonly version: string;
  readonly targets: readonly {
    readonly target: string;
    readonly version: string;
    readonly commit: string;
    readonly archive: string;
    readonly archive_sha256: string;
    readonly ran: boolean;
  }[];
}

let root: string;
let release: string;

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "orrery-release-"));
  release = join(root, "release");
  for (const path of ["compile.sh", "install.sh", "LICENSE", "README.md", "CHANGELOG.md", "CONTRIBUTING.md", "ARCHITECTURE.md", "docs"]) {
    cpSync(join(repository, path), join(root, "source", path), { recursive: true });
  }
  write("source/.ci/setup.sh", "#!/bin/sh\n");
  write("source/node_modules/.bin/bun", STAND_IN);
  setVersion("1.0.0");
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

describe.skipIf(process.env["ORRERY_BINARY"] === undefined || !hasTar)("a release", () => {
  test("has every target there is, each with its sum, and names those that did not run", () => {
    compile("--all");
    const { targets } = manifest();
    expect(targets.map(({ target }) => target)).toEqual(ALL);
    expect(targets.filter(({ ran }) => !ran).map(({ target }) => target)).toEqual(ALL.filter((target) => target.includes("arm64")));
    expect(sums()).toEqual(Object.fromEntries(targets.map(({ archive, archive_sha256 }) => [archive, archive_sha256])));
    expectSums();
  });

  test("keeps other versions and targets in the folder, and lists them", () => {
    compile("--target", "linux-x64", "--archive");
    const [first] = manifest().targets;
    writeFileSync(join(release, "notes.txt"), "mine");
    compile("--target", "linux-arm64", "--archive");
    setVersion("1.1.0");
    compile("--target", "linux-x64", "--archive");
    const archives = ["orrery-1.0.0-linux-x64.tar.gz", "orrery-1.0.0-linux-arm64.tar.gz", "orrery-1.1.0-linux-x64.tar.gz"];
    expect(readdirSync(release).toSorted()).toEqual([...archives, "SHA256SUMS", "install.sh", "manifest.json", "notes.txt"].toSorted());
    expect(Object.keys(sums())).toEqual(archives);
    expectSums();
    expect([manifest().version, manifest().targets.map(({ archive }) => archive)]).toEqual(["1.1.0", archives]);
    expect(manifest().targets.map(({ version }) => version)).toEqual(["1.0.0", "1.0.0", "1.1.0"]);
    expect(manifest().targets[0]).toEqual(first);
  });

  test("replaces what it builds again at its place in the lists, and drops what is gone", () => {
    for (const version of ["0.9.0", "1.0.0", "1.1.0"]) {
      setVersion(version);
      compile("--target", "linux-x64", "--archive");
    }
    rmSync(join(release, "orrery-0.9.0-linux-x64.tar.gz"));
    setVersion("1.0.0");
    compile("--target", "linux-x64", "--archive", "another");
    expect(Object.keys(sums())).toEqual(["orrery-1.0.0-linux-x64.tar.gz", "orrery-1.1.0-linux-x64.tar.gz"]);
    expectSums();
    expect(manifest().targets.map(({ version, commit }) => [version, commit])).toEqual([["1.1.0", "abc"], ["1.0.0", "another"]]);
  });

  test("holds every page that a page of it links to, from the README on", () => {
    compile("--target", "linux-x64", "--archive");
    const name = "orrery-1.0.0-linux-x64";
    execFileSync("tar", ["-C", root, "-xzf", join(release, `${name}.tar.gz`)]);
    const pages = readdirSync(join(root, name), { recursive: true, encoding: "utf8" }).filter((path) => path.endsWith(".md"));
    expect(pages).toContain("README.md");
    const broken = pages.flatMap((page) =>
      [...readFileSync(join(root, name, page), "utf8").matchAll(/\]\((?!https?:|#)([^)#\s]+)/g)]
        .filter(([, target = ""]) => !existsSync(join(root, name, page, "..", target)))
        .map(([, target]) => `${page}: ${target}`)
    );
    expect(broken).toEqual([]);
  });

  test("holds the pages of its commit alone, and names it modified where the program is made of more", () => {
    write("source/.gitignore", "node_modules\n");
    write("source/lib/one.ts", "");
    const git = (...args: readonly string[]) =>
      execFileSync("git", ["-C", join(root, "source"), "-c", "user.name=a", "-c", "user.email=a@example.com", ...args], {
        encoding: "utf8",
      });
    git("init", "-q");
    git("add", ".");
    git("commit", "-qm", "first");
    const commit = git("rev-parse", "--short=12", "HEAD").trim();
    const build = () => {
      compileIn({}, ["--target", "linux-x64", "--archive"]);
      const archive = join(release, "orrery-1.0.0-linux-x64.tar.gz");
      return [manifest().targets[0]?.commit, execFileSync("tar", ["-tzf", archive], { encoding: "utf8" }).split("\n")] as const;
    };
    write("source/docs/draft.md", "# Not yet\n");
    write("source/notes.txt", "mine");
    const [named, files] = build();
    expect(named).toBe(commit);
    expect(files).toContain("orrery-1.0.0-linux-x64/docs/hooks.md");
    expect(files.filter((file) => /draft|notes/.test(file))).toEqual([]);
    write("source/lib/two.ts", "");
    expect(build()[0]).toBe(`${commit}-modified`);
    rmSync(join(root, "source/lib/two.ts"));
    rmSync(join(root, "source/docs/hooks.md"));
    const [changed, left] = build();
    expect([changed, left.includes("orrery-1.0.0-linux-x64/docs/hooks.md")]).toEqual([`${commit}-modified`, false]);
  });
});

function compile(...args: readonly string[]): void {
  const commit = args.includes("another") ? "another" : "abc";
  compileIn({ ORRERY_COMMIT: commit, SOURCE_DATE_EPOCH: "1790000000" }, args.filter((each) => each !== "another"));
}

function compileIn(env: Readonly<Record<string, string>>, args: readonly string[]): void {
  const { ORRERY_COMMIT: _commit, SOURCE_DATE_EPOCH: _time, ...inherited } = process.env;
  const { status, stderr } = spawnSync("sh", [join(root, "source/compile.sh"), ...args, "--output", release], {
    encoding: "utf8",
    env: { ...inherited, ...env },
  });
  expect({ status, stderr }).toMatchObject({ status: 0 });
}

function manifest(): Manifest {
  return JSON.parse(readFileSync(join(release, "manifest.json"), "utf8")) as Manifest;
}

function sums(): Readonly<Record<string, string>> {
  const lines = readFileSync(join(release, "SHA256SUMS"), "utf8").trim().split("\n");
  return Object.fromEntries(lines.map((line) => line.split("  ").toReversed() as [string, string]));
}

function expectSums(): void {
  for (const [file, sum] of Object.entries(sums())) {
    expect([file, createHash("sha256").update(readFileSync(join(release, file))).digest("hex")]).toEqual([file, sum]);
  }
}

function setVersion(version: string): void {
  write("source/package.json", `{\n  "version": "${version}"\n}\n`);
}

function write(path: string, text: string): void {
  mkdirSync(join(root, path, ".."), { recursive: true });
  writeFileSync(join(root, path), text);
  chmodSync(join(root, path), 0o755);
}
