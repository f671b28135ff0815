/**
 * What is published, used as a stranger would: the archives of compile.sh, installed into a bare Debian, and the images
 * of the Dockerfile with a read-only root, as PID 1. No engine is needed; root and debootstrap are.
 */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { execFileSync, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  chmodSync,
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { buildImage, canContain, type Container, copyRoot, type Image, inRoot, runImage, unpackDebian } from "../fixtures/image.ts";

const repository = join(import.meta.dirname, "../..");
const target = process.arch === "arm64" ? "linux-arm64" : "linux-x64-baseline";
const ORRERY_COMMIT = "0123456789ab";
interface Packages {
  readonly dependencies: Readonly<Record<string, string>>;
  readonly devDependencies: Readonly<Record<string, string>>;
}
const hasBinary = process.env["ORRERY_BINARY"] !== undefined;
let scratch: string;
let release: string;

beforeAll(() => {
  scratch = mkdtempSync(join(tmpdir(), "orrery-shipping-"));
  release = join(scratch, "context/dist/release");
  if (hasBinary && process.platform === "linux") publish(release, copySource("first"));
}, 120_000);
afterAll(() => rmSync(scratch, { recursive: true, force: true }), 60_000);

describe.skipIf(!hasBinary || process.platform !== "linux")("sh compile.sh --archive", () => {
  test("writes an archive, its sum, and a manifest that says the same and whether it was run", () => {
    const name = `orrery-${version()}-${target}.tar.gz`;
    expect(readdirSync(release).toSorted()).toEqual(["SHA256SUMS", "install.sh", "manifest.json", name].toSorted());
    const archive = readFileSync(join(release, name));
    const sum = createHash("sha256").update(archive).digest("hex");
    expect(readFileSync(join(release, "SHA256SUMS"), "utf8")).toBe(`${sum}  ${name}\n`);
    const manifest = JSON.parse(readFileSync(join(release, "manifest.json"), "utf8")) as { readonly targets: readonly object[] };
    expect(manifest).toMatchObject({
      schema_version: 1,
      name: "orrery",
      version: version(),
      commit: ORRERY_COMMIT,
      source_date_epoch: 1_790_000_000,
    });
    expect(manifest.targets).toMatchObject([{
      target,
      os: "linux",
      libc: "glibc",
      cpu: process.arch === "arm64" ? null : "x86-64-v2",
      archive_sha256: sum,
      archive_bytes: archive.length,
      ran: true,
    }]);
  });

  test("puts licence, documents, manual pages, completions and the service unit beside the executable", () => {
    const listing = execFileSync("tar", ["-tzf", join(release, `orrery-${version()}-${target}.tar.gz`)], { encoding: "utf8" }).split("\n");
    const files = ["orrery", "LICENSE", "man/orrery.1", "man/orrery-run.1", "completions/orrery.bash", "completions/_orrery"];
    for (
      const file of [
        ...files,
        "completions/orrery.fish",
        "completions/stella.bash",
        "completions/_stella",
        "completions/stella.fish",
        "orrery.service",
        "docs/containment.md",
        "THIRD-PARTY-NOTICES.txt",
      ]
    ) {
      expect(listing).toContain(`orrery-${version()}-${target}/${file}`);
    }
  });

  test("names every package that the executable holds, in the archive and in the executable itself", () => {
    const name = `orrery-${version()}-${target}`;
    execFileSync("tar", ["-C", scratch, "-xzf", join(release, `${name}.tar.gz`), name]);
    const notices = readFileSync(join(scratch, name, "THIRD-PARTY-NOTICES.txt"), "utf8");
    expect(execFileSync(join(scratch, name, "orrery"), ["version", "--licenses"], { encoding: "utf8" })).toBe(notices);
    const { dependencies, devDependencies } = JSON.parse(readFileSync(join(repository, "package.json"), "utf8")) as Packages;
    const shipped = Object.entries({ ...dependencies, bun: devDependencies["bun"] ?? "" });
    expect(shipped.filter(([each, is]) => !notices.toLowerCase().includes(`\n${each} ${is} (`))).toEqual([]);
    expect(notices).not.toContain("\ntypescript ");
    // A package that reached the executable keeps some of its names there, whatever the list says.
    const program = readFileSync(join(scratch, name, "orrery"), "latin1");
    const marks = { "@opentelemetry/api": "opentelemetry.js.api", jose: "JWSSignatureVerificationFailed", zod: "ZodError" };
    expect(Object.entries(marks).map(([each, mark]) => [each, program.includes(mark), notices.includes(`\n${each} `)])).toEqual(
      Object.keys(marks).map((each) => [each, true, true]),
    );
  });

  test("writes the same bytes again from another folder", () => {
    const again = join(scratch, "again");
    publish(again, copySource("second"));
    for (const name of ["SHA256SUMS", "manifest.json", "install.sh"]) {
      expect(readFileSync(join(again, name), "utf8")).toBe(readFileSync(join(release, name), "utf8"));
    }
  }, 120_000);
});

describe.skipIf(!hasBinary || !canContain)("in a bare Debian (needs root and debootstrap)", () => {
  let debian: string;
  let image: Image;

  beforeAll(() => {
    debian = join(scratch, "debian");
    unpackDebian(debian);
    cpSync(join(release, "install.sh"), join(scratch, "context/install.sh"));
    image = buildImage(join(repository, "Dockerfile"), "slim", { context: join(scratch, "context"), base: debian, scratch });
  }, 300_000);

  test("there is nothing that a slim image does not have", () => {
    for (const program of ["curl", "wget", "python3", "rg", "ps"]) {
      expect(inRoot(debian, "sh", "-c", `command -v ${program}`).stdout).toBe("");
    }
  });

  test("install.sh installs from a folder in less than five seconds", () => {
    const root = copyRoot(debian, join(scratch, "installed"));
    cpSync(release, join(root, "release"), { recursive: true });
    const started = performance.now();
    const { status, stderr } = inRoot(root, "sh", "/release/install.sh", "--target", target);
    expect({ status, stderr }).toMatchObject({ status: 0, stderr: expect.stringContaining("Installed /usr/local/bin/orrery") });
    expect(performance.now() - started).toBeLessThan(5000);
    expect(existsSync(join(root, "usr/local/share/man/man1/orrery.1"))).toBe(true);
    expect(existsSync(join(root, "usr/local/share/doc/orrery/THIRD-PARTY-NOTICES.txt"))).toBe(true);
  }, 30_000);

  test("the one file is enough: a whole session by a user without a name or a home, on a read-only root", async () => {
    const root = copyRoot(debian, join(scratch, "one-file"));
    copyFileSync(join(image.root, "usr/local/bin/orrery"), join(root, "usr/local/bin/orrery"));
    const home = folderForAll("one-file-home");
    const plain = { ...image, root, env: { ORRERY_HOME: "/mnt" }, workdir: "/tmp" };
    const { code, stdout, stderr } = await finish(
      runImage(plain, { command: ["orrery", "demo"], mounts: { "/mnt": home }, user: "54321:54321", tmp: "exec" }),
    );
    expect({ code, stdout, stderr }).toMatchObject({ code: 0, stdout: expect.stringContaining("The tool says: 31 words.") });
    const noexec = await finish(runImage(plain, { command: ["orrery", "demo"], mounts: { "/mnt": home }, user: "54321:54321" }));
    expect(noexec).toMatchObject({ code: 1, stderr: expect.stringContaining('is on "/tmp", which is mounted noexec') });
    const homeless = runImage({ ...plain, env: {} }, { command: ["orrery", "demo"], mounts: {}, user: "54321:54321" });
    expect(await finish(homeless)).toEqual({
      code: 5,
      stdout: "",
      stderr: "orrery: Cannot tell where to keep sessions as there is no home directory: set ORRERY_HOME to a writable directory\n",
    });
  }, 60_000);

  test("the image has the one file on its PATH, under both names, and a user of its own", () => {
    expect(readdirSync(join(image.root, "usr/local/bin")).toSorted()).toEqual(["orrery", "stella"]);
    expect(readdirSync(join(image.root, "usr/local/share/doc/orrery")).toSorted()).toEqual(["LICENSE", "THIRD-PARTY-NOTICES.txt"]);
    expect([image.user, image.volumes, image.env]).toEqual(["orrery", ["/data"], { ORRERY_HOME: "/data" }]);
  });

  test("the command lines of Stella's pages work as they are printed", async () => {
    const work = folderForAll("stella-work");
    const data = folderForAll("stella-data");
    mkdirSync(join(data, "config"));
    writeFileSync(
      join(work, "script.json"),
      JSON.stringify({ replies: [{ calls: [{ name: "hello", arguments: {} }] }, { text: "{{result hello}}" }] }),
    );
    writeFileSync(join(data, "config/settings.json"), JSON.stringify({ model: "script:/work/script.json", trust: "all" }));
    for (const folder of [".stella/tools", "mytools"]) {
      mkdirSync(join(work, folder), { recursive: true });
      writeFileSync(
        join(work, folder, "hello.toml"),
        'name = "hello"\ndescription = "Says hello."\ncommand = ["sh", "-c", "echo hello from pid $$"]\n',
      );
    }
    const stella = (...args: readonly string[]) =>
      finish(runImage(image, { command: ["stella", ...args], mounts: { "/work": work, "/data": data } }));
    const { code, stdout: help } = await stella("run", "--help");
    expect([code, help.includes('\n  stella run "'), help.includes("orrery run")]).toEqual([0, true, false]);
    expect(await stella("tools")).toMatchObject({ code: 0, stdout: expect.stringMatching(/hello/) });
    expect(await stella("tools", "--validate", "./mytools")).toMatchObject({
      code: 0,
      stderr: expect.stringContaining("1 checked: 0 with errors"),
    });
    expect(await stella("run", "run the migration and fix what breaks")).toMatchObject({
      code: 0,
      stdout: expect.stringContaining("hello from pid"),
    });
  }, 60_000);

  test("without any folder for temporary files script tools and hooks run, and doctor says what others may miss", async () => {
    const work = folderForAll("bare-work");
    const data = folderForAll("bare-data");
    mkdirSync(join(data, "config"));
    mkdirSync(join(work, ".stella/tools"), { recursive: true });
    const hook = { hooks: [{ type: "command", command: "cat > /work/asked" }] };
    const settings = { model: "script:/work/script.json", trust: "all", hooks: { PreToolUse: [hook] } };
    writeFileSync(join(data, "config/settings.json"), JSON.stringify(settings));
    const replies = [{ calls: [{ name: "echo", arguments: { said: "by a file" } }] }, { text: "{{result echo}}" }];
    writeFileSync(join(work, "script.json"), JSON.stringify({ replies }));
    writeFileSync(join(work, ".stella/tools/echo.toml"), 'name = "echo"\ndescription = "Says what it is given."\ncommand = ["cat"]\n');
    const bare = (...command: readonly string[]) =>
      finish(runImage(image, { command, mounts: { "/work": work, "/data": data }, tmp: "none" }));
    expect(await bare("sh", "-c", "for f in / /tmp /var/tmp /dev/shm; do touch $f/x 2>/dev/null && echo $f; done; true")).toMatchObject({
      code: 0,
      stdout: "",
    });
    expect(await bare("orrery", "run", "go")).toMatchObject({ code: 0, stdout: expect.stringContaining('"said":"by a file"') });
    expect(readFileSync(join(work, "asked"), "utf8")).toContain("by a file");
    const { code, stdout } = await bare("orrery", "doctor", "--json");
    const { findings } = JSON.parse(stdout) as { readonly findings: readonly object[] };
    expect(code).toBe(0);
    expect(findings).toContainEqual({
      check: "machine",
      level: "warning",
      text: expect.stringMatching(/^Temporary files cannot be made in \/tmp \(EROFS/),
      remedy: expect.stringContaining("--tmpfs /tmp"),
    });
  }, 60_000);

  test("as PID 1 the server is healthy, collects what tools leave behind, and lets a running turn end on SIGTERM", async () => {
    const data = folderForAll("serve-data");
    const work = folderForAll("serve-work");
    const left = "setsid sh -c 'sleep 0.2' >/dev/null 2>&1 & sleep 0.1; touch began; while [ ! -e go ]; do sleep 0.05; done; echo done";
    writeFileSync(
      join(work, "script.json"),
      JSON.stringify({ replies: [{ calls: [{ name: "bash", arguments: { command: left } }] }, { text: "all {{result bash}}" }] }),
    );
    const container = runImage(image, {
      command: [...image.command, "--port", "0", "--json", "--mode", "yolo", "--model", "script:/work/script.json"],
      mounts: { "/work": work, "/data": data },
    });
    const ended = finish(container);
    try {
      const { url } = JSON.parse(await firstLine(container)) as { readonly url: string };
      const port = new URL(url).port;
      const health = image.healthcheck.map((word) => word.replace("4760", port));
      expect(container.exec(...health).status).toBe(0);

      const api = `http://127.0.0.1:${port}/v1/sessions`;
      const headers = { authorization: `Bearer ${readFileSync(join(data, "token"), "utf8").trim()}`, "content-type": "application/json" };
      const post = async (path: string, body: object) =>
        await (await fetch(`${api}${path}`, { method: "POST", headers, body: JSON.stringify(body) })).json();
      const { session } = await post("", { workspace: "/work" }) as { readonly session: string };
      await post(`/${session}/prompts`, { text: "go" });
      await until(() => existsSync(join(work, "began")));
      process.kill(container.pid(), "SIGTERM");
      await until(() => container.exec(...health).status === 1);
      writeFileSync(join(work, "go"), "");
      expect(await ended).toMatchObject({ code: 0 });

      const shown = await finish(
        runImage(image, { command: ["orrery", "sessions", "show", session, "--json"], mounts: { "/work": work, "/data": data } }),
      );
      expect(JSON.parse(shown.stdout)).toMatchObject({ status: "idle", turns: 1 });
      expect(shown.stdout).toContain("all done");
    } finally {
      container.kill();
      await ended;
    }
  }, 90_000);

  test("as PID 1 no zombie stays behind", async () => {
    const data = folderForAll("zombie-data");
    const work = folderForAll("zombie-work");
    const orphan = "for i in 1 2 3 4 5; do (setsid sh -c 'exit 0' &) ; done; sleep 0.1; echo left";
    const count = "n=0; for s in /proc/[0-9]*/stat; do case $(cat $s 2>/dev/null) in *') Z '*) n=$((n+1));; esac; done; echo zombies=$n";
    const call = (command: string) => ({ calls: [{ name: "bash", arguments: { command } }] });
    // What a call left is collected within seconds of its end.
    const replies = [call(orphan), call("sleep 6"), call(count), { text: "done" }];
    writeFileSync(join(work, "script.json"), JSON.stringify({ replies }));
    const command = ["orrery", "run", "--model", "script:/work/script.json", "--output-format", "json", "--events", "go"];
    const { code, stdout } = await finish(runImage(image, { command, mounts: { "/work": work, "/data": data } }));
    expect([code, /zombies=\d+/.exec(stdout.slice(stdout.lastIndexOf("call_ended")))?.[0]]).toEqual([0, "zombies=0"]);
  }, 60_000);
});

/** A copy of the source, from the first one if there is one: somebody may be at work on the repository. */
function copySource(name: string): string {
  const copy = join(scratch, name);
  const first = join(scratch, "first");
  if (existsSync(first)) return copyFolder(first, copy);
  const listed = execFileSync("git", ["-C", repository, "ls-files", "-co", "--exclude-standard", "-z"], { encoding: "utf8" }).split("\0");
  const files = listed.filter((path) => path !== "" && existsSync(join(repository, path)));
  for (const path of files) cpSync(join(repository, path), join(copy, path));
  copyFolder(join(repository, "node_modules"), join(copy, "node_modules"));
  return copy;
}

/** By hard links where that is possible. A symbolic link to node_modules would make other bytes. */
function copyFolder(from: string, to: string): string {
  if (spawnSync("cp", ["-al", from, to]).status !== 0) execFileSync("cp", ["-a", from, to]);
  return to;
}

function publish(output: string, source: string): void {
  const { status, stderr } = spawnSync("sh", [join(source, "compile.sh"), "--archive", "--target", target, "--output", output], {
    encoding: "utf8",
    env: { ...process.env, ORRERY_COMMIT, SOURCE_DATE_EPOCH: "1790000000" },
  });
  if (status !== 0) throw new Error(`compile.sh failed: ${stderr}`);
}

function version(): string {
  return (JSON.parse(readFileSync(join(repository, "package.json"), "utf8")) as { readonly version: string }).version;
}

/** Whoever the user of a container is may write to it. */
function folderForAll(name: string): string {
  const folder = join(scratch, name);
  mkdirSync(folder);
  chmodSync(folder, 0o777);
  return folder;
}

async function finish({ child }: Container): Promise<{ readonly code: number | null; readonly stdout: string; readonly stderr: string }> {
  let [stdout, stderr] = ["", ""];
  child.stdout?.setEncoding("utf8").on("data", (text: string) => void (stdout += text));
  child.stderr?.setEncoding("utf8").on("data", (text: string) => void (stderr += text));
  const code = await new Promise<number | null>((settle, fail) => void child.once("error", fail).once("close", settle));
  return { code, stdout, stderr };
}

async function firstLine({ child }: Container): Promise<string> {
  return await new Promise((settle, fail) => {
    let text = "";
    child.stdout?.on("data", (chunk: string) => {
      text += chunk;
      if (text.includes("\n")) settle(text.slice(0, text.indexOf("\n")));
    });
    child.once("close", () => fail(new Error(`It ended before it said where it listens: ${text}`)));
  });
}

async function until(holds: () => boolean): Promise<void> {
  const deadline = performance.now() + 20_000;
  while (!holds()) {
    if (performance.now() > deadline) throw new Error("Nothing happened within 20 s");
    await new Promise((resume) => setTimeout(resume, 30));
  }
}
