/** The stores that sidecars use here. */
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, statfsSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Postgres } from "../support/postgres/start-postgres.ts";

/** Names of stores. */
export type StoreName = "sqlite" | "postgres";

/** A store. */
export interface ChaosStore {
  readonly name: StoreName;
  /** The setting `runs.store`. */
  readonly location: string;
  /** Whether several sidecars can use it at the same time. */
  readonly isShared: boolean;
  /** Stops the database, and starts it again. A file has no such fault. */
  readonly outage?: { begin(): Promise<void>; end(): Promise<void> };
  /** Fills the disk, and frees it again. Only a file on a separate file system has it. */
  readonly disk?: { fill(): void; free(): void };
  close(): Promise<void>;
}

/** Why there is no such store on this machine. */
export class Unavailable extends Error {}

/** A file in a temporary folder. */
export function openSqlite(): ChaosStore {
  const folder = mkdtempSync(join(tmpdir(), "outrigger-chaos-"));
  return {
    name: "sqlite",
    location: join(folder, "runs.db"),
    isShared: false,
    close: async () => rmSync(folder, { recursive: true }),
  };
}

/** The size of a disk that the load of some seconds does not fill. */
const DISK_SIZE = "64m";

/** A file on a small file system in memory, which only root can mount. */
export function openSqliteOnSmallDisk(): ChaosStore {
  const folder = mkdtempSync(join(tmpdir(), "outrigger-chaos-disk-"));
  try {
    execFileSync("mount", ["-t", "tmpfs", "-o", `size=${DISK_SIZE}`, "tmpfs", folder], { stdio: "pipe" });
  } catch (error) {
    rmSync(folder, { recursive: true });
    throw new Unavailable(`a small file system cannot be mounted here: ${error}`);
  }
  const unmount = () => {
    // Lazily: sidecars that were killed a moment ago may still have the file open.
    execFileSync("umount", ["--lazy", folder]);
    rmSync(folder, { recursive: true });
  };
  process.once("exit", unmount);
  const filler = join(folder, "filler");
  return {
    name: "sqlite",
    location: join(folder, "runs.db"),
    isShared: false,
    disk: {
      fill() {
        const { bavail, bsize } = statfsSync(folder);
        try {
          writeFileSync(filler, Buffer.alloc(bavail * bsize));
        } catch (error) {
          // The sidecar has taken the last pages in the meantime.
          if ((error as NodeJS.ErrnoException).code !== "ENOSPC") throw error;
        }
      },
      free: () => rmSync(filler, { force: true }),
    },
    async close() {
      process.off("exit", unmount);
      unmount();
    },
  };
}

/** A separate server. */
export async function openPostgres(): Promise<ChaosStore> {
  const postgres = await Postgres.start();
  if (postgres === undefined) throw new Unavailable("no PostgreSQL works here, see CONTRIBUTING.md");
  return {
    name: "postgres",
    location: postgres.url(),
    isShared: true,
    outage: { begin: () => postgres.pause(), end: () => postgres.resume() },
    close: () => postgres.stop(),
  };
}
