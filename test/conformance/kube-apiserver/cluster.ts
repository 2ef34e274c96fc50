import { readFile } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { parse, parseAllDocuments } from "yaml";
import { downloadPodMonitors } from "../kubernetes/suite.ts";
import type { Answer, ApiServer, Call } from "./api-server.ts";

/** A manifest, as far as it is read. */
interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: Readonly<Record<string, unknown>> & { readonly name: string };
  readonly spec?: { readonly template?: { readonly metadata: object; readonly spec: object } };
}

const ESTABLISH_MS = 30_000;

/** The objects of an API server. */
export class Cluster {
  readonly #server: Pick<ApiServer, "send">;
  /** Paths by API version and kind. */
  readonly #resources = new Map<string, string>();

  constructor(server: Pick<ApiServer, "send">) {
    this.#server = server;
  }

  /** Adds the definition of PodMonitors. */
  async addPodMonitors(): Promise<void> {
    const definition = parse(await readFile(await downloadPodMonitors(), "utf8"));
    const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    await this.#create(definitions, definition);
    const giveUp = Date.now() + ESTABLISH_MS;
    const path = `${definitions}/${definition.metadata.name}`;
    while (!JSON.stringify((await this.#server.send({ path })).body).includes('"type":"Established"')) {
      if (Date.now() > giveUp) throw new Error("PodMonitors were not established");
      await sleep(100);
    }
    // Its own schema is served a moment later.
    while ((await this.#server.send({ path: "/apis/monitoring.coreos.com/v1" })).status !== 200)
      await sleep(100);
  }

  /** Creates a namespace that enforces Pod Security "restricted", with a service account that its pods use. */
  async addNamespace(name: string): Promise<void> {
    const levels = ["enforce", "warn", "audit"].map((mode) => [
      `pod-security.kubernetes.io/${mode}`,
      "restricted",
    ]);
    await this.#create("/api/v1/namespaces", { metadata: { name, labels: Object.fromEntries(levels) } });
    await this.addServiceAccount(name, "default");
  }

  /** Creates a service account. */
  async addServiceAccount(namespace: string, name: string): Promise<void> {
    await this.#create(`/api/v1/namespaces/${namespace}/serviceaccounts`, { metadata: { name } });
  }

  /**
   * Requests a token of a service account, as the kubelet does for a pod.
   * @param audience Default: the API server.
   */
  async requestToken(namespace: string, name: string, audience?: string): Promise<string> {
    const path = `/api/v1/namespaces/${namespace}/serviceaccounts/${name}/token`;
    const { status } = await this.#create(path, { spec: { ...(audience && { audiences: [audience] }) } });
    return (status as { token: string }).token;
  }

  /**
   * Applies manifests to a new namespace, and creates a pod from each template: Pod Security refuses pods, and warns of
   * templates. Returns what the server refuses or warns of.
   */
  async applyAll(namespace: string, manifests: string): Promise<string[]> {
    await this.addNamespace(namespace);
    const problems: string[] = [];
    for (const document of parseAllDocuments(manifests)) {
      const manifest: Manifest = document.toJS();
      problems.push(...(await this.#apply(namespace, manifest)));
      const template = manifest.spec?.template;
      if (template === undefined) continue;
      const metadata = { ...template.metadata, name: manifest.metadata.name };
      problems.push(
        ...(await this.#apply(namespace, { ...template, apiVersion: "v1", kind: "Pod", metadata })),
      );
    }
    return problems;
  }

  /** Applies a manifest on the server's side, with strict fields. */
  async #apply(namespace: string, manifest: Manifest): Promise<string[]> {
    const { apiVersion, kind, metadata } = manifest;
    const root = apiVersion === "v1" ? "/api/v1" : `/apis/${apiVersion}`;
    const resource = await this.#getResource(root, kind);
    const path = `${root}/namespaces/${namespace}/${resource}/${metadata.name}?fieldManager=test&fieldValidation=Strict`;
    const body = { ...manifest, metadata: { ...metadata, namespace } };
    const { status, warnings, body: answer } = await this.#server.send({ method: "PATCH", path, body });
    const refusal = status === 200 || status === 201 ? [] : [`status ${status}: ${answer.message}`];
    return [...refusal, ...warnings].map((problem) => `${kind} ${metadata.name}: ${problem}`);
  }

  /** Returns the name of a kind in paths. */
  async #getResource(root: string, kind: string): Promise<string> {
    const key = `${root} ${kind}`;
    const known = this.#resources.get(key);
    if (known !== undefined) return known;
    const { resources } = (await this.#server.send({ path: root })).body as {
      readonly resources?: readonly { readonly kind: string; readonly name: string }[];
    };
    const found = resources?.find((each) => each.kind === kind && !each.name.includes("/"));
    if (found === undefined) throw new Error(`the server has no ${kind} in ${root}`);
    this.#resources.set(key, found.name);
    return found.name;
  }

  async #create(path: string, body: object): Promise<Answer["body"]> {
    const call: Call = { method: "POST", path: `${path}?fieldValidation=Strict`, body };
    const { status, body: answer } = await this.#server.send(call);
    if (status !== 201) throw new Error(`POST ${path} got status ${status}: ${answer.message}`);
    return answer;
  }
}
