import { type ChildProcess, spawn } from "node:child_process";
import { generateKeyPairSync } from "node:crypto";
import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { request } from "node:https";
import { setTimeout as sleep } from "node:timers/promises";
import { freePort, readTail } from "../../clients/runner/sidecar.ts";
import { binaries } from "../suite.ts";

const START_MS = 120_000;

/** The token of an administrator. */
const ADMIN = "administrator";

/** A request to the API. */
export interface Call {
  readonly method?: "GET" | "POST" | "PATCH";
  readonly path: string;
  readonly body?: object;
}

/** An answer of the API. */
export interface Answer {
  readonly status: number;
  /** The headers `Warning`. */
  readonly warnings: readonly string[];
  /** An object of the API, or a `Status` with a `message`. */
  readonly body: Readonly<Record<string, unknown>>;
}

/** A kube-apiserver with an empty etcd, on loopback. */
export interface ApiServer {
  /** Also the issuer of the tokens of service accounts. */
  readonly url: string;
  /** File with the authority of its certificate, in PEM. */
  readonly caFile: string;
  /** Sends a request as an administrator. */
  send(call: Call): Promise<Answer>;
  stop(): Promise<void>;
}

/**
 * Starts an API server with role-based access control, and waits until it is ready.
 * @param folder An empty folder for its keys and data.
 */
export async function startApiServer(folder: string): Promise<ApiServer> {
  const port = await freePort();
  const url = `https://127.0.0.1:${port}`;
  const child = spawn(`${binaries}/kube-apiserver`, [`${folder}/etcd`, ...toFlags(folder, port, url)], {
    stdio: ["ignore", "pipe", "pipe"],
  });
  const output = readTail(child);
  const kill = () => child.kill("SIGKILL");
  // It must not outlive the runner.
  process.once("exit", kill);
  child.once("exit", () => process.off("exit", kill));
  const caFile = `${folder}/apiserver.crt`;
  const send = (call: Call) => exchange(url, readFileSync(caFile, "utf8"), call);
  try {
    await waitUntil(child, async () => (await send({ path: "/readyz" })).status === 200);
  } catch (error) {
    kill();
    throw new Error(`kube-apiserver did not start: ${error}\n${output()}`, { cause: error });
  }
  return {
    url,
    caFile,
    send,
    async stop() {
      if (child.exitCode === null && child.signalCode === null) {
        child.kill("SIGKILL");
        await once(child, "exit");
      }
    },
  };
}

function toFlags(folder: string, port: number, issuer: string): string[] {
  const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
  const key = `${folder}/accounts.key`;
  writeFileSync(key, privateKey.export({ format: "pem", type: "pkcs8" }));
  writeFileSync(`${folder}/tokens.csv`, `${ADMIN},admin,1,"system:masters"\n`);
  return [
    "--bind-address=127.0.0.1",
    `--secure-port=${port}`,
    `--cert-dir=${folder}`,
    `--token-auth-file=${folder}/tokens.csv`,
    "--authorization-mode=RBAC",
    "--service-cluster-ip-range=10.0.0.0/24",
    "--endpoint-reconciler-type=none",
    `--service-account-issuer=${issuer}`,
    `--service-account-jwks-uri=${issuer}/openid/v1/jwks`,
    `--service-account-key-file=${key}`,
    `--service-account-signing-key-file=${key}`,
  ];
}

function exchange(url: string, ca: string, { method = "GET", path, body }: Call): Promise<Answer> {
  const { promise, resolve, reject } = Promise.withResolvers<Answer>();
  const type = method === "PATCH" ? "application/apply-patch+yaml" : "application/json";
  const headers = { authorization: `Bearer ${ADMIN}`, "content-type": type };
  request(`${url}${path}`, { method, headers, ca }, async (answer) => {
    try {
      const text = (await answer.setEncoding("utf8").toArray()).join("");
      const isJson = answer.headers["content-type"]?.startsWith("application/j") === true;
      const warnings = answer.headersDistinct.warning ?? [];
      resolve({ status: answer.statusCode ?? 0, warnings, body: isJson ? JSON.parse(text) : { text } });
    } catch (error) {
      reject(error);
    }
  })
    .on("error", reject)
    .end(body && JSON.stringify(body));
  return promise;
}

/** Waits until a question is answered by true. Errors count as false. */
async function waitUntil(child: ChildProcess, ask: () => Promise<boolean>): Promise<void> {
  const giveUp = Date.now() + START_MS;
  while (!(await ask().catch(() => false))) {
    if (child.exitCode !== null) throw new Error(`it ended with ${child.exitCode}`);
    if (Date.now() > giveUp) throw new Error(`it was not ready within ${START_MS} ms`);
    await sleep(100);
  }
}
