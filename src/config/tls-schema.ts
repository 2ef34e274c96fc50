import * as z from "zod/mini";
import { fields, named } from "./fields.ts";
import { choice, text } from "./leaves.ts";

/** Whether callers must, or may, have a certificate signed by an authority in `client_ca_file`. */
const clientCertificates = ["required", "optional"] as const;

/** TLS of a listener. */
export const listenerTls = z.pipe(
  fields({
    certificate_file: text,
    key_file: text,
    client_ca_file: z.optional(text),
    client_certificates: z.optional(choice(clientCertificates)),
  }).check(
    z.superRefine((tls, context) => {
      if (tls.client_certificates === undefined || tls.client_ca_file !== undefined) return;
      const message = "expected a file with the certificate authorities of callers";
      context.addIssue({ code: "custom", path: ["client_ca_file"], message });
    }),
  ),
  z.transform(({ certificate_file, key_file, client_ca_file, client_certificates = "required" }) => ({
    files: { certificate: certificate_file, key: key_file, clientCa: client_ca_file },
    clientCertificates: client_ca_file === undefined ? ("none" as const) : client_certificates,
  })),
);

/** TLS of connections to a server. */
export const clientTls = named(
  fields({
    ca_file: z.optional(text),
    certificate_file: z.optional(text),
    key_file: z.optional(text),
  }).check(
    z.superRefine(({ certificate_file: certificate, key_file: key }, context) => {
      if ((certificate === undefined) === (key === undefined)) return;
      const [path, other] =
        certificate === undefined ? ["certificate_file", "key_file"] : ["key_file", "certificate_file"];
      context.addIssue({
        code: "custom",
        path: [path],
        message: `expected the file that belongs to ${other}`,
      });
    }),
  ),
  { ca_file: "ca", certificate_file: "certificate", key_file: "key" },
);
