/** A sidecar that is reached over the network: it proves who it is by its certificate, and asks for the caller's. */
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { credentials, status } from "@grpc/grpc-js";
import { checkComplete } from "./calls.js";
import { InferenceService } from "./contract.js";

export async function checkTls() {
  const folder = process.env.OUTRIGGER_TLS_FOLDER;
  const [authority, certificate, key] = await Promise.all(
    ["ca.crt", "client.crt", "client.key"].map((file) => readFile(join(folder, file))),
  );
  await completeWith(credentials.createSsl(authority, key, certificate));
  // Without a certificate, and without the authority.
  for (const incomplete of [
    credentials.createSsl(authority),
    credentials.createSsl(null, key, certificate),
  ]) {
    await assert.rejects(completeWith(incomplete), { code: status.UNAVAILABLE });
  }
}

async function completeWith(secured) {
  const inference = new InferenceService(process.env.OUTRIGGER_TLS_ADDR, secured);
  try {
    await checkComplete(inference);
  } finally {
    inference.close();
  }
}
