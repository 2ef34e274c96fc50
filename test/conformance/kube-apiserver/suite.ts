import { mkdir, mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buildOnce } from "../../clients/runner/build-cache.ts";
import { build, probe } from "../../clients/runner/process.ts";
import { cases } from "../kubernetes/cases.ts";
import { renderCases } from "../kubernetes/suite.ts";
import { binaries, folder, type Suite } from "../suite.ts";
import { startApiServer } from "./api-server.ts";
import { Cluster } from "./cluster.ts";
import { checkTokens } from "./tokens.ts";

const cwd = `${folder}kube-apiserver`;

/** The manifests in `deploy` and tokens of service accounts, by a real API server of Kubernetes with etcd. */
export const kubeApiserverSuite: Suite = {
  name: "kube-apiserver",
  async run() {
    await buildProgram();
    const work = await mkdtemp(join(tmpdir(), "kube-apiserver-"));
    const data = join(work, "data");
    await mkdir(data);
    const server = await startApiServer(data);
    try {
      const cluster = new Cluster(server);
      const lines = [...(await checkManifests(cluster, work)), ...(await checkTokens(cluster, server, work))];
      const failed = lines.filter((line) => line.startsWith("FAIL")).length;
      return { lines, tally: { passed: lines.length - failed, failed, skipped: 0 } };
    } finally {
      await server.stop();
      await rm(work, { recursive: true });
    }
  },
};

/** Without optimisation, which takes a third of the time. Most of the rest is linking and Kubernetes' types. */
function buildProgram(): Promise<void> {
  const inputs = { paths: [`${cwd}/main.go`, `${cwd}/go.mod`], facts: [probe("go", "version") ?? ""] };
  const flags = ["-gcflags=all=-N -l -dwarf=false", "-ldflags=-s -w"];
  const args = ["build", "-buildvcs=false", ...flags, "-o", `${binaries}/kube-apiserver`, "."];
  return buildOnce(`${folder}build/kube-apiserver-stamp`, inputs, () => build({ file: "go", args, cwd }));
}

/** Applies the manifests of each case to a namespace. Returns a line for each. */
async function checkManifests(cluster: Cluster, work: string): Promise<string[]> {
  const { outcome, getFile } = await renderCases(work);
  if (outcome.code !== 0) return [`FAIL rendering: ${outcome.stderr}`];
  await cluster.addPodMonitors();
  const lines: string[] = [];
  for (const [index, { name, fails }] of cases.entries()) {
    if (fails !== undefined) continue;
    const problems = await cluster.applyAll(`case-${index}`, await readFile(getFile(name), "utf8"));
    lines.push(problems.length === 0 ? `ok ${name}` : `FAIL ${name}: ${problems.join("; ")}`);
  }
  return [...lines, ...(await checkMistakes(cluster, getFile))];
}

/** Checks that the server refuses what it should: else the other checks would show nothing. */
async function checkMistakes(cluster: Cluster, getFile: (name: string) => string): Promise<string[]> {
  const kept = await readFile(getFile("a container that keeps its capabilities"), "utf8");
  const service = await readFile(getFile("kustomize loopback"), "utf8");
  return [
    await expectProblem("mistake-0", kept, 'must set securityContext.capabilities.drop=["ALL"]'),
    await expectProblem("mistake-1", service.replace("spec:\n", "spec:\n  replica: 2\n"), "replica"),
  ];

  async function expectProblem(namespace: string, manifests: string, expected: string): Promise<string> {
    const problems = await cluster.applyAll(namespace, manifests);
    const isTold = problems.some((problem) => problem.includes(expected));
    return isTold ? `ok refusal of ${expected}` : `FAIL refusal of ${expected}: found ${problems.join("; ")}`;
  }
}
