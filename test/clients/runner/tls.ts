import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Sidecar, startSidecar } from "./sidecar.ts";

/** A sidecar with TLS, and the variables by which clients find it. */
export interface TlsSidecar {
  /**
   * OUTRIGGER_TLS_ADDR: its host:port. OUTRIGGER_TLS_FOLDER: the folder with `ca.crt`, and with `client.crt` and
   * `client.key`, without which no caller is admitted.
   */
  readonly env: Readonly<Record<string, string>>;
  stop(): Promise<void>;
}

/** Starts a sidecar that asks callers for certificates, and calls the models of another sidecar. */
export async function startTlsSidecar(upstream: string): Promise<TlsSidecar> {
  const folder = mkdtempSync(join(tmpdir(), "outrigger-tls-"));
  const remove = () => rmSync(folder, { recursive: true, force: true });
  process.once("exit", remove);
  issue(folder, "ca", "test authority");
  issue(folder, "server", "localhost", "subjectAltName=DNS:localhost,IP:127.0.0.1");
  issue(folder, "client", "checkout", "subjectAltName=URI:spiffe://example.org/checkout");
  const sidecar: Sidecar = await startSidecar(["serve"], {
    OPENAI_API_KEY: "unused",
    OPENAI_BASE_URL: `http://${upstream}/v1`,
    OUTRIGGER_TLS_CERTIFICATE_FILE: join(folder, "server.crt"),
    OUTRIGGER_TLS_KEY_FILE: join(folder, "server.key"),
    OUTRIGGER_TLS_CLIENT_CA_FILE: join(folder, "ca.crt"),
  });
  return {
    env: {
      OUTRIGGER_TLS_ADDR: sidecar.address.replace("127.0.0.1", "localhost"),
      OUTRIGGER_TLS_FOLDER: folder,
    },
    stop: () => sidecar.stop().finally(remove),
  };
}

/** Makes a certificate and its key. All but the first are signed by `ca`. */
function issue(folder: string, file: string, name: string, extension?: string): void {
  const key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", `${file}.key`];
  const signer = extension === undefined ? [] : ["-CA", "ca.crt", "-CAkey", "ca.key", "-addext", extension];
  const args = [
    "req",
    "-x509",
    ...key,
    "-out",
    `${file}.crt`,
    "-subj",
    `/CN=${name}`,
    "-days",
    "2",
    ...signer,
  ];
  const { status, stderr } = spawnSync("openssl", args, { cwd: folder, encoding: "utf8" });
  if (status !== 0) throw new Error(`openssl cannot make ${file}.crt: ${stderr}`);
}
