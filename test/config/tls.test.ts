import { readFileSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { describe, expect, it } from "vitest";
import { loadConfig } from "../../src/config/index.ts";
import { Authority, hasTlsTools } from "../support/certificates.ts";

const variables = { OPENAI_API_KEY: "k" };
const readFile = (path: string) => readFileSync(path, "latin1");

/** Loads a file next to the certificates of an authority. */
function loadBeside({ folder }: Authority, text: string) {
  const config = join(folder, "outrigger.yaml");
  writeFileSync(config, text);
  return loadConfig({ environment: variables, flags: { config } });
}

describe.skipIf(!hasTlsTools)("the settings of TLS", () => {
  it("name files next to the configuration file, for each listener", async () => {
    const ca = new Authority();
    const [data, admin] = [ca.issue(), ca.issue({ name: "admin" })];
    const [cert, key] = [basename(data.cert), basename(data.key)];
    const { listeners } = await loadBeside(
      ca,
      `tls: { certificate_file: ${cert}, key_file: ${key}, client_ca_file: ca.crt }
admin_tls: { certificate_file: ${admin.cert}, key_file: ${admin.key} }
`,
    );
    expect(listeners.data.tls).toMatchObject({
      field: "tls",
      clientCertificates: "required",
      files: { certificate: data.cert, key: data.key, clientCa: ca.file },
      material: { certificate: { subject: "CN=localhost" } },
    });
    expect(listeners.admin?.tls).toMatchObject({
      clientCertificates: "none",
      material: { certificate: { subject: "CN=admin" } },
    });
  });

  it("may be variables", async () => {
    const ca = new Authority();
    const { cert, key } = ca.issue();
    const environment = {
      ...variables,
      OUTRIGGER_TLS_CERTIFICATE_FILE: cert,
      OUTRIGGER_TLS_KEY_FILE: key,
      OUTRIGGER_TLS_CLIENT_CA_FILE: ca.file,
    };
    const { listeners } = await loadConfig({ environment });
    expect(listeners.data.tls).toMatchObject({ clientCertificates: "required" });
    expect(listeners.admin?.tls).toBeUndefined();
  });

  it("of a provider and an MCP server name their authority and the sidecar's certificate", async () => {
    const ca = new Authority();
    const { cert, key } = ca.issue();
    const tls = `tls: { ca_file: ca.crt, certificate_file: ${basename(cert)}, key_file: ${basename(key)} }`;
    const { client, mcp, tlsFiles } = await loadBeside(
      ca,
      `providers:\n  main: { api: openai-chat, base_url: "https://localhost:1/v1", ${tls} }
mcp: { servers: { docs: { url: "https://localhost:1/mcp", tls: { ca_file: ca.crt } } } }\n`,
    );
    const provider = client.providers.get("main");
    const read = provider !== undefined && "tls" in provider ? provider.tls : undefined;
    expect(read?.()).toEqual({ ca: readFile(ca.file), cert: readFile(cert), key: readFile(key) });
    expect(mcp.servers.get("docs")?.tls?.()).toEqual({ ca: readFile(ca.file) });
    expect(tlsFiles).toHaveLength(2);
    const wrong = `providers:\n  main: { api: openai-chat, base_url: "https://localhost:1/v1", tls: { ca_file: ${key} } }\n`;
    await expect(loadBeside(ca, wrong)).rejects.toThrow(
      "providers.main.tls.ca_file: expected certificates in PEM, found none",
    );
    await expect(loadBeside(ca, wrong.replace("ca_file", "key_file"))).rejects.toThrow(
      "providers.main.tls.certificate_file: expected the file that belongs to key_file",
    );
  });

  it("are refused with field, found and expected", async () => {
    const ca = new Authority();
    const { cert, key } = ca.issue();
    const expired = ca.issue({ from: -3, to: -1 });
    const mistakes: readonly [string, string][] = [
      [`certificate_file: ${cert}`, "tls.key_file: expected a text, found nothing"],
      [
        `certificate_file: ${cert}, key_file: missing`,
        `tls.key_file: cannot read ${ca.folder}/missing (ENOENT)`,
      ],
      [
        `certificate_file: ${ca.folder}, key_file: ${key}`,
        "tls.certificate_file: expected a file, found something else",
      ],
      [`certificate_file: ${expired.cert}, key_file: ${expired.key}`, "found one that expired at "],
      [
        `certificate_file: ${cert}, key_file: ${expired.key}`,
        "tls.key_file: expected the private key of the certificate in",
      ],
      [
        `certificate_file: ${cert}, key_file: ${key}, client_ca_file: ${key}`,
        "tls.client_ca_file: expected certificates in PEM, found none",
      ],
      [
        `certificate_file: ${cert}, key_file: ${key}, client_certificates: optional`,
        "tls.client_ca_file: expected a file with the certificate authorities of callers",
      ],
    ];
    for (const [fields, problem] of mistakes)
      await expect(loadBeside(ca, `tls: { ${fields} }\n`)).rejects.toThrow(problem);
  });
});
