import { execFile } from "node:child_process";
import { mkdir, mkdtemp, open, readdir, realpath, rename, rm, symlink, writeFile } from "node:fs/promises";
import { homedir, tmpdir } from "node:os";
import { join, relative } from "node:path";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { InvalidRequestError } from "../../../src/core/errors.ts";
import { createMediaReader, findOpenedPath, isLocalPath } from "../../../src/kit/media/media-reader.ts";

const FIELD = "messages[0].content[0].image.url";

let folder: string;
let root: string;

beforeAll(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), "media-reader-")));
  root = join(folder, "root");
  await mkdir(join(root, "inner"), { recursive: true });
  await mkdir(join(folder, "root-beside"));
  await writeFile(join(root, "a.txt"), "inside");
  await writeFile(join(root, "inner", "b.txt"), "deeper");
  await writeFile(join(root, "empty.txt"), "");
  await writeFile(join(folder, "secret.txt"), "secret");
  await writeFile(join(folder, "root-beside", "c.txt"), "secret");
  await symlink(join(root, "inner", "b.txt"), join(root, "link-inside.txt"));
  await symlink(join(folder, "secret.txt"), join(root, "link-out.txt"));
  await symlink(folder, join(root, "folder-out"));
  await symlink(root, join(folder, "link-to-root"));
  await symlink(join(root, "loop"), join(root, "loop"));
});

afterAll(() => rm(folder, { recursive: true }));

async function read(path: string, roots = [root], maxBytes = 100): Promise<string> {
  const bytes = await createMediaReader({ allowFilesUnder: roots, maxBytes }).read(path, FIELD);
  return bytes.toString();
}

describe("createMediaReader()", () => {
  it("reads files under its roots, however their path is written", async () => {
    const path = join(root, "a.txt");
    expect(await read(path)).toBe("inside");
    expect(await read(pathToFileURL(path).href)).toBe("inside");
    expect(await read(`./${relative(process.cwd(), path)}`)).toBe("inside");
    expect(await read(`~/${relative(homedir(), path)}`)).toBe("inside");
    expect(await read(join(root, "inner/../inner/./b.txt"))).toBe("deeper");
    expect(await read(path, [join(folder, "nowhere"), `${root}/`])).toBe("inside");
    expect(await read(path, ["/"])).toBe("inside");
  });

  it("follows links that stay inside, even if the root is one", async () => {
    expect(await read(join(root, "link-inside.txt"))).toBe("deeper");
    const linked = join(folder, "link-to-root");
    expect(await read(join(linked, "a.txt"), [linked])).toBe("inside");
    expect(await read(join(root, "a.txt"), [linked])).toBe("inside");
  });

  it.each([
    ["a file beside the root", () => join(folder, "secret.txt")],
    ["a folder whose name begins like the root's", () => join(folder, "root-beside", "c.txt")],
    ["a path that climbs out", () => `${root}/../secret.txt`],
    ["a file: URL that climbs out", () => `file://${root}/%2e%2e/secret.txt`],
    ["a link to a file outside", () => join(root, "link-out.txt")],
    ["a link to a folder outside", () => join(root, "folder-out", "secret.txt")],
    ["a file outside that does not exist", () => join(folder, "absent.txt")],
    ["the secrets of a container", () => "/var/run/secrets/kubernetes.io/serviceaccount/token"],
    ["the environment of this process", () => "/proc/self/environ"],
    ["the root itself", () => root],
  ])("refuses %s, always with the same words", async (_name, path) => {
    const refused = read(path());
    await expect(refused).rejects.toBeInstanceOf(InvalidRequestError);
    await expect(refused).rejects.toThrow(
      `${FIELD}: is a path outside the folders that media.allow_files_under (in the library the option allowFilesUnder) names`,
    );
  });

  it("refuses everything if no root is named", async () => {
    const refused = read(join(root, "a.txt"), []);
    await expect(refused).rejects.toMatchObject({ violations: [{ field: FIELD }] });
    await expect(refused).rejects.toThrow("reading files is not allowed");
  });

  it.each([
    ["a folder", "inner", "not a regular file"],
    ["an empty file", "empty.txt", "empty file"],
    ["a file that does not exist", "absent.png", "does not exist"],
    ["a link to itself", "loop", "cannot be read (ELOOP)"],
    ["a file taken for a folder", "a.txt/b", "cannot be read (ENOTDIR)"],
    ["a path with a NUL character", "a.txt\0.png", "NUL character"],
  ])("refuses %s", async (_name, path, want) => {
    await expect(read(`${root}/${path}`)).rejects.toThrow(want);
  });

  it("refuses a pipe without waiting for its writer", async () => {
    await promisify(execFile)("mkfifo", [join(root, "pipe")]);
    await expect(read(join(root, "pipe"))).rejects.toThrow("not a regular file");
  });

  it("does not even open a file outside that a link names, since opening may have effects", async () => {
    const pipe = join(folder, "pipe-outside");
    await promisify(execFile)("mkfifo", [pipe]);
    await symlink(pipe, join(root, "link-to-pipe"));
    let opened = false;
    const writer = open(pipe, "w").then((handle) => {
      opened = true;
      return handle.close();
    });
    await expect(read(join(root, "link-to-pipe"))).rejects.toThrow("outside the folders");
    expect(opened).toBe(false);
    await Promise.all([writer, open(pipe, "r").then((handle) => handle.close())]);
  });

  it.runIf(process.platform === "linux")("leaves no file open", async () => {
    const count = async () => (await readdir("/proc/self/fd")).length;
    const before = await count();
    for (const name of ["a.txt", "inner", "empty.txt", "link-out.txt", "absent"]) {
      for (let round = 0; round < 20; round += 1) await read(join(root, name)).catch(() => undefined);
    }
    expect(await count()).toBeLessThan(before + 20);
  });

  it("takes exactly the limit, and refuses a larger file by its size", async () => {
    expect(await read(join(root, "a.txt"), [root], 6)).toBe("inside");
    await expect(read(join(root, "a.txt"), [root], 5)).rejects.toThrow(
      "a file of 6 bytes; at most 5 are allowed",
    );
  });

  it("distinguishes base64 in the url from a path, and does not repeat it", async () => {
    const refused = read(`/9j/4AAQSkZJRg${"A".repeat(5000)}`);
    await expect(refused).rejects.toThrow("base64 belongs in data or a data: URI");
    await expect(refused).rejects.not.toThrow("4AAQ");
  });

  it.each([
    ["~other/a.txt", "home folder of another user"],
    ["file://host/a.txt", "malformed file: URL"],
    ["file:///a%2Fb", "malformed file: URL"],
  ])("refuses %s", async (path, want) => {
    await expect(read(path)).rejects.toThrow(want);
  });

  it("never reads a file outside while a folder is swapped for a link all the time", async () => {
    const [swapped, real, link] = ["swapped", "real", "link"].map((name) => join(root, name)) as [
      string,
      string,
      string,
    ];
    await mkdir(join(swapped), { recursive: true });
    await writeFile(join(swapped, "secret.txt"), "harmless");
    await symlink(folder, link);
    let running = true;
    const swapping = (async () => {
      while (running) {
        await rename(swapped, real);
        await rename(link, swapped);
        await rename(swapped, link);
        await rename(real, swapped);
      }
    })();
    const outcomes = new Set<string>();
    for (let round = 0; round < 2000; round += 1) {
      outcomes.add(await read(join(swapped, "secret.txt")).catch((error: Error) => error.name));
    }
    running = false;
    await swapping;
    expect(outcomes).not.toContain("secret");
  });
});

describe("findOpenedPath()", () => {
  it.each([
    ["as Linux tells it", "/proc/self/fd"],
    ["by comparing files elsewhere", "/nowhere"],
  ])("finds the file that is open, %s", async (_name, descriptors) => {
    await using handle = await open(join(root, "a.txt"));
    expect(await findOpenedPath(handle, join(root, "a.txt"), descriptors)).toBe(join(root, "a.txt"));
  });

  it("detects that another file is open than the path names", async () => {
    await using handle = await open(join(folder, "secret.txt"));
    expect(await findOpenedPath(handle, join(root, "a.txt"))).toBe(join(folder, "secret.txt"));
    expect(await findOpenedPath(handle, join(root, "a.txt"), "/nowhere")).toBeUndefined();
    expect(await findOpenedPath(handle, join(root, "absent"), "/nowhere")).toBeUndefined();
  });
});

describe("isLocalPath()", () => {
  it.each([
    ["/a.png", true],
    ["./a.png", true],
    ["../a.png", true],
    ["~/a.png", true],
    ["file:///a.png", true],
    ["FILE:/a.png", true],
    ["a.png", false],
    [".a.png", false],
    ["https://a/b.png", false],
    ["data:,x", false],
  ])("%s: %s", (url, want) => {
    expect(isLocalPath(url)).toBe(want);
  });
});
