import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { buildOnce } from "../../clients/runner/build-cache.ts";
import { build, probe, run } from "../../clients/runner/process.ts";
import { judge } from "../../clients/runner/report.ts";
import { checkMountedConfig } from "../../deploy/support/mounted-config.ts";
import { binaries, folder, type Suite } from "../suite.ts";
import { downloadModule } from "../tools.ts";
import { type Case, cases } from "./cases.ts";

const cwd = `${folder}kubernetes`;
const root = fileURLToPath(new URL("../../..", import.meta.url));
const TIMEOUT_MS = 120_000;

/** Modules whose files hold the schemas: Kubernetes' API, and the custom resources of the Prometheus Operator. */
const KUBERNETES = "k8s.io/kubernetes@v1.37.2";
const OPERATOR = "github.com/prometheus-operator/prometheus-operator@v0.85.0";

/**
 * The manifests in `deploy`, as kustomize and Helm render them: by `helm lint`, kubeconform, Pod Security "restricted"
 * and the sidecar's check of configurations.
 */
export const kubernetesSuite: Suite = {
  name: "kubernetes",
  async run() {
    const work = await mkdtemp(join(tmpdir(), "kubernetes-"));
    try {
      return await runCases(work);
    } finally {
      await rm(work, { recursive: true });
    }
  },
};

/** Downloads the Prometheus Operator. Returns the file that defines the resource PodMonitor. */
export async function downloadPodMonitors(): Promise<string> {
  const operator = await downloadModule(OPERATOR, cwd);
  return `${operator}/example/prometheus-operator-crd/monitoring.coreos.com_podmonitors.yaml`;
}

/**
 * Renders and checks all cases.
 * @param work An empty folder.
 * @returns how the program ended, and the file with the manifests of each case.
 */
export async function renderCases(work: string) {
  await buildProgram();
  const [kubernetes, podMonitors] = await Promise.all([
    downloadModule(KUBERNETES, cwd),
    downloadPodMonitors(),
  ]);
  const output = join(work, "manifests");
  await mkdir(output);
  const request = {
    swagger: `${kubernetes}/api/openapi-spec/swagger.json`,
    crds: [podMonitors],
    output,
    cases: await Promise.all(cases.map((each) => toRequest(each, work))),
  };
  const file = join(work, "request.json");
  await writeFile(file, JSON.stringify(request));
  const outcome = await run({ file: `${binaries}/kubernetes`, args: [file], cwd }, TIMEOUT_MS);
  return { outcome, getFile: (name: string) => `${output}/${name.replaceAll(" ", "-")}.yaml` };
}

function buildProgram(): Promise<void> {
  const inputs = { paths: [cwd], facts: [probe("go", "version") ?? ""] };
  // Most of the build are Kubernetes' types: without optimisation they take half of the time.
  const flags = ["-gcflags=k8s.io/...=-N -l -dwarf=false", "-ldflags=-s -w"];
  const args = ["build", "-buildvcs=false", ...flags, "-o", `${binaries}/kubernetes`, "."];
  return buildOnce(`${folder}build/kubernetes-stamp`, inputs, () => build({ file: "go", args, cwd }));
}

async function runCases(work: string) {
  const { outcome, getFile } = await renderCases(work);
  const names = cases.map(({ name }) => name);
  const { tally, lines } = judge(names, outcome);
  const wrong: string[] = tally.failed > 0 ? [outcome.stderr] : [];
  for (const { name, fails } of cases)
    if (fails === undefined && lines.includes(`ok ${name}`))
      wrong.push(...(await checkConfigs(name, getFile(name))));
  const failed = tally.failed + wrong.filter((line) => line.startsWith("FAIL")).length;
  return { lines: [...lines, ...wrong], tally: { ...tally, failed } };
}

/** Puts the dependency of an example chart into its folder `charts`, as `helm dependency build` does. */
async function toRequest({ name, path, values = {}, fails = "" }: Case, work: string) {
  const source = `${root}/${path}`;
  if (!path.startsWith("deploy/helm/")) return { name, kustomization: source, fails };
  const chart = join(work, name.replaceAll(" ", "-"), path.slice(path.lastIndexOf("/") + 1));
  await cp(source, chart, { recursive: true });
  const sidecar = "outrigger-sidecar";
  if (path.includes("examples"))
    await cp(`${root}/deploy/helm/${sidecar}`, `${chart}/charts/${sidecar}`, { recursive: true });
  return { name, chart, values, fails };
}

async function checkConfigs(name: string, file: string): Promise<string[]> {
  const problem = await checkMountedConfig(await readFile(file, "utf8")).catch(String);
  return problem === undefined ? [] : [`FAIL ${name}: ${problem}`];
}
