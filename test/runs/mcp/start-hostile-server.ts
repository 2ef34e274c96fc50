import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished } from "vitest";

/**
 * Starts an MCP server that floods its client, in a separate process, so that its work is not measured.
 * @param flood A kind of hostile-server.ts.
 * @returns Its port.
 */
export async function startHostileServer(flood: string): Promise<string> {
  const script = fileURLToPath(new URL("./hostile-server.ts", import.meta.url));
  const child = spawn(process.execPath, [script, flood], { stdio: ["ignore", "pipe", "inherit"] });
  onTestFinished(() => {
    const { exitCode } = child;
    child.kill("SIGKILL");
    expect(exitCode, "the MCP server failed").toBeNull();
  });
  const [port] = await once(child.stdout, "data");
  return String(port).trim();
}
