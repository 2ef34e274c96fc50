/**
 * Runs the examples and further checks against the sidecar at `OUTRIGGER_ADDRESS`, which has the simulator behind it.
 * Prints `ok <name>` or `FAIL <name>: reason` for each check; the exit code is 1 if one failed.
 */
import { checks } from "./checks.ts";
import { exampleChecks } from "./examples.ts";

for (const [name, check] of [...exampleChecks, ...checks]) {
  try {
    await check();
    process.stdout.write(`ok ${name}\n`);
  } catch (error) {
    process.exitCode = 1;
    const reason = error instanceof Error ? (error.stack ?? error.message) : String(error);
    process.stdout.write(`FAIL ${name}: ${reason.replaceAll("\n", " | ")}\n`);
  }
}
