/** The addresses of the parts of a demo. */
export interface DemoAddresses {
  readonly addresses: readonly string[];
  readonly adminAddress: string | undefined;
  readonly simulatorUrl: string;
}

/** The text that a demo prints: its addresses, and calls to copy. */
export function demoText({ addresses, adminAddress, simulatorUrl }: DemoAddresses): string {
  const tools = toolsFor(addresses[0] ?? "");
  return `Outrigger demo: a sidecar with a simulated provider behind it. No key, no cost.

  calls                ${addresses.join(", ")}   gRPC, gRPC-Web, Connect and JSON
  health and metrics   ${adminAddress === undefined ? "off" : `${urlOf(adminAddress)}/readyz, /metrics`}
  simulated provider   ${simulatorUrl}

Try in another terminal:

  # A whole answer, as plain JSON
  ${tools.curl("Complete", "sim-text")}

  # Token by token, as server-sent events
  ${tools.curlStream("Stream", "sim-long:tokens=60,rate=20")}

  # What there is, for any gRPC client
  ${tools.grpcurl("list")}

  # The same answer, over gRPC
  ${tools.grpcurl("Complete", "sim-text")}

  # Token by token, over gRPC
  ${tools.grpcurl("Stream", "sim-long:tokens=60,rate=20")}

The simulator speaks four protocols: add "provider":"anthropic", "gemini" or "compatible" to a
request, and the same call goes another way. Without it, OpenAI's Responses API is spoken.

The model string chooses what happens: sim-text, sim-tools, sim-reasoning, sim-refusal,
sim-long:tokens=2000,rate=50, and failures such as sim-text:status=429,retry_after=2.

From a program, with stubs generated from proto/outrigger/v1:

  Go       connection, err := grpc.NewClient("${tools.target}", grpc.WithTransportCredentials(insecure.NewCredentials()))
           client := outriggerv1.NewInferenceServiceClient(connection)
  Python   stub = inference_service_pb2_grpc.InferenceServiceStub(grpc.insecure_channel("${tools.target}"))

Ctrl-C stops it. With a provider's key set, "outrigger serve" does the same with that provider behind it.
`;
}

/** Prints command lines for an address. */
interface CommandLines {
  /** The address in the form of gRPC libraries. */
  readonly target: string;
  curl(method: string, model: string): string;
  curlStream(method: string, model: string): string;
  /** Without a model: a command of grpcurl itself. */
  grpcurl(method: string, model?: string): string;
}

function toolsFor(address: string): CommandLines {
  const path = address.startsWith("unix:") ? address.replace(/^unix:(\/\/)?/, "") : undefined;
  const target = path === undefined ? reachable(address) : address;
  const url = `http://${path === undefined ? target : "localhost"}/${SERVICE}`;
  const socket = path === undefined ? "" : ` --unix-socket ${path}`;
  return {
    target,
    curl: (method, model) => `curl -sS${socket} ${url}/${method} ${JSON_TYPE} \\\n    -d '${bodyOf(model)}'`,
    curlStream: (method, model) =>
      `curl -sSN${socket} ${url}/${method} ${JSON_TYPE} \\\n    -H 'accept: text/event-stream' -d '${bodyOf(model)}'`,
    grpcurl: (method, model) => {
      const start = `grpcurl -plaintext${path === undefined ? "" : " -unix"}`;
      if (model === undefined) return `${start} ${path ?? target} ${method}`;
      return `${start} -d '${bodyOf(model)}' \\\n    ${path ?? target} ${SERVICE}/${method}`;
    },
  };
}

const SERVICE = "outrigger.v1.InferenceService";
const JSON_TYPE = "-H 'content-type: application/json'";

function bodyOf(model: string): string {
  return JSON.stringify({ model, messages: [{ role: "ROLE_USER", content: [{ text: "Say hello." }] }] });
}

/** Clients reach an address on all interfaces by loopback. */
function reachable(address: string): string {
  return address.replace(/^(0\.0\.0\.0|\[::\]|):/, "127.0.0.1:");
}

function urlOf(address: string): string {
  return address.startsWith("unix:") ? address : `http://${reachable(address)}`;
}
