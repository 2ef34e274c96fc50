/**
 * Callers with tokens of Kubernetes' form: the keys come from a server with TLS, for a token, as the API server gives
 * them.
 */
import { readFileSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer, type Server } from "node:https";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Code, type ConnectError, createClient } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { userMessage } from "outrigger";
import { InferenceService, RunService, RunStatus } from "outrigger/proto";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type Simulator, startSimulator } from "../../simulator/index.ts";
import { Authority, hasTlsTools } from "../support/certificates.ts";
import {
  createKey,
  ISSUER,
  type IssuerKey,
  nowSeconds,
  signToken,
  toKubernetesClaims,
} from "../support/issuer.ts";
import { killLeftovers, type Outrigger, spawnOutrigger } from "./support/spawn-outrigger.ts";

const key = await createKey("k", "RS256");

let simulator: Simulator;
let folder: string;
let keyServer: Server | undefined;

beforeEach(async () => {
  simulator = await startSimulator();
  folder = await mkdtemp(join(tmpdir(), "outrigger-tokens-"));
});

afterEach(async () => {
  await killLeftovers();
  keyServer?.closeAllConnections();
  keyServer?.close();
  await simulator.close();
  await rm(folder, { recursive: true });
});

/** Publishes keys for a bearer token. Returns the port. */
function startKeyServer(
  { cert, key: certKey }: { cert: string; key: string },
  keys: IssuerKey[],
): Promise<number> {
  const tls = { cert: readFileSync(cert), key: readFileSync(certKey) };
  const server = createServer(tls, ({ headers }, response) => {
    if (headers.authorization !== "Bearer the-token-of-the-pod") return void response.writeHead(401).end();
    response.end(JSON.stringify({ keys: keys.map(({ jwk }) => jwk) }));
  });
  keyServer = server;
  return new Promise((resolve) => {
    server.listen(0, "127.0.0.1", () => resolve((server.address() as AddressInfo).port));
  });
}

async function serve(config: string): Promise<Outrigger & { readonly url: string }> {
  const outrigger = spawnOutrigger(["serve", "--config", config, "--admin-listen", "127.0.0.1:0"], {
    OPENAI_API_KEY: "sk",
    OPENAI_BASE_URL: simulator.openaiBaseUrl,
  });
  await outrigger.printed(/"msg":"serving"/);
  const [line] = await outrigger.printed(/\{[^\n]*"msg":"listening"\}/);
  return { ...outrigger, url: `http://${JSON.parse(line).addresses[0]}` };
}

function toTransport(baseUrl: string, token: string) {
  return createGrpcTransport({
    baseUrl,
    interceptors: [
      (next) => (request) => {
        request.header.set("authorization", `Bearer ${token}`);
        return next(request);
      },
    ],
  });
}

function sign(namespace: string, name: string, exp = nowSeconds() + 3600): Promise<string> {
  return signToken(key, { claims: { ...toKubernetesClaims(namespace, name), exp } });
}

describe.skipIf(!hasTlsTools)("outrigger serve with tokens", () => {
  it("admits service accounts by rules, and continues their runs after a restart without a token", async () => {
    const authority = new Authority();
    const keys = [key];
    const port = await startKeyServer(authority.issue(), keys);
    const config = join(folder, "outrigger.yaml");
    await writeFile(join(folder, "token"), "the-token-of-the-pod\n");
    await writeFile(
      config,
      `
listen: 127.0.0.1:0
runs: { store: ${join(folder, "runs.db")} }
jwt:
  issuer: ${ISSUER}
  audience: outrigger
  jwks_url: https://localhost:${port}/openid/v1/jwks
  jwks_token_file: token
  tls: { ca_file: ${authority.file} }
  rules:
    - when: { sub: "system:serviceaccount:shop:*" }
      models: [openai/sim-text*]
      budget: { window: day, requests: 3 }
    - when: { kubernetes.io.namespace: search }
`,
    );
    const first = await serve(config);
    const call = async (url: string, token: string, model = "sim-text") =>
      createClient(InferenceService, toTransport(url, token))
        .complete({ model, messages: [userMessage("hi")] })
        .then(({ provider }) => provider)
        .catch((error: ConnectError) => `${Code[error.code]}: ${error.rawMessage}`);
    const shop = await sign("shop", "checkout");
    expect(await call(first.url, shop)).toBe("openai");
    expect(await call(first.url, shop, "sim-tools")).toBe(
      'PermissionDenied: the caller system:serviceaccount:shop:checkout may not use the model "sim-tools" of "openai"',
    );
    expect(await call(first.url, await sign("search", "web"), "sim-tools")).toBe("openai");
    expect(await call(first.url, await sign("blog", "web"))).toMatch(
      /^PermissionDenied: the token is valid, but no configured rule/,
    );
    expect(await call(first.url, await sign("shop", "checkout", nowSeconds() - 60))).toMatch(
      /^Unauthenticated: .*expired/,
    );
    expect(await call(first.url, "wrong")).toMatch(/^Unauthenticated: the request has neither a token/);

    const runs = createClient(RunService, toTransport(first.url, shop));
    const start = (model: string) =>
      runs.createRun({ options: { request: { model, messages: [userMessage("hi")] } }, background: true });
    const { id: runId } = await start("sim-text:delay_ms=3000");
    // Another service account has no such run, and another token of the same one has it.
    const other = createClient(RunService, toTransport(first.url, await sign("shop", "other")));
    await expect(other.getRun({ runId })).rejects.toThrow("does not exist");
    const same = createClient(
      RunService,
      toTransport(first.url, await sign("shop", "checkout", nowSeconds() + 60)),
    );
    expect(await same.getRun({ runId })).toMatchObject({ id: runId });
    await expect.poll(async () => (await runs.getRun({ runId })).status).toBe(RunStatus.IN_PROGRESS);
    first.child.kill("SIGKILL");
    await first.ended;

    const second = await serve(config);
    await expect
      .poll(() => second.stdout(), { timeout: 60_000 })
      .toMatch(
        /"caller":"system:serviceaccount:shop:checkout"[^\n]*"code":"OK"|"code":"OK"[^\n]*"caller":"system:serviceaccount:shop:checkout"/,
      );
    const after = createClient(RunService, toTransport(second.url, shop));
    await expect
      .poll(async () => (await after.getRun({ runId })).status, { timeout: 10_000 })
      .toBe(RunStatus.COMPLETED);
    // The run was one of three requests, since counts begin again.
    expect([await call(second.url, shop), await call(second.url, shop)]).toEqual(["openai", "openai"]);
    expect(await call(second.url, shop)).toMatch(
      /^ResourceExhausted: the budget of 3 requests per day for the caller system:serviceaccount:shop:checkout has too little/,
    );

    keys.splice(0, 1, await createKey("next", "RS256"));
    second.child.kill("SIGHUP");
    await second.printed(/"key_ids":\["next"\],"msg":"using new keys of the issuer"/);
    expect(await call(second.url, shop)).toMatch(
      /^Unauthenticated: the token is signed with a key that is not among its issuer's keys/,
    );
    second.child.kill("SIGTERM");
    expect(await second.ended).toBe(0);
    expect(first.stdout() + second.stdout()).not.toMatch(/the-token-of-the-pod|eyJ/);
  });
});
