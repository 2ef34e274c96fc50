/** Certificates that openssl signs, for tests of TLS. */
import { execFileSync, spawnSync } from "node:child_process";
import { copyFileSync, mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";

/** Files of a certificate and its key. */
export interface IssuedFiles {
  readonly cert: string;
  readonly key: string;
}

/** The content of a certificate. */
export interface CertificateInit {
  /** Common name. Default `localhost`; empty for none. */
  readonly name?: string;
  /** Alternative names in OpenSSL's form. Default `DNS:localhost,IP:127.0.0.1`; empty for none. */
  readonly names?: string;
  /** Days from now at which it becomes valid, and at which it expires. Default -1 and 30. */
  readonly from?: number;
  readonly to?: number;
}

/** Whether this machine has the programs that tests of TLS use. */
export const hasTlsTools = ["openssl", "curl"].every(
  (file) => spawnSync(file, ["--help"]).error === undefined,
);

const DAY_MS = 86_400_000;

/** An authority in a separate folder, which is removed after the test. */
export class Authority {
  readonly folder = mkdtempSync(join(tmpdir(), "certificates-"));
  /** The file with its certificate. */
  readonly file = join(this.folder, "ca.crt");
  readonly #key = join(this.folder, "ca.key");
  #count = 0;

  constructor() {
    onTestFinished(() => rmSync(this.folder, { recursive: true, force: true }));
    const args = ["-keyout", this.#key, "-out", this.file, "-subj", "/CN=test authority", "-days", "30"];
    this.#openssl("req", "-x509", ...KEY, ...args);
    writeFileSync(join(this.folder, "index"), "");
    writeFileSync(join(this.folder, "index.attr"), "unique_subject = no\n");
  }

  /** Issues a certificate. */
  issue({ name = "localhost", names = LOCAL, from = -1, to = 30 }: CertificateInit = {}): IssuedFiles {
    this.#count += 1;
    const path = (end: string) => join(this.folder, `${this.#count}.${end}`);
    const files = { cert: path("crt"), key: path("key") };
    const subject = name === "" ? "/O=nameless" : `/CN=${name}`;
    this.#openssl("req", ...KEY, "-keyout", files.key, "-out", path("csr"), "-subj", subject);
    writeFileSync(path("cnf"), CONFIG + (names === "" ? "" : `subjectAltName = ${names}\n`));
    const times = ["-startdate", toTime(from), "-enddate", toTime(to)];
    const signer = ["-cert", this.file, "-keyfile", this.#key, "-config", path("cnf")];
    const output = ["-in", path("csr"), "-out", files.cert];
    this.#openssl("ca", "-batch", "-notext", ...signer, ...times, ...output);
    return files;
  }

  #openssl(...args: string[]): void {
    execFileSync("openssl", args, { cwd: this.folder, stdio: ["ignore", "ignore", "pipe"] });
  }
}

/** Replaces files by copies of others, the certificate first. */
export function replaceFiles(target: IssuedFiles, by: IssuedFiles): void {
  for (const kind of ["cert", "key"] as const) {
    copyFileSync(by[kind], `${target[kind]}.new`);
    renameSync(`${target[kind]}.new`, target[kind]);
  }
}

const LOCAL = "DNS:localhost,IP:127.0.0.1";
const KEY = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"];

const CONFIG = `
[ca]
default_ca = test
[test]
database = index
rand_serial = yes
new_certs_dir = .
default_md = sha256
policy = any
x509_extensions = extensions
[any]
commonName = optional
organizationName = optional
[extensions]
basicConstraints = CA:FALSE
`;

function toTime(days: number): string {
  const time = new Date(Date.now() + days * DAY_MS).toISOString();
  return `${time.slice(0, 19).replace(/[-:T]/g, "")}Z`;
}
