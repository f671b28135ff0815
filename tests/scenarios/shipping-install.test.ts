/**
 * install.sh, by every shell it may meet, from a real server and from a folder, with whatever can go wrong on the way.
 * It knows nothing of how Orrery itself is run, so it is tested once: beside the compiled binary.
 */
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { spawn, spawnSync } from "node:child_process";
import {
  appendFileSync,
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { list, writeRelease } from "../fixtures/release.ts";

const script = join(import.meta.dirname, "../../install.sh");
const isRoot = process.getuid?.() === 0;
const has = (program: string) => spawnSync("sh", ["-c", `command -v ${program}`]).status === 0;
/** What install.sh may use of a bare system. */
const BARE = [
  "sh",
  "tar",
  "gzip",
  "uname",
  "id",
  "mktemp",
  "mkdir",
  "rm",
  "mv",
  "cp",
  "ln",
  "chmod",
  "grep",
  "head",
  "cat",
  "expr",
  "readlink",
  "sha256sum",
];

let root: string;
let release: string;
let folder: string;
let tools: string;
let server: Server | null;

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "orrery-install-"));
  [release, folder, tools] = ["release", "prefix/bin", "tools"].map((name) => join(root, name)) as [string, string, string];
  mkdirSync(release);
  mkdirSync(tools);
  server = null;
  for (const name of BARE) bring(name);
  pretend("uname", "case $1 in -m) echo x86_64 ;; *) echo Linux ;; esac");
  pretend("ldd", "echo 'ldd (Debian GLIBC 2.36-9) 2.36'");
});
afterEach(() => {
  server?.closeAllConnections();
  server?.close();
  rmSync(root, { recursive: true, force: true });
});

describe.skipIf(process.env["ORRERY_BINARY"] === undefined)("install.sh", () => {
  const shells = [["sh"], ["dash"], ["bash", "--posix"], ["bash"], ["busybox", "sh"], ["zsh"]].filter(([program = ""]) => has(program));
  for (const shell of shells) {
    test(`puts executable, documents, pages and completions in place, by ${shell.join(" ")}`, async () => {
      for (const target of ["linux-x64", "linux-x64-baseline"]) writeRelease(release, { version: "1.2.3", target });
      const { code, stderr } = await install({ shell, args: ["--from", release] });
      expect({ code, stderr }).toMatchObject({ code: 0, stderr: expect.stringContaining(`Installed ${folder}/orrery: orrery 1.2.3`) });
      expect(stderr).toContain(`${folder} is not on your PATH`);
      expect(readdirSync(folder)).toEqual(["orrery"]);
      expect(lstatSync(join(folder, "orrery")).mode & 0o777).toBe(0o755);
      expect(readdirSync(join(root, "prefix/share/man/man1")).toSorted()).toEqual(["orrery-run.1", "orrery.1"]);
      for (const [path, text] of EXTRAS) expect(readFileSync(join(root, "prefix/share", path), "utf8")).toBe(text);
    });
  }
  const EXTRAS = [
    ["doc/orrery/hooks.md", "# Hooks\n"],
    ["doc/orrery/orrery.service", "[Service]\n"],
    ["doc/orrery/LICENSE", "a licence\n"],
    ["doc/orrery/THIRD-PARTY-NOTICES.txt", "notices\n"],
    ["bash-completion/completions/orrery", "complete -W there orrery\n"],
    ["zsh/site-functions/_orrery", "#compdef orrery\n"],
    ["fish/vendor_completions.d/orrery.fish", "complete -c orrery -f -a there\n"],
  ] as const;

  test("takes the folder it lies in, without any argument, and names with spaces", async () => {
    const spaced = join(root, "a release");
    mkdirSync(spaced);
    writeBoth(spaced, "1.0.0");
    writeFileSync(join(spaced, "install.sh"), readFileSync(script));
    const { code } = await install({ file: join(spaced, "install.sh"), env: { INSTALL_DIR: join(root, "a prefix") } });
    expect([code, readdirSync(join(root, "a prefix"))]).toEqual([0, ["orrery"]]);
  });

  test("makes a link called stella, with completions, when asked to, and again", async () => {
    writeBoth(release, "1.0.0");
    await install({ args: ["--from", release] });
    const completions = () =>
      ["bash-completion/completions/stella", "zsh/site-functions/_stella", "fish/vendor_completions.d/stella.fish"]
        .filter((path) => existsSync(join(root, "prefix/share", path)));
    expect([readdirSync(folder), completions()]).toEqual([["orrery"], []]);
    for (const _again of [1, 2]) expect((await install({ args: ["--from", release, "--stella"] })).code).toBe(0);
    expect([readdirSync(folder).toSorted(), readlinkSync(join(folder, "stella"))]).toEqual([["orrery", "stella"], "orrery"]);
    expect(completions().length).toBe(3);
  });

  test("takes the name stella from nobody: not from a program, a folder, or a link to something else", async () => {
    writeBoth(release, "1.0.0");
    const stella = join(folder, "stella");
    const owners: readonly (readonly [make: () => void, shows: () => unknown])[] = [
      [() => writeFileSync(stella, "#!/bin/sh\n"), () => readFileSync(stella, "utf8")],
      [() => mkdirSync(stella), () => readdirSync(stella)],
      [() => symlinkSync("nowhere", stella), () => readlinkSync(stella)],
      [() => symlinkSync("/", stella), () => readlinkSync(stella)],
    ];
    mkdirSync(folder, { recursive: true });
    for (const [make, shows] of owners) {
      make();
      const before = shows();
      const { code, stderr } = await install({ args: ["--from", release, "--stella"] });
      expect([code, stderr]).toEqual([1, expect.stringContaining(`${stella} is there and is not a link to orrery`)]);
      expect([readdirSync(folder), shows()]).toEqual([["stella"], before]);
      rmSync(stella, { recursive: true });
    }
  });

  test("understands a folder with slashes at its end", async () => {
    writeBoth(release, "1.0.0");
    const env = { INSTALL_DIR: `${folder}//`, PATH: `${tools}:${folder}` };
    const { code, stderr } = await install({ args: ["--from", release], env });
    expect([code, stderr.includes(`Installed ${folder}/orrery`), stderr.includes("not on your PATH")]).toEqual([0, true, false]);
    expect(existsSync(join(root, "prefix/share/man/man1/orrery.1"))).toBe(true);
  });

  test("installs for everybody what root installs, however private root's own files are", async () => {
    writeBoth(release, "1.0.0");
    pretend("id", "echo 0");
    const { code } = await install({ shell: ["sh", "-c", 'umask 077; exec "$@"', "sh", "sh"], args: ["--from", release] });
    const modes = ["bin", "bin/orrery", "share", "share/man/man1", "share/man/man1/orrery.1"].map((path) =>
      (lstatSync(join(root, "prefix", path)).mode & 0o777).toString(8)
    );
    expect([code, modes]).toEqual([0, ["755", "755", "755", "755", "644"]]);
  });

  test("installs nothing where the disk is too full for a page, says so, and leaves no piece", async () => {
    writeBoth(release, "1.0.0");
    await install({ args: ["--from", release] });
    writeBoth(release, "2.0.0");
    rmSync(join(tools, "cp"));
    pretend(
      "cp",
      `for to; do :; done\ncase $to in */share/*run.1) echo 'cp: No space left on device' >&2; exit 1 ;; esac\nexec /bin/cp "$@"`,
    );
    const share = join(root, "prefix/share");
    const before = readdirSync(share, { recursive: true });
    const { code, stderr } = await install({ args: ["--from", release] });
    expect([code, stderr]).toEqual([1, expect.stringContaining("orrery-run.1 cannot be written: cp: No space left on device")]);
    expectOld();
    expect(readdirSync(share, { recursive: true })).toEqual(before);
    expect(readFileSync(join(share, "man/man1/orrery-run.1"), "utf8")).toBe(".TH ORRERY-RUN 1\n");
  });

  test("installs nothing where there is no room for the archive, or no way to put the program in place, and says so", async () => {
    await installOld();
    const faults: readonly (readonly [program: string, when: string, says: string])[] = [
      ["cp", "*/SHA256SUMS", "SHA256SUMS could not be copied: cp: it is full. Make room in"],
      ["cp", "*.tar.gz", "tar.gz could not be copied: cp: it is full. Make room in"],
      ["mv", "*/orrery", "orrery cannot be replaced: mv: it is full. Move it away"],
      ["ln", "*/stella", "there can be no links in"],
      ["chmod", "*/orrery", "cannot be made a program"],
      ["sha256sum", "*", "the sum of orrery-2.0.0-linux-x64"],
    ];
    for (const [program, when, says] of faults) {
      rmSync(join(tools, program));
      pretend(
        program,
        `for to; do :; done\ncase \${to-} in ${when}) echo '${program}: it is full' >&2; exit 1 ;; esac\nexec /bin/${program} "$@"`,
      );
      const { code, stderr } = await install({ args: ["--from", release, "--stella"] });
      expect({ program, code, stderr }).toMatchObject({ code: 1, stderr: expect.stringMatching(/^Cannot install Orrery: /m) });
      expect(stderr).toContain(says);
      expectOld();
      rmSync(join(tools, program));
      bring(program);
    }
  }, 30_000);

  test("leaves pages out, and says so, where something else is in their place", async () => {
    writeBoth(release, "1.0.0");
    mkdirSync(join(root, "prefix/share"), { recursive: true });
    writeFileSync(join(root, "prefix/share/man"), "a file");
    const { code, stderr } = await install({ args: ["--from", release] });
    expect([code, stderr]).toEqual([0, expect.stringContaining("share/man/man1 cannot be written to: man for it is left out")]);
    expect(existsSync(join(root, "prefix/share/zsh/site-functions/_orrery"))).toBe(true);
  });

  for (const shell of shells) {
    test(`leaves pages out whose folder takes no file, and installs the rest, by ${shell.join(" ")}`, async () => {
      writeBoth(release, "1.0.0");
      mkdirSync(join(root, "prefix/share/man"), { recursive: true });
      symlinkSync("/proc", join(root, "prefix/share/man/man1"));
      const { code, stderr } = await install({ shell, args: ["--from", release] });
      expect([code, stderr]).toEqual([0, expect.stringContaining("share/man/man1 cannot be written to: man for it is left out")]);
      expect([installedVersion(), existsSync(join(root, "prefix/share/zsh/site-functions/_orrery"))]).toEqual([
        "orrery 1.0.0 (a test)\n",
        true,
      ]);
    });
  }

  test("takes a folder as a URL, and a list of sums in capitals with the line ends of Windows", async () => {
    writeBoth(release, "1.0.0");
    const sums = readFileSync(join(release, "SHA256SUMS"), "utf8");
    writeFileSync(join(release, "SHA256SUMS"), sums.replace(/^[0-9a-f]+/gm, (sum) => sum.toUpperCase()).replaceAll("\n", "\r\n"));
    for (const from of [`file://${release}/`, `FILE://localhost${release}`]) {
      rmSync(folder, { recursive: true, force: true });
      expect(await install({ args: ["--from", from] })).toMatchObject({ code: 0 });
      expect(installedVersion()).toBe("orrery 1.0.0 (a test)\n");
    }
  });

  test("takes the baseline build where a release has no other, and no version of another target", async () => {
    pretend("grep", 'case $* in *avx2*) exit 0 ;; esac\nexec /bin/grep "$@"');
    writeRelease(release, { version: "1.0.0", target: "linux-x64-baseline" }, { version: "1.0.0", target: "linux-arm64" });
    expect(await install({ args: ["--from", release] })).toMatchObject({ code: 0 });
    expect(installedVersion()).toBe("orrery 1.0.0 (a test)\n");
    const { code, stderr } = await install({ args: ["--from", release, "--target", "linux-x64"] });
    expect([code, stderr]).toEqual([
      1,
      expect.stringMatching(/lists no archive for linux-x64, only.* orrery-1\.0\.0-linux-arm64\.tar\.gz/),
    ]);
    const old = await install({ args: ["--from", release], env: { VERSION: "0.9.0" } });
    expect([old.code, old.stderr]).toEqual([1, expect.stringContaining("version 0.9.0 is not listed")]);
  });

  test("removes what an installation left that was killed, and not what one that runs has there", async () => {
    writeBoth(release, "1.0.0");
    const gone = spawnSync("sh", ["-c", "echo $$"], { encoding: "utf8" }).stdout.trim();
    const began = process.platform === "linux" ? readFileSync("/proc/self/stat", "utf8").replace(/^.*\) /s, "").split(" ")[19] : "0";
    const running = `.orrery-install-${process.pid}-${began}.abcdef`;
    const earlier = `.orrery-install-${process.pid}.abcdef`;
    // Of a process that had the number of one that runs now.
    const before = process.platform === "linux" ? [`.orrery-install-${process.pid}-1.abcdef`] : [];
    const pages = join(root, "prefix/share/man/man1");
    const names = [`.orrery-install-${gone}.abcdef`, `.orrery-install-${gone}-${began}.abcdef`, ...before, earlier, running];
    for (const name of names) mkdirSync(join(folder, name), { recursive: true });
    mkdirSync(pages, { recursive: true });
    for (const name of names) writeFileSync(join(pages, `${name}-orrery.1`), "");
    expect((await install({ args: ["--from", release] })).code).toBe(0);
    expect(readdirSync(folder).toSorted()).toEqual([running, earlier, "orrery"].toSorted());
    expect(readdirSync(pages).toSorted()).toEqual([`${running}-orrery.1`, `${earlier}-orrery.1`, "orrery-run.1", "orrery.1"].toSorted());
  });

  test.skipIf(!isRoot || !has("unshare"))("removes what a killed one left that had its own number (needs root and unshare)", async () => {
    writeBoth(release, "1.0.0");
    for (const name of ["", "-7"]) mkdirSync(join(folder, `.orrery-install-1${name}.abcdef`), { recursive: true });
    const shell = ["unshare", "--pid", "--fork", "--mount-proc", "sh"];
    expect((await install({ shell, args: ["--from", release] })).code).toBe(0);
    expect(readdirSync(folder)).toEqual(["orrery"]);
  });

  test("upgrades in place and says from what; who has the old one open keeps it whole", async () => {
    writeBoth(release, "1.0.0");
    await install({ args: ["--from", release] });
    const before = lstatSync(join(folder, "orrery")).ino;
    writeBoth(release, "1.1.0");
    const { code, stderr } = await install({ args: ["--from", release] });
    expect([code, stderr.includes("Was orrery 1.0.0"), stderr.includes("orrery 1.1.0")]).toEqual([0, true, true]);
    expect(lstatSync(join(folder, "orrery")).ino).not.toBe(before);
  });

  const listings: readonly (readonly [versions: string, newest: string])[] = [
    ["1.0.0 1.1.0", "1.1.0"],
    ["0.2.0 0.1.1", "0.2.0"],
    ["0.9.0 0.10.0 0.9.1", "0.10.0"],
    ["1.0.0 1.1.0-rc.1", "1.0.0"],
    ["1.0.0-rc.10 1.0.0-rc.9 1.0.0-beta.11", "1.0.0-rc.10"],
    ["1.0.0-rc 1.0.0-rc.1 1.0.0-9", "1.0.0-rc.1"],
    ["1.0 1.0.1 1", "1.0.1"],
    ["20261130.9 20261130.10+x 3.0.0", "20261130.10+x"],
  ];
  for (const shell of shells) {
    test(`takes the newest version wherever it is listed, by ${shell.join(" ")}`, async () => {
      for (const [versions, newest] of listings) {
        rmSync(join(root, "prefix"), { recursive: true, force: true });
        writeFileSync(join(release, "SHA256SUMS"), "");
        for (const version of versions.split(" ")) writeBoth(release, version);
        const { code, stderr } = await install({ shell, args: ["--from", release] });
        expect({ versions, code, stderr, took: installedVersion() }).toMatchObject({ code: 0, took: `orrery ${newest} (a test)\n` });
      }
    }, 30_000);
  }

  test("takes the baseline build where only that has the newest version", async () => {
    pretend("grep", 'case $* in *avx2*) exit 0 ;; esac\nexec /bin/grep "$@"');
    writeBoth(release, "1.0.0");
    writeRelease(release, { version: "1.1.0", target: "linux-x64-baseline" });
    await install({ args: ["--from", release] });
    expect(installedVersion()).toBe("orrery 1.1.0 (a test)\n");
  });

  test("takes the version that VERSION names, and lists them if there is none", async () => {
    for (const version of ["1.0.0", "1.1.0", "1.2.0-rc.1"]) writeBoth(release, version);
    for (const wanted of ["1.0.0", "v1.0.0", "1.2.0-rc.1"]) {
      await install({ args: ["--from", release], env: { VERSION: wanted } });
      expect(installedVersion()).toBe(`orrery ${wanted.replace("v", "")} (a test)\n`);
    }
    const { code, stderr } = await install({ args: ["--from", release], env: { VERSION: "9.9.9" } });
    expect([code, stderr]).toEqual([1, expect.stringContaining("version 9.9.9 is not listed")]);
    expect(stderr).toContain("only 1.0.0 1.1.0 1.2.0-rc.1\n");
    expect(installedVersion()).toBe("orrery 1.2.0-rc.1 (a test)\n");
  });

  test("goes back to an older version only for who names it, and says so", async () => {
    writeBoth(release, "0.10.0");
    await install({ args: ["--from", release] });
    writeFileSync(join(release, "SHA256SUMS"), "");
    writeBoth(release, "0.9.0");
    const unasked = await install({ args: ["--from", release] });
    expect([unasked.code, unasked.stderr]).toEqual([
      1,
      `Cannot install Orrery: 0.10.0 is installed, and the newest release in ${release} is 0.9.0: to go back to it, set VERSION=0.9.0\n`,
    ]);
    expect([readdirSync(folder), installedVersion()]).toEqual([["orrery"], "orrery 0.10.0 (a test)\n"]);
    const { code, stderr } = await install({ args: ["--from", release], env: { VERSION: "0.9.0" } });
    expect([code, stderr]).toEqual([0, expect.stringMatching(/^Going back from 0\.10\.0, which is installed, to 0\.9\.0/)]);
    expect(installedVersion()).toBe("orrery 0.9.0 (a test)\n");
    const again = await install({ args: ["--from", release] });
    expect([again.code, again.stderr.includes("Going back")]).toEqual([0, false]);
  });

  describe("tells whose shell does not find the completions how to add them,", () => {
    const lineFor = (shell: string, stderr: string) =>
      new RegExp(`^${shell} does not find the completions by itself: add to ~/[^:]*: (.*)$`, "m").exec(stderr)?.[1];
    const completes: readonly (readonly [shell: string, ask: string, answer: string])[] = [
      ["bash", "complete -p orrery", "complete -W 'there' orrery\n"],
      ["zsh", "autoload -Uz compinit; compinit -u -D; print $_comps[orrery]", "_orrery\n"],
      ["fish", 'complete -C "orrery t"', "there\n"],
    ];
    for (const [shell, ask, answer] of completes) {
      test.skipIf(!has(shell))(`${shell} by a line that works, wherever it is (needs ${shell})`, async () => {
        bring(shell);
        const place = join(root, "a prefix/bin");
        writeBoth(release, "1.0.0");
        const { stderr } = await install({ args: ["--from", release], env: { INSTALL_DIR: place } });
        const line = lineFor(shell, stderr);
        const env = { PATH: `${place}:${process.env["PATH"]}`, HOME: join(root, "home") };
        const found = spawnSync(shell, [...(shell === "zsh" ? ["-f"] : []), "-c", `${line}\n${ask}`], { encoding: "utf8", env });
        expect([line, found.stdout]).toEqual([expect.stringContaining(join(root, "a prefix/share")), answer]);
      }, 30_000);
    }

    test.skipIf(!has("zsh") || !has("fish"))("asks the shells, and runs nothing that their user wrote (needs zsh and fish)", async () => {
      for (const name of ["bash", "zsh", "fish"]) bring(name);
      bring("touch");
      const home = join(root, "home");
      const ran = join(root, "ran");
      for (
        const name of [
          ".zshenv",
          ".zshrc",
          ".bashrc",
          ".bash_completion",
          ".config/fish/config.fish",
          ".local/share/fish/vendor_conf.d/x.fish",
        ]
      ) {
        mkdirSync(join(home, name, ".."), { recursive: true });
        writeFileSync(join(home, name), `touch ${ran}\n`);
      }
      writeBoth(release, "1.0.0");
      const share = join(home, ".local/share");
      const before = { INSTALL_DIR: join(home, ".local/bin"), BASH_ENV: join(home, ".bashrc") };
      const { stderr } = await install({ args: ["--from", release], env: before });
      expect([lineFor("zsh", stderr), lineFor("fish", stderr)]).toEqual([`fpath=("${share}/zsh/site-functions" $fpath)`, undefined]);
      const told = await install({ args: ["--from", release], env: { ...before, FPATH: join(share, "zsh/site-functions") } });
      expect([lineFor("zsh", told.stderr), existsSync(ran)]).toEqual([undefined, false]);
      expect(readdirSync(home).toSorted()).toEqual([".bash_completion", ".bashrc", ".config", ".local", ".zshenv", ".zshrc"]);
      expect(readdirSync(join(home, ".config"), { recursive: true })).toEqual(["fish", "fish/config.fish"]);
      expect(readdirSync(join(share, "fish")).toSorted()).toEqual(["vendor_completions.d", "vendor_conf.d"]);
    }, 30_000);

    const packaged = "/usr/share/bash-completion";
    test.skipIf(!isRoot || !has("unshare") || !existsSync(packaged))(
      "bash without a word where its package finds them (needs root, unshare and bash-completion)",
      async () => {
        bring("bash");
        const stand = join(root, "package");
        mkdirSync(stand);
        const looks = '__load_completion() { . "${XDG_DATA_HOME:-$HOME/.local/share}/bash-completion/completions/$1"; }\n';
        writeFileSync(join(stand, "bash_completion"), looks);
        writeBoth(release, "1.0.0");
        const shell = ["unshare", "--mount", "sh", "-c", `mount --bind '${stand}' ${packaged} && PATH='${tools}' && exec "$@"`, "sh", "sh"];
        for (const [prefix, told] of [["prefix", true], ["home/.local", false]] as const) {
          const { code, stderr } = await install({ shell, args: ["--from", release], env: { INSTALL_DIR: join(root, prefix, "bin") } });
          expect([prefix, code, lineFor("bash", stderr) !== undefined]).toEqual([prefix, 0, told]);
        }
      },
    );

    test("nobody who has none of these shells", async () => {
      writeBoth(release, "1.0.0");
      expect((await install({ args: ["--from", release] })).stderr).not.toContain("completions");
    });
  });

  describe("over HTTP", () => {
    const clients: readonly (readonly [title: string, bring: () => void, there: boolean])[] = [
      ["curl alone", () => bring("curl"), has("curl")],
      ["wget alone", () => bring("wget"), has("wget")],
      ["the wget of busybox", () => pretend("wget", 'exec busybox wget "$@"', "busybox"), has("busybox")],
      ["apt alone", () => undefined, existsSync("/usr/lib/apt/apt-helper")],
    ];
    for (const [title, prepare, there] of clients) {
      test.skipIf(!there)(`fetches with ${title} (if it is here)`, async () => {
        prepare();
        writeBoth(release, "1.0.0");
        const url = (await serve()).replace("http", "HTTP");
        const { code, stderr } = await install({ args: ["--from", `${url}/`] });
        expect({ code, stderr }).toMatchObject({ code: 0 });
        expect(stderr).not.toMatch(/^(?:W|warning):/im);
        expect(installedVersion()).toBe("orrery 1.0.0 (a test)\n");
      });
    }

    test.skipIf(existsSync("/usr/lib/apt/apt-helper"))("says what to install where nothing can fetch (not where apt can)", async () => {
      const { code, stderr } = await install({ args: ["--from", "http://127.0.0.1:9"] });
      expect([code, stderr.includes("neither curl nor wget")]).toEqual([1, true]);
    });

    test("comes through a pipe as well", async () => {
      bring("curl");
      writeBoth(release, "1.0.0");
      const { code } = await install({ args: ["-s", "--", "--from", await serve()], input: readFileSync(script, "utf8") });
      expect([code, installedVersion()]).toEqual([0, "orrery 1.0.0 (a test)\n"]);
    });

    for (const shell of shells) {
      test(`takes nothing from the folder it is piped into, by ${shell.join(" ")}`, async () => {
        const text = readFileSync(script, "utf8");
        // As a folder may be that somebody else filled: with a release, and a file by the name of the shell.
        writeBoth(root, "6.6.6");
        for (const name of ["sh", "dash", "bash", "zsh", "install.sh"]) writeFileSync(join(root, name), text);
        const ways: readonly Pick<Install, "input" | "args">[] = [
          { input: text },
          { input: text, args: ["-s"] },
          { input: text, args: ["-s", "--", "--stella"] },
          { input: text, args: ["-"] },
          { input: "", args: ["-c", text] },
        ];
        for (const { input = "", args = [] } of ways) {
          const { code, stderr } = await install({ shell, input, args });
          expect({ args: args.slice(0, 1), code, stderr }).toMatchObject({
            code: 1,
            stderr: expect.stringContaining("add --from URL or --from DIR"),
          });
          expect(existsSync(join(folder, "orrery"))).toBe(false);
        }
      });
    }

    test("finds the release beside it by the script's bare name too", async () => {
      writeBoth(root, "1.0.0");
      writeFileSync(join(root, "install.sh"), readFileSync(script));
      expect(await install({ file: "install.sh" })).toMatchObject({ code: 0 });
    });

    test("does nothing when its own text breaks off", async () => {
      bring("curl");
      writeBoth(release, "1.0.0");
      const text = readFileSync(script, "utf8");
      const url = await serve();
      for (const share of [0.3, 0.6, 0.95]) {
        await install({ args: ["-s", "--", "--from", url], input: text.slice(0, Math.floor(text.length * share)) });
        expect(existsSync(folder)).toBe(false);
      }
    });

    test("leaves nothing, and the old version, when the connection breaks off", async () => {
      bring("curl");
      await installOld();
      const url = await serve((path) => path.endsWith(".tar.gz") ? "cut" : "whole");
      const { code, stderr } = await install({ args: ["--from", url] });
      expect([code, stderr]).toEqual([1, expect.stringContaining("could not be fetched")]);
      expectOld();
    });

    test("leaves nothing, and the old version, when it is terminated in the middle", async () => {
      bring("curl");
      await installOld();
      const asked = Promise.withResolvers<void>();
      const url = await serve((path) => {
        if (!path.endsWith(".tar.gz")) return "whole";
        asked.resolve();
        return "stall";
      });
      const { code } = await install({
        args: ["--from", url],
        started: (pid) => void asked.promise.then(() => process.kill(-pid, "SIGTERM")),
      });
      expect(code).not.toBe(0);
      expectOld();
    });

    test("says which file is not there", async () => {
      bring("curl");
      writeBoth(release, "1.0.0");
      const { code, stderr } = await install({ args: ["--from", await serve((path) => path.endsWith(".tar.gz") ? "missing" : "whole")] });
      expect([code, stderr]).toEqual([1, expect.stringMatching(/orrery-1\.0\.0-linux-x64.*\.tar\.gz could not be fetched/)]);
      expect(readdirSync(folder)).toEqual([]);
    });
  });

  describe("refuses, and leaves what was there,", () => {
    const faults: readonly (readonly [title: string, spoil: (archive: string) => void, says: string])[] = [
      ["an archive of another sum", (archive) => appendFileSync(archive, "x"), "is not what SHA256SUMS says"],
      ["an archive that is cut", (archive) => truncateSync(archive, 100), "is not what SHA256SUMS says"],
      ["an archive that was cut before its sum was made", (archive) => {
        truncateSync(archive, 200);
        list(release, archive.slice(release.length + 1));
      }, "could not be unpacked"],
      ["an archive that is not there", (archive) => rmSync(archive), "is not there"],
    ];
    for (const [title, spoil, says] of faults) {
      test(title, async () => {
        await installOld();
        for (const name of readdirSync(release).filter((name) => name.startsWith("orrery-2"))) spoil(join(release, name));
        const { code, stderr } = await install({ args: ["--from", release] });
        expect([code, stderr]).toEqual([1, expect.stringContaining(says)]);
        expectOld();
      });
    }

    const programs: readonly (readonly [title: string, target: string, script: string, says: string])[] = [
      ["an executable that does not run", "linux-x64", "kill -ILL $$", "does not run here"],
      [
        "an executable for Alpine without its C++ library",
        "linux-x64-musl",
        "echo 'Error loading shared library libstdc++.so.6: No such file or directory (needed by orrery)' >&2; exit 127",
        "apk add libstdc++",
      ],
    ];
    for (const [title, target, script, says] of programs) {
      test(title, async () => {
        await installOld();
        writeRelease(release, { version: "3.0.0", target, script });
        const { code, stderr } = await install({ args: ["--from", release, "--target", target] });
        expect([code, stderr]).toEqual([1, expect.stringContaining(says)]);
        expectOld();
      });
    }

    test("a folder that it cannot write to, or make", async () => {
      writeBoth(release, "1.0.0");
      writeFileSync(join(root, "file"), "");
      for (const place of [...(isRoot ? ["/proc"] : ["/"]), join(root, "file/bin")]) {
        const { code, stderr } = await install({ args: ["--from", release], env: { INSTALL_DIR: place } });
        expect([code, stderr]).toEqual([1, expect.stringMatching(/cannot be (?:written to|made): set INSTALL_DIR/)]);
      }
    });

    test("a place with nothing to install, a target that is not one, and options it does not know", async () => {
      for (
        const [args, says] of [
          [["--from", root], "SHA256SUMS is not there"],
          [[], "there is nothing beside this script"],
          [["--from", release, "--target", "linux-sparc"], '"linux-sparc" is not one of'],
          [["--fast"], 'unknown argument "--fast"'],
          [["--from"], "--from needs a value"],
          [["--from", "ftp://example.com/orrery"], "ftp://example.com/orrery cannot be fetched from: --from names a folder, or a URL"],
          [["--from", "file:release"], "file:release cannot be fetched from"],
          [["--from", "file:///a%20release"], "has a % in it: name the folder by its plain path"],
        ] as const
      ) {
        const { code, stderr } = await install({ args });
        expect([code, stderr]).toEqual([1, expect.stringContaining(says)]);
        expect(existsSync(join(folder, "orrery"))).toBe(false);
      }
    });
  });

  describe("takes", () => {
    const machines: readonly (readonly [title: string, target: string, machine: Machine])[] = [
      ["the build for arm64", "linux-arm64", { machine: "aarch64" }],
      ["the one for musl on Alpine", "linux-arm64-musl", { machine: "aarch64", ldd: "echo 'musl libc (aarch64)' >&2; exit 1" }],
      ["the one for glibc where musl is installed beside it", "linux-arm64", { machine: "arm64", ldd: "echo 'ldd (GNU libc) 2.31'" }],
      ["the one for Apple's processors", "darwin-arm64", { system: "Darwin", machine: "arm64" }],
      ["that one too in a shell that Rosetta translates", "darwin-arm64", { system: "Darwin", machine: "x86_64", translated: true }],
      ["the one for Intel's on macOS", "darwin-x64", { system: "Darwin", machine: "x86_64" }],
    ];
    for (const [title, target, machine] of machines) {
      test(title, async () => {
        disguise(machine);
        expect(await chosen()).toBe(target);
      });
    }

    // A list of the processor's flags can only be changed by who may mount something over it.
    test.skipIf(!isRoot || !has("unshare"))("the baseline build without AVX2, and the other one with it", async () => {
      for (const [flags, suffix] of [["fpu sse4_2 avx", "-baseline"], ["fpu avx avx2 bmi2", ""]] as const) {
        const info = join(root, "cpuinfo");
        writeFileSync(info, `processor\t: 0\nflags\t\t: ${flags}\n`);
        const mounted = ["unshare", "--mount", "sh", "-c", `mount --bind '${info}' /proc/cpuinfo && exec "$@"`, "sh", "sh"];
        expect(await chosen(mounted)).toBe(`linux-x64${suffix}`);
        disguise({ machine: "x86_64", ldd: "echo 'musl libc (x86_64)'; exit 1" });
        expect(await chosen(mounted)).toBe(`linux-x64-musl${suffix}`);
        disguise({ machine: "x86_64" });
      }
    });

    for (
      const [title, machine, says] of [["FreeBSD", { system: "FreeBSD" }, "no build for FreeBSD"], [
        "32-bit machines",
        { machine: "i686" },
        "no build for i686",
      ]] as const
    ) {
      test(`nothing on ${title}, and says so`, async () => {
        disguise(machine);
        writeBoth(release, "1.0.0");
        const { code, stderr } = await install({ args: ["--from", release] });
        expect([code, stderr]).toEqual([1, expect.stringContaining(says)]);
      });
    }
  });
});

interface Install {
  readonly shell?: readonly string[];
  readonly file?: string;
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly input?: string;
  readonly started?: (pid: number) => void;
}

/** Runs install.sh with nothing on the PATH but what was brought. */
function install({ shell = ["sh"], file, args = [], env = {}, input, started }: Install): Promise<{ code: number | null; stderr: string }> {
  const [program = "", ...before] = shell;
  const path = program === "unshare" ? `${tools}:/usr/bin:/bin:/usr/sbin:/sbin` : tools;
  const found = spawnSync("sh", ["-c", `command -v ${program}`], { encoding: "utf8" }).stdout.trim();
  const child = spawn(found, [...before, ...(input === undefined ? [file ?? script] : []), ...args], {
    cwd: root,
    env: { PATH: path, HOME: join(root, "home"), TMPDIR: root, INSTALL_DIR: folder, ...env },
    stdio: ["pipe", "ignore", "pipe"],
    // The shell's $0 where the script has no file: a bare name, as from a command line.
    argv0: program,
    detached: true,
  });
  child.stdin.on("error", () => undefined).end(input ?? "");
  if (child.pid !== undefined) started?.(child.pid);
  let stderr = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => void (stderr += text));
  return new Promise((settle, fail) => {
    child.once("error", fail);
    child.once("close", (code) => settle({ code, stderr }));
  });
}

/** The target it looks for, by its complaint that there is no archive for it. */
async function chosen(shell: readonly string[] = ["sh"]): Promise<string | undefined> {
  writeFileSync(join(release, "SHA256SUMS"), "");
  const { stderr } = await install({ shell, args: ["--from", release] });
  return /lists no archive for (\S+)/.exec(stderr)?.[1] ?? stderr;
}

/** For this machine, whatever its processor. */
function writeBoth(where: string, version: string): void {
  writeRelease(where, { version, target: "linux-x64" }, { version, target: "linux-x64-baseline" });
}

async function installOld(): Promise<void> {
  writeBoth(release, "1.0.0");
  await install({ args: ["--from", release] });
  writeBoth(release, "2.0.0");
}

function expectOld(): void {
  expect([readdirSync(folder), installedVersion()]).toEqual([["orrery"], "orrery 1.0.0 (a test)\n"]);
}

function installedVersion(): string {
  return spawnSync(join(folder, "orrery"), ["version"], { encoding: "utf8" }).stdout;
}

function bring(name: string): void {
  const found = spawnSync("sh", ["-c", `command -v ${name}`], { encoding: "utf8" }).stdout.trim();
  if (found !== "") symlinkSync(realpathSync(found), join(tools, name));
}

/** A program that says what the test wants said; with `real` it may use that one. */
function pretend(name: string, body: string, real?: string): void {
  rmSync(join(tools, name), { force: true });
  if (real !== undefined) bring(real);
  writeFileSync(join(tools, name), `#!/bin/sh\n${body}\n`);
  chmodSync(join(tools, name), 0o755);
}

interface Machine {
  readonly system?: string;
  readonly machine?: string;
  readonly ldd?: string;
  readonly translated?: boolean;
}

function disguise(
  { system = "Linux", machine = "x86_64", ldd = "echo 'ldd (Debian GLIBC 2.36-9) 2.36'", translated = false }: Machine,
): void {
  pretend("uname", `case $1 in -m) echo ${machine} ;; *) echo ${system} ;; esac`);
  pretend("ldd", ldd);
  pretend("sysctl", translated ? "echo 1" : "exit 1");
}

type Fate = "whole" | "cut" | "missing" | "stall";

/** Serves the release. */
async function serve(fate: (path: string) => Fate = () => "whole"): Promise<string> {
  const started = createServer((request, response) => {
    const path = request.url ?? "/";
    const how = existsSync(join(release, path)) ? fate(path) : "missing";
    if (how === "missing") return void response.writeHead(404).end();
    const bytes = readFileSync(join(release, path));
    response.writeHead(200, { "content-length": bytes.length });
    if (how === "whole") return void response.end(bytes);
    response.write(bytes.subarray(0, bytes.length / 2), () => how === "cut" && response.destroy());
  });
  server = started;
  await new Promise<void>((listening) => void started.listen(0, "127.0.0.1", listening));
  return `http://127.0.0.1:${(started.address() as AddressInfo).port}`;
}
