/**
 * Loaded into a sidecar's process before its program: shifts the clock of `Date` by the milliseconds in the file that
 * the query names. Timers do not follow: they use the monotonic clock, as on a machine whose clock is set.
 */
import { readFileSync } from "node:fs";

const file = new URL(import.meta.url).searchParams.get("file") ?? "";
const POLL_MS = 50;
const RealDate = Date;
let offsetMs = 0;

class ShiftedDate extends RealDate {
  constructor(...args: [] | ConstructorParameters<typeof Date>) {
    if (args.length === 0) super(RealDate.now() + offsetMs);
    else super(...args);
  }

  static override now(): number {
    return RealDate.now() + offsetMs;
  }
}

globalThis.Date = ShiftedDate as DateConstructor;
setInterval(() => {
  offsetMs = Number(readFileSync(file, "utf8"));
}, POLL_MS).unref();
