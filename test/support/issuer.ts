/** An issuer of tokens: keys, tokens signed with them, and a server that publishes the public ones. */
import { generateKeyPairSync, type KeyObject } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { exportJWK, type JWK, type JWTHeaderParameters, type JWTPayload, SignJWT } from "jose";

/** A key of an issuer. */
export interface IssuerKey {
  readonly kid: string;
  readonly alg: string;
  readonly privateKey: KeyObject;
  /** As it is published. */
  readonly jwk: JWK;
}

/** Creates a key for an algorithm. */
export async function createKey(kid: string, alg = "ES256"): Promise<IssuerKey> {
  const { privateKey, publicKey } = generate(alg);
  return { kid, alg, privateKey, jwk: { ...(await exportJWK(publicKey)), kid, alg, use: "sig" } };
}

function generate(alg: string): { readonly privateKey: KeyObject; readonly publicKey: KeyObject } {
  if (alg.startsWith("ES")) {
    const namedCurve = { ES256: "P-256", ES384: "P-384", ES512: "P-521" }[alg] ?? "";
    return generateKeyPairSync("ec", { namedCurve });
  }
  if (alg.startsWith("Ed")) return generateKeyPairSync("ed25519");
  return generateKeyPairSync("rsa", { modulusLength: 2048 });
}

/** Changes to the header and the claims of a token. */
export interface TokenSettings {
  readonly header?: Partial<JWTHeaderParameters>;
  readonly claims?: JWTPayload;
}

export const ISSUER = "https://issuer.test";
export const AUDIENCE = "outrigger";

/** The current time in seconds. */
export function nowSeconds(): number {
  return Math.floor(Date.now() / 1000);
}

/** Signs a token of `ISSUER` for `AUDIENCE`, with the subject `alice`, valid for ten minutes. */
export function signToken(
  { privateKey, alg, kid }: IssuerKey,
  { header = {}, claims = {} }: TokenSettings = {},
): Promise<string> {
  const all = { iss: ISSUER, aud: AUDIENCE, sub: "alice", exp: nowSeconds() + 600, ...claims };
  return new SignJWT(all).setProtectedHeader({ alg, kid, ...header }).sign(privateKey);
}

/** The claims of Kubernetes in a projected token of a service account. */
export function toKubernetesClaims(namespace: string, name: string): JWTPayload {
  return {
    iss: ISSUER,
    sub: `system:serviceaccount:${namespace}:${name}`,
    aud: [AUDIENCE],
    "kubernetes.io": {
      namespace,
      node: { name: "worker-1", uid: "8a4c3b0e-5d6b-4a5f-9e0f-0d6b1c2a3f4e" },
      pod: { name: `${name}-7d9c5b`, uid: "0b6c2a8e-1f2d-4c3b-8a9e-6d5f4e3c2b1a" },
      serviceaccount: { name, uid: "5e4d3c2b-1a09-4f8e-9d7c-6b5a4f3e2d1c" },
    },
  };
}

/** A server of keys. Its answers may be changed at any time. */
export interface KeyServer {
  readonly url: string;
  /** Requests so far. */
  readonly requests: IncomingMessage[];
  /** Answers a request. Default: the keys. */
  answer: (request: IncomingMessage, response: ServerResponse) => void;
  publish(...keys: IssuerKey[]): void;
  close(): Promise<void>;
}

/** Starts a server that publishes keys. */
export async function startKeyServer(...keys: IssuerKey[]): Promise<KeyServer> {
  const requests: IncomingMessage[] = [];
  const server = createServer((request, response) => {
    requests.push(request);
    keyServer.answer(request, response);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const keyServer: KeyServer = {
    url: `http://127.0.0.1:${port}/keys`,
    requests,
    answer() {},
    publish(...published) {
      const body = JSON.stringify({ keys: published.map(({ jwk }) => jwk) });
      this.answer = (_request, response) => void response.end(body);
    },
    close: () => closeServer(server),
  };
  keyServer.publish(...keys);
  return keyServer;
}

async function closeServer(server: Server): Promise<void> {
  server.closeAllConnections();
  server.close();
  await once(server, "close");
}
