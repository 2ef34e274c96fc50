/** The dashboard and the alerts name metrics and labels that `/metrics` serves. */
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { createMetrics } from "../../src/server/telemetry/metrics.ts";
import { addSamples } from "../server/support/metric-samples.ts";

function readDeployFile(path: string): string {
  return readFileSync(new URL(`../../deploy/${path}`, import.meta.url), "utf8");
}

/** Labels that Prometheus adds when it scrapes a pod. */
const TARGET_LABELS = ["namespace", "pod", "instance", "job"];

/** Metrics of others: of Prometheus itself, and of kube-state-metrics. */
const FOREIGN_METRICS: Readonly<Record<string, readonly string[]>> = {
  up: TARGET_LABELS,
  kube_pod_container_resource_limits: ["namespace", "pod", "container", "resource"],
  kube_pod_init_container_resource_limits: ["namespace", "pod", "container", "resource"],
};

/** Reads the names and labels of metrics in Prometheus' text format. */
function readServed(text: string): ReadonlyMap<string, ReadonlySet<string>> {
  const served = new Map<string, Set<string>>();
  for (const [, name = "", labels = ""] of text.matchAll(/^([a-z_]+)(?:\{(.*)\})? /gm)) {
    const known = served.get(name) ?? new Set([...TARGET_LABELS]);
    for (const [, label = ""] of labels.matchAll(/(\w+)="/g)) known.add(label);
    served.set(name, known);
  }
  for (const [name, labels] of Object.entries(FOREIGN_METRICS)) served.set(name, new Set(labels));
  return served;
}

const metrics = createMetrics({
  version: "1",
  readDroppedLogLines: () => 0,
  listIssuers: () => [{ issuer: "https://login.example.com", problem: "" }],
});
addSamples(metrics);
const served = readServed(metrics.render());

/** Returns the metrics and labels of a PromQL expression that are not served. */
function findUnknown(expression: string): string[] {
  const selectors = [...expression.matchAll(/\b(up|(?:outrigger|process|nodejs|kube)_\w+)(?:\{([^}]*)\})?/g)];
  if (selectors.length === 0) return [`no metric in ${expression}`];
  const unknown: string[] = [];
  const known = new Set<string>();
  for (const [, name = "", matchers = ""] of selectors) {
    const labels = served.get(name);
    if (labels === undefined) unknown.push(name);
    for (const label of labels ?? []) known.add(label);
    for (const [, label = ""] of matchers.matchAll(/(\w+)\s*[=!]/g))
      if (labels?.has(label) !== true) unknown.push(`${name}{${label}}`);
  }
  for (const [, list = ""] of expression.matchAll(/\b(?:by|on|ignoring)\s*\(([^)]*)\)/g))
    unknown.push(...list.split(/,\s*/).filter((label) => !known.has(label)));
  return unknown;
}

interface Panel {
  readonly id: number;
  readonly type: string;
  readonly title: string;
  readonly description?: string;
  readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number };
  readonly fieldConfig?: { readonly defaults: { readonly unit?: string } };
  readonly targets?: readonly { readonly expr: string; readonly legendFormat: string }[];
}

interface Dashboard {
  readonly panels: readonly Panel[];
  readonly templating: { readonly list: readonly { readonly name: string; readonly definition?: string }[] };
}

const dashboard: Dashboard = JSON.parse(readDeployFile("grafana/outrigger.json"));
const panels = dashboard.panels.filter(({ type }) => type !== "row");

describe("the dashboard", () => {
  it("queries metrics and labels that are served", () => {
    const queries = [
      ...panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr)),
      ...dashboard.templating.list.flatMap(({ definition }) => definition ?? []),
    ];
    expect(queries.length).toBeGreaterThan(40);
    expect(queries.flatMap(findUnknown)).toEqual([]);
  });

  it("shows every metric of the sidecar", () => {
    const text = JSON.stringify(dashboard);
    const missing = [...metrics.render().matchAll(/^# TYPE (\w+)/gm)]
      .map(([, name = ""]) => name)
      .filter((name) => !text.includes(name));
    // It counts calls that began; the dashboard shows calls that ended.
    expect(missing).toEqual(["outrigger_provider_calls_total"]);
  });

  it("uses labels in its legends that its queries keep", () => {
    const lost = panels.flatMap(({ title, targets = [] }) =>
      targets.flatMap(({ expr, legendFormat }) =>
        [...legendFormat.matchAll(/\{\{(\w+)\}\}/g)]
          .map(([, label = ""]) => label)
          .filter((label) => /\bby \(/.test(expr) && !new RegExp(`by \\([^)]*\\b${label}\\b`).test(expr))
          .map((label) => `${title}: ${label}`),
      ),
    );
    expect(lost).toEqual([]);
  });

  it("uses only variables that it defines", () => {
    const defined = dashboard.templating.list.map(({ name }) => name);
    const used = [...JSON.stringify(dashboard).matchAll(/\$\{?([a-z]\w*)/g)].map(([, name = ""]) => name);
    expect([...new Set(used)].filter((name) => !defined.includes(name))).toEqual([]);
  });

  it("has panels with a description and a unit, none of which overlap", () => {
    expect(new Set(dashboard.panels.map(({ id }) => id)).size).toBe(dashboard.panels.length);
    expect(
      panels.filter(({ description, fieldConfig }) => !description || !fieldConfig?.defaults.unit),
    ).toEqual([]);
    const taken = new Set<string>();
    for (const { title, gridPos } of dashboard.panels) {
      expect(gridPos.x + gridPos.w, title).toBeLessThanOrEqual(24);
      for (let x = gridPos.x; x < gridPos.x + gridPos.w; x += 1)
        for (let y = gridPos.y; y < gridPos.y + gridPos.h; y += 1) {
          expect(taken.has(`${x},${y}`), title).toBe(false);
          taken.add(`${x},${y}`);
        }
    }
  });
});

describe("the alerts", () => {
  const { groups } = parse(readDeployFile("prometheus/alerts.yaml"));
  const rules: { alert: string; expr: string }[] = groups.flatMap(({ rules }: { rules: unknown }) => rules);

  it("query metrics and labels that are served", () => {
    expect(rules.length).toBeGreaterThan(10);
    expect(rules.flatMap(({ expr }) => findUnknown(expr))).toEqual([]);
  });

  it("are each raised by a test", () => {
    const tests = readDeployFile("prometheus/alerts.test.yaml");
    const raised = [...tests.matchAll(/alertname: (\w+)\n\s+exp_alerts:\n\s+- exp_labels/g)].map(
      ([, name]) => name,
    );
    expect(raised.toSorted()).toEqual(rules.map(({ alert }) => alert).toSorted());
  });
});
