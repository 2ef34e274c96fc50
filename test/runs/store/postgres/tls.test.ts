/** TLS towards the database of runs: its certificate is verified, and the sidecar shows one. */
import { chmod, chown, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { ServerError } from "../../../../src/core/errors.ts";
import { openPostgresStore } from "../../../../src/runs/store/postgres.ts";
import { Authority, hasTlsTools } from "../../../support/certificates.ts";
import { unprivilegedUser } from "../../../support/postgres/find-postgres.ts";
import { Postgres } from "../../../support/postgres/start-postgres.ts";

/** Starts a server that takes only connections whose certificate is of the authority. Undefined if there is none. */
async function startServer(ca: Authority): Promise<string | undefined> {
  const { cert, key } = ca.issue();
  const { uid, gid } = await unprivilegedUser();
  await chmod(ca.folder, 0o755);
  if (uid !== undefined && gid !== undefined) await chown(key, uid, gid);
  const rules = join(ca.folder, "hba");
  await writeFile(rules, "local all all trust\nhostssl all all 127.0.0.1/32 trust clientcert=verify-ca\n");
  const port = await findFreePort();
  const postgres = await Postgres.start({
    listen_addresses: "127.0.0.1",
    port: String(port),
    hba_file: rules,
    ssl: "on",
    ssl_cert_file: cert,
    ssl_key_file: key,
    ssl_ca_file: ca.file,
  });
  if (postgres === undefined) return undefined;
  onTestFinished(() => postgres.stop());
  return `postgres://postgres@127.0.0.1:${port}/postgres`;
}

function findFreePort(): Promise<number> {
  const { promise, resolve } = Promise.withResolvers<number>();
  const server = createServer().listen(0, "127.0.0.1", () => {
    const address = server.address();
    const port = typeof address === "object" ? (address?.port ?? 0) : 0;
    server.close(() => resolve(port));
  });
  return promise;
}

async function open(url: string): Promise<void> {
  const store = await openPostgresStore({ url, maxBodyBytes: 1024 * 1024, onProblem: () => {} });
  await store.close();
}

it.skipIf(!hasTlsTools)("verifies the certificate of the database, and shows the sidecar's", async (test) => {
  const ca = new Authority();
  const address = await startServer(ca);
  test.skip(address === undefined, "no PostgreSQL works here");
  const { cert, key } = ca.issue({ name: "sidecar" });
  const identity = `sslcert=${cert}&sslkey=${key}`;
  await open(`${address}?sslmode=verify-full&sslrootcert=${ca.file}&${identity}`);
  const stranger = new Authority();
  for (const [settings, problem] of [
    ["sslmode=disable", "SQLSTATE 28000"],
    [`sslmode=verify-full&sslrootcert=${ca.file}`, "SQLSTATE 28000"],
    [`sslmode=verify-full&sslrootcert=${stranger.file}&${identity}`, "SELF_SIGNED_CERT_IN_CHAIN"],
  ] as const) {
    const error = await open(`${address}?${settings}`).catch((thrown: unknown) => thrown);
    expect(error, settings).toBeInstanceOf(ServerError);
    expect(String(error)).toContain(problem);
  }
});
