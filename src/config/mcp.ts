/** The settings of MCP servers for runs, from the section `mcp` of a configuration. */
import { resolve } from "node:path";
import { ConfigurationError } from "../core/errors.ts";
import type { ConfiguredMcpServer, McpSettings } from "../runs/mcp/settings.ts";
import { readKeyFile } from "./key-files.ts";
import { type Locate, unwrapParsed } from "./problems.ts";
import type { Settings } from "./schema.ts";
import type { ClientTlsFiles } from "./tls-files.ts";

type Section = NonNullable<Settings["mcp"]>;

/**
 * Converts the section to the settings of runs.
 * @param folder Base of relative paths.
 * @param localOnly Whether servers must be on this machine or in a private network.
 * @param tls The TLS files for connections to the servers, by their labels.
 */
export function toMcpSettings(
  section: Section | undefined,
  folder: string,
  localOnly: boolean,
  tls: ReadonlyMap<string, ClientTlsFiles>,
): McpSettings {
  const { servers = {}, allowedUrls = [], limits = {} } = section ?? {};
  const configured = Object.entries(servers).map(([label, server]) => {
    const files = tls.get(label);
    return [label, { ...toServer(server, folder), ...(files && { tls: files.current }) }] as const;
  });
  return { servers: new Map(configured), allowedUrls, limits, ...(localOnly ? { localOnly } : {}) };
}

/** Returns the problems of the servers' token files. */
export async function checkMcpTokens(
  section: Section | undefined,
  folder: string,
  locate: Locate,
): Promise<string[]> {
  const problems: string[] = [];
  for (const [label, { authorization_file: file }] of Object.entries(section?.servers ?? {})) {
    if (file === undefined) continue;
    const where = locate(["mcp", "servers", label, "authorization_file"]);
    unwrapParsed(await readKeyFile(resolve(folder, file)), where, problems);
  }
  return problems;
}

function toServer(server: Section["servers"][string], folder: string): ConfiguredMcpServer {
  const { url, authorization, authorization_file: file, headers = {} } = server;
  if (file !== undefined) return { url, headers, token: () => currentToken(resolve(folder, file)) };
  return authorization === undefined ? { url, headers } : { url, headers, token: async () => authorization };
}

/** Reads the token for each run, since mounted secrets are rotated. */
async function currentToken(path: string): Promise<string> {
  const read = await readKeyFile(path);
  if ("value" in read) return read.value;
  // Callers see the message, so it does not say where the sidecar stores its secrets.
  throw new ConfigurationError("its authorization_file cannot be read", { cause: new Error(read.problem) });
}
