import { get } from "node:http";
import { parseDuration } from "../config/units.ts";
import { parseAddress } from "../server/listen/address.ts";
import { exitCodes } from "./exit-codes.ts";
import { parseFlags, UsageError } from "./flags.ts";
import type { Terminal } from "./terminal.ts";

const FLAGS = {
  "admin-listen": { type: "string" },
  timeout: { type: "string", default: "2s" },
  tls: { type: "boolean", default: false },
} as const;

/** `outrigger healthcheck`: asks the admin listener of a running sidecar whether it is ready. */
export async function healthcheck(
  args: readonly string[],
  { env, stdout, stderr }: Terminal,
): Promise<number> {
  const flags = parseFlags(args, FLAGS);
  const address = flags["admin-listen"] ?? (env.OUTRIGGER_ADMIN_LISTEN || "127.0.0.1:6191");
  const timeoutMs = parseDuration(flags.timeout);
  if (!timeoutMs)
    throw new UsageError(`--timeout: expected a duration such as "2s", found "${flags.timeout}"`);
  if (address === "off") throw new UsageError("the admin listener is off, so its health cannot be checked");
  const outcome = await ask(address, flags.tls ? (await import("node:https")).get : get, timeoutMs);
  if (outcome === "ready") {
    stdout.write("ready\n");
    return exitCodes.ok;
  }
  stderr.write(`outrigger: ${address} is not ready: ${outcome}\n`);
  return exitCodes.failure;
}

function ask(address: string, request: typeof get, timeoutMs: number): Promise<string> {
  return new Promise((resolve) => {
    const signal = AbortSignal.timeout(timeoutMs);
    // The certificate is not verified, since a sidecar on the same machine is asked, whatever name its certificate has.
    const options = {
      ...toTarget(address),
      path: "/readyz",
      agent: false,
      signal,
      rejectUnauthorized: false,
    };
    const sent = request(options, (response) => {
      response.resume();
      resolve(response.statusCode === 200 ? "ready" : `it answers ${response.statusCode}`);
    });
    sent.on("error", (error: NodeJS.ErrnoException) => {
      resolve(signal.aborted ? `no answer within ${timeoutMs} ms` : (error.code ?? error.message));
    });
  });
}

/** Replaces an address on all interfaces by loopback, which clients can reach. */
function toTarget(text: string): { socketPath: string } | { host: string; port: number } {
  const address = parseAddress(text, "--admin-listen");
  if (address.kind === "unix") return { socketPath: address.path };
  const host = address.host === undefined || address.host === "0.0.0.0" ? "127.0.0.1" : address.host;
  return { host: host === "::" ? "::1" : host, port: address.port };
}
