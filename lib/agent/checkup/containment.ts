/** What stands around this process, as far as it shows from inside. Orrery itself does not sandbox single commands. */
import { accessSync, constants, existsSync, readFileSync } from "node:fs";
import process from "node:process";
import type { Environment } from "../../config/paths.ts";
import { describeMachine } from "../../platform/machine.ts";
import type { Finding } from "./finding.ts";

export function checkContainment(env: Environment): readonly Finding[] {
  const container = findContainer(env);
  return [
    aroundUs(container),
    ...(container === null ? [] : wayOut(findEngineSocket(), effectiveCapabilities())),
  ];
}

function aroundUs(container: string | null): Finding {
  const user = process.getuid?.() === 0 ? "root" : "this user";
  if (container !== null) return { check: "containment", level: "ok", text: `Inside a container (${container}), as ${user}` };
  const remedy = "Run the whole of Orrery in a container if that is too much: containment.md among the documents says how";
  if (describeMachine().virtual) {
    return {
      check: "containment",
      level: "note",
      text: `In a virtual machine and no container: tools can do what ${user} can do in it`,
      remedy,
    };
  }
  const level = user === "root" ? "warning" : "note";
  return { check: "containment", level, text: `Nothing contains this process: tools can do what ${user} can do on this machine`, remedy };
}

/** What a tool could leave the container by. */
export function wayOut(socket: string | null, capabilities: bigint | null): readonly Finding[] {
  return [
    ...(socket === null ? [] : [
      {
        check: "containment",
        level: "warning",
        text: `${socket} can be written to: whoever talks to the container engine can leave the container`,
        remedy: "Do not mount it",
      } as const,
    ]),
    ...(capabilities === null || (capabilities & CAP_SYS_ADMIN) === 0n ? [] : [
      {
        check: "containment",
        level: "warning",
        text: "This container is privileged (CAP_SYS_ADMIN): root in it can leave it",
        remedy: "Start it without --privileged, and best with --cap-drop ALL and as another user than root",
      } as const,
    ]),
  ];
}

const CAP_SYS_ADMIN = 1n << 21n;

function findContainer(env: Environment): string | null {
  if (existsSync("/.dockerenv")) return "Docker";
  if (existsSync("/run/.containerenv")) return "Podman";
  if (env["KUBERNETES_SERVICE_HOST"] !== undefined) return "Kubernetes";
  if (env["container"] !== undefined && env["container"] !== "") return env["container"];
  const named = /docker|kubepods|containerd|libpod|lxc/.exec(readText("/proc/self/cgroup"));
  if (named !== null) return named[0];
  return / \/ \/ [^\n]* - overlay /.test(readText("/proc/self/mountinfo")) ? "the root is an overlay" : null;
}

function findEngineSocket(): string | null {
  return ["/var/run/docker.sock", "/run/docker.sock", "/run/podman/podman.sock", "/run/containerd/containerd.sock"].find(isWritable) ??
    null;
}

function isWritable(path: string): boolean {
  try {
    accessSync(path, constants.W_OK);
    return true;
  } catch {
    // It is not there, or not ours to write to.
    return false;
  }
}

function effectiveCapabilities(): bigint | null {
  const found = /^CapEff:\s*([0-9a-f]+)$/m.exec(readText("/proc/self/status"))?.[1];
  return found === undefined ? null : BigInt(`0x${found}`);
}

function readText(path: string): string {
  try {
    return readFileSync(path, "latin1");
  } catch {
    // Not Linux, or no /proc.
    return "";
  }
}
