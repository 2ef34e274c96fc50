/** The certificate, key and authorities of a listener, in files that are replaced while the sidecar runs. */
import { createPrivateKey, type KeyObject, X509Certificate } from "node:crypto";
import { readFileSync, statSync } from "node:fs";
import { resolve } from "node:path";
import { createSecureContext } from "node:tls";
import { isDeepStrictEqual } from "node:util";
import type { Log } from "../core/log.ts";
import type { ConnectionTls } from "../kit/http/transport.ts";
import { getSystemCode } from "./small-file.ts";
import { type Parsed, Watched } from "./watched-file.ts";

/** A certificate with its key, in PEM. */
export interface TlsMaterial {
  /** The certificate of the server, followed by its intermediate certificates. */
  readonly cert: string;
  readonly key: string;
  /** The authorities that sign the certificates of callers. Undefined if callers have none. */
  readonly ca?: string | undefined;
}

/** TLS of a listener. */
export interface TlsOptions {
  /** Whether callers must, or may, have a certificate. */
  readonly clientCertificates: "none" | "optional" | "required";
  current(): TlsMaterial;
  /** Sets the function that receives each new certificate. */
  onChange(listener: (material: TlsMaterial) => void): void;
}

/** Absolute paths of the files. */
export interface TlsPaths {
  readonly certificate: string;
  readonly key: string;
  /** Undefined if callers have no certificates. */
  readonly clientCa: string | undefined;
}

/** TLS of a listener, as it was read at the start. */
export interface ListenerTls {
  /** Name of the setting: `tls`, `admin_tls`. */
  readonly field: string;
  readonly files: TlsPaths;
  readonly clientCertificates: TlsOptions["clientCertificates"];
  readonly material: CheckedMaterial;
}

/** Files that were read and checked. */
export interface CheckedMaterial extends TlsMaterial {
  readonly certificate: X509Certificate;
}

/** Largest file: a hundred authorities. */
const MAX_BYTES = 1024 * 1024;

/** Interval at which the files are checked, in milliseconds. A check is three calls of `stat`. */
const POLL_MS = 1000;

/**
 * Reads the files and checks that they can be used now.
 * @returns Their contents, or the first mistake with the name of its setting. No problem shows a key.
 */
export function readTlsFiles(files: TlsPaths, field: string): Parsed<CheckedMaterial> {
  return tryRead(() => {
    const identity = readIdentity(files, field);
    const ca = readAuthorities(files.clientCa, `${field}.client_ca_file`);
    return ca === undefined ? identity : { ...identity, ca };
  });
}

/** Paths of the TLS files for connections to a server. */
export interface ClientTlsPaths {
  readonly ca?: string | undefined;
  readonly certificate?: string | undefined;
  readonly key?: string | undefined;
}

/** Reads the TLS files for connections to a server, like `readTlsFiles`. */
export function readClientTls(
  { ca: caPath, certificate: path, key: keyPath }: ClientTlsPaths,
  field: string,
): Parsed<ConnectionTls> {
  return tryRead(() => {
    const ca = readAuthorities(caPath, `${field}.ca_file`);
    if (path === undefined || keyPath === undefined) return { ca };
    const { certificate: _, ...identity } = readIdentity({ certificate: path, key: keyPath }, field);
    return { ca, ...identity };
  });
}

/**
 * Opens the TLS files for connections to a server.
 * @param folder Base of relative paths.
 * @param field Name of the setting.
 */
export function openClientTls(files: ClientTlsPaths, folder: string, field: string): Parsed<ClientTlsFiles> {
  const toPath = (path: string | undefined) => path && resolve(folder, path);
  const paths = { ca: toPath(files.ca), certificate: toPath(files.certificate), key: toPath(files.key) };
  const reading = readClientTls(paths, field);
  return "problem" in reading ? reading : { value: new ClientTlsFiles(paths, field, reading.value) };
}

function tryRead<Value>(read: () => Value): Parsed<Value> {
  try {
    return { value: read() };
  } catch (error) {
    if (error instanceof TlsMistake) return { problem: error.message };
    throw error;
  }
}

/**
 * Follows the TLS files for a server: they are checked when a connection is made. If new ones cannot be used, the last
 * ones stay in use.
 */
export class ClientTlsFiles {
  readonly paths: ClientTlsPaths;
  readonly #files: Watched<ConnectionTls>;
  #log: Log | undefined;

  constructor(paths: ClientTlsPaths, field: string, tls: ConnectionTls) {
    this.paths = paths;
    this.#files = new Watched<ConnectionTls>({
      paths: [paths.ca, paths.certificate, paths.key],
      value: tls,
      read: () => readClientTls(paths, field),
      isSame: isDeepStrictEqual,
      onChange: () => this.#log?.info({ field }, "using the changed TLS files"),
      onProblem: (problem, isNew) =>
        isNew &&
        this.#log?.warn({ field, problem }, "cannot use the changed TLS files, keeping the previous ones"),
    });
  }

  /** Sets the log for changes and for files that cannot be used. */
  follow(log: Log): void {
    this.#log = log;
  }

  /** Returns the TLS of the next connection: the same object until the files change. */
  readonly current = (): ConnectionTls => {
    this.#files.check();
    return this.#files.value;
  };
}

class TlsMistake extends Error {}

/** Reads and checks a certificate and its key. */
function readIdentity(files: Pick<TlsPaths, "certificate" | "key">, field: string): CheckedMaterial {
  const cert = readPem(files.certificate, `${field}.certificate_file`);
  const key = readPem(files.key, `${field}.key_file`);
  const certificate = parseCertificate(cert, files.certificate, `${field}.certificate_file`);
  checkKey(certificate, parseKey(key, files.key, field), files, field);
  checkUse({ cert, key }, field);
  return { cert, key, certificate };
}

function readPem(path: string, field: string): string {
  try {
    const stats = statSync(path);
    // Reading a pipe would block the process.
    if (!stats.isFile()) throw new TlsMistake(`${field}: expected a file, found something else (${path})`);
    if (stats.size > MAX_BYTES)
      throw new TlsMistake(`${field}: expected at most ${MAX_BYTES} bytes, found ${stats.size} (${path})`);
    return readFileSync(path, "latin1");
  } catch (error) {
    if (error instanceof TlsMistake) throw error;
    throw new TlsMistake(`${field}: cannot read ${path} (${getSystemCode(error)})`);
  }
}

function parseCertificate(pem: string, path: string, field: string): X509Certificate {
  let certificate: X509Certificate;
  try {
    certificate = new X509Certificate(pem);
  } catch {
    throw new TlsMistake(`${field}: expected a certificate in PEM, found none that can be read (${path})`);
  }
  const expected = `${field}: expected a certificate that is valid now, found one that`;
  const { validFromDate: from, validToDate: to } = certificate;
  if (to.getTime() < Date.now()) throw new TlsMistake(`${expected} expired at ${to.toISOString()} (${path})`);
  if (from.getTime() > Date.now())
    throw new TlsMistake(`${expected} is not valid before ${from.toISOString()} (${path})`);
  return certificate;
}

function parseKey(pem: string, path: string, field: string): KeyObject {
  try {
    return createPrivateKey(pem);
  } catch {
    const found = pem.includes("ENCRYPTED") ? "an encrypted one" : "none that can be read";
    throw new TlsMistake(
      `${field}.key_file: expected a private key in PEM without a passphrase, found ${found} (${path})`,
    );
  }
}

function checkKey(
  certificate: X509Certificate,
  key: KeyObject,
  files: Pick<TlsPaths, "certificate" | "key">,
  field: string,
): void {
  if (certificate.checkPrivateKey(key)) return;
  const expected = `expected the private key of the certificate in ${files.certificate}`;
  throw new TlsMistake(`${field}.key_file: ${expected}, found the key of another one (${files.key})`);
}

const CERTIFICATE = /-----BEGIN CERTIFICATE-----[\s\S]+?-----END CERTIFICATE-----/g;

function readAuthorities(path: string | undefined, field: string): string | undefined {
  if (path === undefined) return undefined;
  const pem = readPem(path, field);
  const found = pem.match(CERTIFICATE) ?? [];
  if (found.length === 0)
    throw new TlsMistake(`${field}: expected certificates in PEM, found none (${path})`);
  for (const each of found) parseCertificate(each, path, field);
  return pem;
}

/** OpenSSL refuses some keys and signatures as too weak. */
function checkUse(material: TlsMaterial, field: string): void {
  try {
    createSecureContext(material);
  } catch (error) {
    throw new TlsMistake(`${field}: the files cannot be used (${getSystemCode(error)})`);
  }
}

/**
 * Follows the files. If new ones cannot be used, the last ones stay in use. Checks once a second whether they were
 * replaced, and reports a mistake if the next check finds it again: a certificate and its key may be replaced one after
 * the other.
 */
export class TlsFiles implements TlsOptions {
  readonly clientCertificates: TlsOptions["clientCertificates"];
  readonly #options: ListenerTls;
  readonly #log: Log;
  readonly #files: Watched<CheckedMaterial>;
  readonly #timer: NodeJS.Timeout;
  #listener: ((material: TlsMaterial) => void) | undefined;
  #hasReported = false;
  #hasReportedExpiry = false;

  /** @param onUse Called with the expiry of the certificate in use, at once and after each change. */
  constructor(options: ListenerTls, log: Log, onUse: (expiresAt: Date) => void = () => {}) {
    const { files, field, material: value } = options;
    this.clientCertificates = options.clientCertificates;
    this.#options = options;
    this.#log = log;
    this.#files = new Watched<CheckedMaterial>({
      paths: [files.certificate, files.key, files.clientCa],
      value,
      read: () => readTlsFiles(files, field),
      isSame: (before, now) => before.cert === now.cert && before.key === now.key && before.ca === now.ca,
      onChange: (material) => {
        this.#hasReportedExpiry = false;
        this.#listener?.(material);
        onUse(material.certificate.validToDate);
        log.info(this.#describe(), "using the changed certificate");
      },
      onProblem: (problem, isNew) => this.#keep(problem, isNew),
    });
    onUse(value.certificate.validToDate);
    this.#timer = setInterval(() => this.checkFiles(), POLL_MS).unref();
  }

  current(): TlsMaterial {
    return this.#files.value;
  }

  onChange(listener: (material: TlsMaterial) => void): void {
    this.#listener = listener;
  }

  /** Reads the files again if they were replaced, or could not be used before. */
  checkFiles(): void {
    this.#checkExpiry();
    this.#files.check();
  }

  /** Stops following the files. */
  close(): void {
    clearInterval(this.#timer);
  }

  #keep(problem: string, isNew: boolean): void {
    const mustReport = !isNew && !this.#hasReported;
    this.#hasReported = !isNew;
    if (!mustReport) return;
    const fields = { ...this.#describe(), problem };
    this.#log.warn(fields, "cannot use the changed certificate, keeping the previous one");
  }

  #checkExpiry(): void {
    if (this.#hasReportedExpiry || this.#files.value.certificate.validToDate.getTime() > Date.now()) return;
    this.#hasReportedExpiry = true;
    this.#log.warn(this.#describe(), "the certificate in use has expired");
  }

  #describe(): object {
    const { subject, serialNumber, validToDate } = this.#files.value.certificate;
    return {
      field: this.#options.field,
      subject: subject.replaceAll("\n", ", "),
      serial: serialNumber,
      valid_to: validToDate.toISOString(),
    };
  }
}
