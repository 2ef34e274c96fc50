/**
 * Loaded into a sidecar's process before its program: appends each hold of its event loop to the file that the query
 * names, as one line of JSON. Begins when the first server listens, since loading the program may take long.
 */
import diagnostics_channel from "node:diagnostics_channel";
import { appendFileSync } from "node:fs";
import { watchLoop } from "./loop-watch.ts";

const LISTENING = "tracing:net.server.listen:asyncEnd";

const report = new URL(import.meta.url).searchParams.get("report");

function begin(): void {
  diagnostics_channel.unsubscribe(LISTENING, begin);
  watchLoop((hold) => {
    if (report !== null) appendFileSync(report, `${JSON.stringify(hold)}\n`);
  });
}

diagnostics_channel.subscribe(LISTENING, begin);
