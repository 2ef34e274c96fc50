import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parse, stringify } from "yaml";
import { startSimulator } from "../../../simulator/index.ts";
import { startSidecar } from "../../clients/runner/sidecar.ts";
import type { ApiServer } from "./api-server.ts";
import type { Cluster } from "./cluster.ts";

const page = fileURLToPath(new URL("../../../docs/access.md", import.meta.url));

/** A token, and the status that a call with it gets. */
interface Case {
  readonly name: string;
  readonly token: string;
  readonly status: number;
}

/** The section `jwt` of a configuration. */
interface Section {
  readonly [field: string]: unknown;
}

/**
 * Checks which tokens of service accounts a sidecar accepts with the configuration that docs/access.md shows, with keys
 * from each source. Returns a line for each token and source.
 */
export async function checkTokens(cluster: Cluster, server: ApiServer, work: string): Promise<string[]> {
  const tokens = await createTokens(cluster);
  const sources = await createSections(cluster, server, work);
  const simulator = await startSimulator();
  const lines: string[] = [];
  for (const [source, jwt] of Object.entries(sources)) {
    const config = join(work, "outrigger.yaml");
    await writeFile(config, stringify({ jwt }));
    const sidecar = await startSidecar(["serve"], {
      OUTRIGGER_CONFIG: config,
      OPENAI_API_KEY: "any",
      OPENAI_BASE_URL: simulator.openaiBaseUrl,
    });
    for (const { name, token, status: expected } of tokens) {
      const headers = { authorization: `Bearer ${token}` };
      const answer = await fetch(`http://${sidecar.address}/v1/models`, { headers });
      const text = await answer.text();
      const title = `${name}, keys from ${source}`;
      lines.push(
        answer.status === expected ? `ok ${title}` : `FAIL ${title}: status ${answer.status}: ${text}`,
      );
    }
    await sidecar.stop();
  }
  await simulator.close();
  return lines;
}

async function createTokens(cluster: Cluster): Promise<Case[]> {
  for (const namespace of ["shop", "search"]) await cluster.addNamespace(namespace);
  for (const name of ["checkout", "basket"]) await cluster.addServiceAccount("shop", name);
  await cluster.addServiceAccount("search", "indexer");
  const checkout = await cluster.requestToken("shop", "checkout", "outrigger");
  const end = checkout.at(-10) === "A" ? "B" : "A";
  return [
    { name: "the account of a rule", token: checkout, status: 200 },
    {
      name: "an account of a rule's namespace",
      token: await cluster.requestToken("search", "indexer", "outrigger"),
      status: 200,
    },
    {
      name: "an account without a rule",
      token: await cluster.requestToken("shop", "basket", "outrigger"),
      status: 403,
    },
    { name: "another audience", token: await cluster.requestToken("shop", "checkout"), status: 401 },
    {
      name: "a changed signature",
      token: `${checkout.slice(0, -10)}${end}${checkout.slice(-9)}`,
      status: 401,
    },
  ];
}

/** Returns the section of docs/access.md with the addresses and files of this server, and variants, by name. */
async function createSections(
  cluster: Cluster,
  server: ApiServer,
  work: string,
): Promise<Record<string, Section>> {
  const [, text = ""] =
    /```yaml\n# The configuration of the sidecar\.\n([^`]+)```/.exec(await readFile(page, "utf8")) ?? [];
  const { jwt } = parse(text) as { readonly jwt: Section };
  await cluster.addServiceAccount("default", "outrigger");
  const tokenFile = join(work, "token");
  await writeFile(tokenFile, await cluster.requestToken("default", "outrigger"));
  const keysFile = join(work, "jwks.json");
  await writeFile(keysFile, JSON.stringify((await server.send({ path: "/openid/v1/jwks" })).body));
  const { jwks_url, jwks_token_file: _token, tls: _tls, ...rest }: Section = { ...jwt, issuer: server.url };
  const connection = { jwks_token_file: tokenFile, tls: { ca_file: server.caFile } };
  const { pathname } = new URL(String(jwks_url));
  return {
    "the server": { ...rest, jwks_url: `${server.url}${pathname}`, ...connection },
    "the server's metadata": { ...rest, ...connection },
    "a file": { ...rest, jwks_file: keysFile },
  };
}
