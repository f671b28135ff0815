import { expect, test } from "bun:test";
import { findMount } from "../../lib/platform/mounts.ts";

const MOUNTS = `22 1 0:20 / / rw,relatime - overlay overlay rw
23 22 0:21 / /tmp rw,nosuid,nodev,noexec,relatime - tmpfs tmpfs rw
24 23 0:22 / /tmp/built rw,relatime - tmpfs tmpfs rw
25 22 0:23 / /mnt/a\\040disk ro,noexec shared:1 - ext4 /dev/sdb rw
26 22 0:24 / /twice rw,noexec - tmpfs tmpfs rw
27 26 0:25 / /twice rw - tmpfs tmpfs rw
`;

test("names the mount of a path if it has the option, by the innermost, and of two on one place by the later", () => {
  const found = ["/tmp", "/tmp/x/y", "/tmp/built/x", "/tmpfs/x", "/mnt/a disk/x", "/twice/x", "/usr/bin/sh", "/"].map((path) =>
    findMount(MOUNTS, "noexec", path)
  );
  expect(found).toEqual(["/tmp", "/tmp", null, null, "/mnt/a disk", null, null, null]);
  expect(["/mnt/a disk", "/tmp"].map((path) => findMount(MOUNTS, "ro", path))).toEqual(["/mnt/a disk", null]);
  expect(findMount("", "noexec", "/tmp")).toBe(null);
});
