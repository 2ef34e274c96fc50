/** A certificate with its key, in PEM. */
export interface TlsMaterial {
  /** The certificate of the server, and those between it and its authority. */
  readonly cert: string;
  readonly key: string;
  /** The authorities that sign the certificates of callers. Undefined if callers have none. */
  readonly ca?: string | undefined;
}

/** TLS of a listener. */
export interface TlsOptions {
  /** Whether callers must, or may, have a certificate. */
  readonly clientCertificates: "none" | "optional" | "required";
  /** Returns the certificate that is in use. */
  current(): TlsMaterial;
  /** Sets the function that gets each new certificate. */
  onChange(listener: (material: TlsMaterial) => void): void;
}
