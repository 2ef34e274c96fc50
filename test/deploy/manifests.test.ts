/**
 * Manifests, charts and docs/deploy.md agree with the program and its package. `test/conformance/kubernetes` renders
 * them.
 */
import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { loadMountedConfig } from "./support/mounted-config.ts";

const root = new URL("../../", import.meta.url);

function read(path: string): string {
  return readFileSync(new URL(path, root), "utf8");
}

const { version } = JSON.parse(read("package.json"));

/** The paths of all files below `deploy`. */
const files = readdirSync(new URL("deploy", root), { recursive: true, withFileTypes: true })
  .filter((entry) => entry.isFile())
  .map((entry) => `${entry.parentPath}/${entry.name}`.slice(root.pathname.length));

/** The files with the container of the sidecar: once for kustomize, once for each chart. */
const CONTAINERS = [
  "deploy/kustomize/container/deployment.yaml",
  "deploy/helm/outrigger-sidecar/templates/_sidecar.tpl",
  "deploy/helm/outrigger/templates/deployment.yaml",
];

describe("the manifests", () => {
  it("use the image of this version", () => {
    expect(read("deploy/kustomize/container/deployment.yaml")).toContain(`image: outrigger:${version}\n`);
    for (const chart of ["outrigger", "outrigger-sidecar"]) {
      expect(parse(read(`deploy/helm/${chart}/values.yaml`)).image.tag).toBe(version);
      expect(parse(read(`deploy/helm/${chart}/Chart.yaml`))).toMatchObject({ version, appVersion: version });
    }
    const { dependencies } = parse(read("deploy/helm/examples/checkout/Chart.yaml"));
    expect(dependencies).toMatchObject([{ name: "outrigger-sidecar", version }]);
  });

  it.each(CONTAINERS)("have the same ports, probes and permissions in %s", (path) => {
    const text = read(path);
    for (const line of [
      "containerPort: 6191",
      "httpGet: { path: /livez, port: outrigger-admin }",
      "runAsUser: 65532",
      "runAsNonRoot: true",
      "allowPrivilegeEscalation: false",
      "readOnlyRootFilesystem: true",
      "capabilities: { drop: [ALL] }",
      "seccompProfile: { type: RuntimeDefault }",
      "value: /etc/outrigger/outrigger.yaml",
    ])
      expect(text).toContain(line);
    expect(text.match(/httpGet: \{ path: \/readyz, port: outrigger-admin \}/g)).toHaveLength(2);
  });

  it("run as the user of the image, on the ports that it exposes", () => {
    expect(read("Dockerfile")).toContain("USER 65532:65532");
    expect(read("Dockerfile")).toContain("EXPOSE 6190 6191");
  });

  it("hold no key, and name Secrets instead", () => {
    expect(files.length).toBeGreaterThan(30);
    expect(files.filter((path) => /^kind: Secret$/m.test(read(path)))).toEqual([]);
  });
});

describe("the configuration files", () => {
  it.each(["loopback", "socket"])("of the example %s can be served", async (example) => {
    const { address } = parse(read(`deploy/kustomize/${ADDRESSES[example]}/address.yaml`)).data;
    const text = read(`deploy/kustomize/examples/${example}/outrigger.yaml`);
    const { listeners, client } = await loadMountedConfig(text, { OUTRIGGER_LISTEN: address });
    expect(listeners.data.addresses).toEqual([address]);
    expect([...client.providers.keys()]).toEqual(["openai", "anthropic"]);
  });

  it("of the charts' values can be served", async () => {
    for (const values of ["outrigger/values.yaml", "examples/checkout/values.yaml"]) {
      const { config, outrigger } = parse(read(`deploy/helm/${values}`));
      const { client } = await loadMountedConfig(JSON.stringify(config ?? outrigger.config));
      expect([...client.providers.keys()]).toEqual(["openai"]);
    }
  });
});

const ADDRESSES: Readonly<Record<string, string>> = { loopback: "sidecar", socket: "sidecar-socket" };

/** The code blocks of the documentation that are files below `deploy`, with the paths above them. */
function findFragments(page: string): { path: string; fragment: string }[] {
  return [...read(page).matchAll(/<!-- (deploy\/\S+) -->\n\n?```yaml\n(.*?)```/gs)].map(
    ([, path = "", fragment = ""]) => ({ path, fragment }),
  );
}

describe("the fragments of docs/deploy.md", () => {
  const fragments = findFragments("docs/deploy.md");

  it.each(fragments)("are lines of $path", ({ path, fragment }) => {
    for (const part of fragment.split(/^\s*# …\n/m)) expect(read(path)).toContain(part);
  });

  it("are all of its YAML", () => {
    const blocks = read("docs/deploy.md").match(/```yaml/g);
    expect(blocks?.length).toBe(fragments.length);
    expect(fragments.length).toBeGreaterThanOrEqual(4);
  });
});
