import { writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { describe, expect, it } from "vitest";
import { loadConfig } from "../../src/config/index.ts";
import { Authority, hasTlsTools } from "../support/certificates.ts";

const provider = { OPENAI_API_KEY: "k" };

/** Loads a file beside the certificates of an authority. */
function loadBeside({ folder }: Authority, text: string) {
  const config = join(folder, "outrigger.yaml");
  writeFileSync(config, text);
  return loadConfig({ environment: provider, flags: { config } });
}

describe.skipIf(!hasTlsTools)("the settings of TLS", () => {
  it("name files beside the configuration file, for each listener", async () => {
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
      ...provider,
      OUTRIGGER_TLS_CERTIFICATE_FILE: cert,
      OUTRIGGER_TLS_KEY_FILE: key,
      OUTRIGGER_TLS_CLIENT_CA_FILE: ca.file,
    };
    const { listeners } = await loadConfig({ environment });
    expect(listeners.data.tls).toMatchObject({ clientCertificates: "required" });
    expect(listeners.admin?.tls).toBeUndefined();
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
        "tls.client_ca_file: expected a file with the certificates that sign those of callers",
      ],
    ];
    for (const [fields, problem] of mistakes)
      await expect(loadBeside(ca, `tls: { ${fields} }\n`)).rejects.toThrow(problem);
  });
});
