/**
 * Loaded into a sidecar's process before its program: appends each hold of its event loop to the file that the query
 * names, as one line of JSON. Begins when the first server listens, since loading the program may take long. Collects
 * garbage when the process gets the signal that the query names.
 */
import diagnostics_channel from "node:diagnostics_channel";
import { appendFileSync } from "node:fs";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { watchLoop } from "./loop-watch.ts";
import { prepareSlowness } from "./slowness.ts";

const LISTENING = "tracing:net.server.listen:asyncEnd";

const { searchParams } = new URL(import.meta.url);
const report = searchParams.get("report");

function begin(): void {
  diagnostics_channel.unsubscribe(LISTENING, begin);
  prepareSlowness();
  watchLoop((hold) => {
    if (report !== null) appendFileSync(report, `${JSON.stringify(hold)}\n`);
  });
}

diagnostics_channel.subscribe(LISTENING, begin);

/** Collects all garbage and returns its pages to the system, as V8 does when a process has been idle for a while. */
function collectGarbage(): void {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc");
  collect({ type: "major", flavor: "last-resort" });
}

process.on(searchParams.get("collect") ?? "", collectGarbage);
