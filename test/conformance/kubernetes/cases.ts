/** A kustomization or a chart to render and check, or a mistake in values that has to be told. */
export interface Case {
  readonly name: string;
  /** Folder of a kustomization or a chart. */
  readonly path: string;
  /** Values besides the defaults of the chart. */
  readonly values?: object;
  /** A part of the error that is expected. */
  readonly fails?: string;
}

const SHARED = "deploy/helm/outrigger";
const CHECKOUT = "deploy/helm/examples/checkout";

/** The cases. */
export const cases: readonly Case[] = [
  { name: "kustomize loopback", path: "deploy/kustomize/examples/loopback" },
  { name: "kustomize socket", path: "deploy/kustomize/examples/socket" },
  { name: "helm service", path: CHECKOUT },
  {
    name: "helm service with a socket",
    path: CHECKOUT,
    values: {
      outrigger: {
        mode: "socket",
        accessKeysSecret: "keys",
        secrets: { providers: "a", more: "b" },
        env: [{ name: "OTEL_SERVICE_NAME", value: "checkout" }],
        podMonitor: { labels: { release: "prometheus" } },
      },
    },
  },
  { name: "helm shared", path: SHARED },
  {
    name: "helm shared with everything",
    path: SHARED,
    values: {
      imagePullSecrets: [{ name: "registry" }],
      tlsSecret: "tls",
      config: { allowed_hosts: ["outrigger.example.com"], runs: { retention: "7d" } },
      podAnnotations: { team: "a" },
      nodeSelector: { "kubernetes.io/arch": "arm64" },
      tolerations: [{ key: "a", operator: "Exists" }],
      env: [{ name: "HTTPS_PROXY", value: "http://proxy:3128" }],
      service: { annotations: { a: "b" } },
      networkPolicy: { egress: [{ ports: [{ protocol: "TCP", port: 3128 }] }] },
      podMonitor: { enabled: true, labels: { release: "prometheus" } },
    },
  },
  {
    name: "helm shared without secrets of callers and a database",
    path: SHARED,
    values: { accessKeysSecret: "", allowUnauthenticated: true, database: { secret: "" } },
  },
  {
    name: "a value that does not exist",
    path: SHARED,
    values: { replica: 2 },
    fails: "additional properties 'replica' not allowed",
  },
  {
    name: "a duration in place of seconds",
    path: SHARED,
    values: { drainSeconds: "30s" },
    fails: "at '/drainSeconds': got string, want integer",
  },
  {
    name: "a field of the configuration that the chart sets",
    path: SHARED,
    values: { config: { listen: "0.0.0.0:80" } },
    fails: "at '/config/listen'",
  },
  {
    name: "no access keys by accident",
    path: SHARED,
    values: { accessKeysSecret: "" },
    fails: "at '/allowUnauthenticated': value must be true",
  },
  {
    name: "an unknown mode of the sidecar",
    path: CHECKOUT,
    values: { outrigger: { mode: "tcp" } },
    fails: "at '/mode': value must be one of 'loopback', 'socket'",
  },
  {
    name: "a sidecar without a limit of its memory",
    path: CHECKOUT,
    values: { outrigger: { resources: { limits: { memory: null } } } },
    fails: "at '/resources/limits': missing property 'memory'",
  },
  {
    name: "a field that Kubernetes does not know",
    path: SHARED,
    values: { env: [{ name: "HTTPS_PROXY", valueOf: "http://proxy:3128" }] },
    fails: "additional properties 'valueOf' not allowed",
  },
  {
    name: "a container that keeps its capabilities",
    path: "test/conformance/kubernetes/unrestricted",
    fails: 'container "outrigger" must set securityContext.capabilities.drop=["ALL"]',
  },
];
