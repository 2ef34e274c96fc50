import { copySqliteFile } from "../runs/store/sqlite-file.ts";
import { exitCodes } from "./exit-codes.ts";
import { parseFlags, UsageError } from "./flags.ts";
import type { Terminal } from "./terminal.ts";

const FLAGS = {
  from: { type: "string" },
  to: { type: "string" },
} as const;

/** `outrigger copy-runs`: copies the file with the runs of a sidecar, which may be running. */
export async function copyRuns(args: readonly string[], { env, stdout }: Terminal): Promise<number> {
  const flags = parseFlags(args, FLAGS);
  const from = flags.from ?? env.OUTRIGGER_RUNS_STORE;
  if (!from)
    throw new UsageError("--from: expected the file of runs.store, since OUTRIGGER_RUNS_STORE is not set");
  if (!flags.to) throw new UsageError("--to: expected the path of the copy");
  copySqliteFile(from, flags.to);
  stdout.write(`copied ${from} to ${flags.to}\n`);
  return exitCodes.ok;
}
