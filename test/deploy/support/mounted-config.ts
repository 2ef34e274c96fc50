/** Reads configuration files as containers get them from the manifests in `deploy`. */
import { execFileSync } from "node:child_process";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { parseAllDocuments } from "yaml";
import { checkSetup } from "../../../src/cli/check-setup.ts";
import { type Config, loadConfig } from "../../../src/config/index.ts";

/** The folder below which containers mount secrets. */
const SECRETS = "/run/secrets/outrigger";

/** Seconds in which the sidecar closes what it has open, after its drain: three parts, each 5 s. */
const CLOSE_SECONDS = 15;

/** The default of `drain_timeout`. */
const DRAIN_MS = 30_000;

/** Secrets by the end of their paths; all others are keys of providers. */
const CONTENTS: Readonly<Record<string, string>> = {
  "access/keys.yaml": "keys: [{ name: checkout, key: 0123456789abcdef }]\n",
  "database/url": "postgres://outrigger:secret@db:5432/outrigger\n",
};

/**
 * Loads a configuration file whose secrets are mounted below /run/secrets/outrigger, and checks it as `check-config`
 * does.
 * @throws ConfigurationError
 */
export async function loadMountedConfig(
  text: string,
  environment: Record<string, string> = {},
): Promise<Config> {
  const folder = await mkdtemp(join(tmpdir(), "outrigger-mounted-"));
  try {
    for (const path of findSecrets(text)) await writeSecret(join(folder, path), path);
    const config = join(folder, "outrigger.yaml");
    await writeFile(config, text.replaceAll(SECRETS, folder));
    const loaded = await loadConfig({ environment, flags: { config } });
    checkSetup(loaded);
    return loaded;
  } finally {
    await rm(folder, { recursive: true });
  }
}

/** Returns the paths of secrets that a text names, relative to their folder. */
function findSecrets(text: string): string[] {
  return [...text.matchAll(/\/run\/secrets\/outrigger\/([\w./-]+)/g)].map(([, path = ""]) => path);
}

async function writeSecret(file: string, path: string): Promise<void> {
  await mkdir(dirname(file), { recursive: true });
  if (path === "tls/tls.crt") createCertificate(dirname(file));
  else if (path !== "tls/tls.key") await writeFile(file, CONTENTS[path] ?? "key-of-a-provider\n");
}

function createCertificate(folder: string): void {
  const files = ["-keyout", `${folder}/tls.key`, "-out", `${folder}/tls.crt`];
  const key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"];
  execFileSync("openssl", ["req", "-x509", ...key, ...files, "-subj", "/CN=outrigger"], { stdio: "ignore" });
}

interface Probe {
  readonly httpGet: { readonly path: string; readonly port: string };
}

interface Container {
  readonly name: string;
  readonly env?: readonly { readonly name: string; readonly value: string }[];
  readonly ports?: readonly { readonly name: string; readonly containerPort: number }[];
  readonly volumeMounts?: readonly { readonly mountPath: string }[];
  readonly lifecycle?: { readonly preStop: { readonly sleep: { readonly seconds: number } } };
  readonly startupProbe?: Probe;
  readonly readinessProbe?: Probe;
  readonly livenessProbe?: Probe;
}

interface Pod {
  readonly terminationGracePeriodSeconds: number;
  readonly initContainers?: readonly Container[];
  readonly containers: readonly Container[];
}

interface Manifest {
  readonly kind: string;
  readonly data?: Readonly<Record<string, string>>;
  readonly spec?: { readonly template: { readonly spec: Pod } };
}

/**
 * Checks the sidecar in rendered manifests: its configuration, and whether mounts, ports, probes, the address that the
 * service gets and the grace period agree with it. Returns what is wrong.
 */
export async function checkMountedConfig(manifests: string): Promise<string | undefined> {
  const all: Manifest[] = parseAllDocuments(manifests).map((document) => document.toJS());
  const text = all.find(({ kind }) => kind === "ConfigMap")?.data?.["outrigger.yaml"] ?? "";
  const pod = all.find(({ kind }) => kind === "Deployment")?.spec?.template.spec;
  const containers = [...(pod?.initContainers ?? []), ...(pod?.containers ?? [])];
  const sidecar = containers.find(({ name }) => name === "outrigger");
  if (pod === undefined || sidecar === undefined) return "there is no container named outrigger";
  const { OUTRIGGER_CONFIG: path, ...environment } = readEnvironment(sidecar);
  const config = await loadMountedConfig(text, environment);
  const mounts = (sidecar.volumeMounts ?? []).map(({ mountPath }) => `${mountPath}/`);
  const files = [path ?? "none", ...findSecrets(text).map((secret) => `${SECRETS}/${secret}`)];
  const unmounted = files.filter((file) => !mounts.some((mount) => file.startsWith(mount)));
  if (unmounted.length > 0) return `no volume is mounted for ${unmounted.join(", ")}`;
  return checkProbes(sidecar, config) ?? checkAddresses(pod, config) ?? checkGracePeriod(pod, config);
}

function readEnvironment({ env = [] }: Container): Record<string, string> {
  return Object.fromEntries(env.map(({ name, value }) => [name, value]));
}

function checkProbes(sidecar: Container, { listeners }: Config): string | undefined {
  const { startupProbe, readinessProbe, livenessProbe } = sidecar;
  const probes = [startupProbe, readinessProbe, livenessProbe].map((probe) => probe?.httpGet);
  const paths = probes.map((probe) => probe?.path).join(" ");
  if (paths !== "/readyz /readyz /livez") return `the probes ask for ${paths}`;
  const port = sidecar.ports?.find(({ name }) =>
    probes.every((probe) => probe?.port === name),
  )?.containerPort;
  const address = listeners.admin?.address ?? "off";
  return address.endsWith(`:${port}`)
    ? undefined
    : `the probes ask port ${port}, the sidecar listens on ${address}`;
}

/** Checks that the service's container has the address of the sidecar. A shared deployment has no such container. */
function checkAddresses({ containers }: Pod, { listeners }: Config): string | undefined {
  const [service] = containers;
  if (service === undefined || service.name === "outrigger") return undefined;
  const [address = ""] = listeners.data.addresses;
  const given = readEnvironment(service).OUTRIGGER_ADDR;
  if (given !== address) return `the service gets the address ${given}, the sidecar listens on ${address}`;
  const folder = address.startsWith("unix://") ? dirname(address.slice("unix://".length)) : undefined;
  const mounts = service.volumeMounts ?? [];
  if (folder !== undefined && mounts.every(({ mountPath }) => mountPath !== folder))
    return `the service does not mount ${folder}`;
  return undefined;
}

/** The pod's time to end has to suffice for the pre-stop delay, the drain and what comes after it. */
function checkGracePeriod(pod: Pod, { shutdown }: Config): string | undefined {
  const delays = pod.containers.map(({ lifecycle }) => lifecycle?.preStop.sleep.seconds ?? 0);
  const drainMs = shutdown.timeoutMs ?? DRAIN_MS;
  const needed = Math.max(...delays) + drainMs / 1000 + CLOSE_SECONDS;
  const { terminationGracePeriodSeconds: given } = pod;
  return given >= needed ? undefined : `the grace period is ${given} s, its parts take ${needed} s`;
}
