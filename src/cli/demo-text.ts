/** The addresses of the parts of a demo. */
export interface DemoAddresses {
  readonly addresses: readonly string[];
  readonly adminAddress: string | undefined;
  readonly simulatorUrl: string;
  /** Names of the providers, the default first. */
  readonly providers: readonly string[];
}

/** Returns the text that a demo prints: its addresses, and calls to copy. */
export function demoText({ addresses, adminAddress, simulatorUrl, providers }: DemoAddresses): string {
  const [first, ...others] = providers;
  const tools = toolsFor(addresses[0] ?? "");
  return `Outrigger demo: a sidecar with a simulated provider behind it. No key, no cost.

  calls                ${addresses.join(", ")}   gRPC, gRPC-Web, Connect, JSON, the APIs of OpenAI, Anthropic and Google
  health and metrics   ${adminAddress === undefined ? "off" : `${toUrl(adminAddress)}/readyz, /metrics`}
  simulated provider   ${simulatorUrl}

Try in another terminal:

  # A whole answer, as plain JSON
  ${tools.curl("InferenceService/Complete", askText("sim-text"))}

  # Token by token, as server-sent events
  ${tools.curlStream("InferenceService/Stream", askText("sim-long:tokens=60,rate=20"))}

  # An object that matches a JSON Schema
  ${tools.curl("GenerationService/GenerateObject", objectText("sim-text"))}

  # OpenAI's Responses API, which official OpenAI SDKs call with the base URL ${tools.v1}
  ${tools.responses("anthropic/sim-text")}

  # The services, for any gRPC client
  ${tools.grpcurlCommand("list")}

  # The same answer, over gRPC
  ${tools.grpcurl("InferenceService/Complete", askText("sim-text"))}

  # Token by token, over gRPC
  ${tools.grpcurl("InferenceService/Stream", askText("sim-long:tokens=60,rate=20"))}

The simulator speaks the protocol of each provider: add "provider": with "${others.join('", "')}"
to a request, and the same call uses that protocol. Without it, the demo uses "${first}".

The model string chooses the answer: sim-text, sim-tools, sim-reasoning, sim-refusal,
sim-long:tokens=2000,rate=50, and failures such as sim-text:status=429,retry_after=2. Names of
real models work as well: the simulator answers for them.

From a program, with stubs generated from proto/outrigger/v1:

  Go       connection, err := grpc.NewClient("${tools.target}", grpc.WithTransportCredentials(insecure.NewCredentials()))
           client := outriggerv1.NewInferenceServiceClient(connection)
  Python   stub = inference_service_pb2_grpc.InferenceServiceStub(grpc.insecure_channel("${tools.target}"))

The packages in clients can also run your functions as a model's tools.

Press Ctrl-C to stop. With a provider's key set, "outrigger serve" serves that provider instead.
`;
}

/** Returns functions that print command lines. A method is preceded by its service, a body is JSON text. */
function toolsFor(address: string) {
  const path = address.startsWith("unix:") ? address.replace(/^unix:(\/\/)?/, "") : undefined;
  const target = path === undefined ? reachable(address) : address;
  const base = `http://${path === undefined ? target : "localhost"}`;
  const url = `${base}/${PACKAGE}`;
  const socket = path === undefined ? "" : ` --unix-socket ${path}`;
  const grpcurl = `grpcurl -plaintext${path === undefined ? "" : " -unix"}`;
  return {
    /** The address in the form of gRPC libraries. */
    target,
    /** The base URL of the HTTP API. */
    v1: `${base}/v1`,
    responses: (model: string) =>
      `curl -sS${socket} ${base}/v1/responses ${JSON_TYPE} \\\n    -d '{"model":"${model}","input":"Say hello."}'`,
    curl: (method: string, body: string) =>
      `curl -sS${socket} ${url}.${method} ${JSON_TYPE} \\\n    -d '${body}'`,
    curlStream: (method: string, body: string) =>
      `curl -sSN${socket} ${url}.${method} ${JSON_TYPE} \\\n    -H 'accept: text/event-stream' -d '${body}'`,
    grpcurl: (method: string, body: string) =>
      `${grpcurl} -d '${body}' \\\n    ${path ?? target} ${PACKAGE}.${method}`,
    grpcurlCommand: (name: string) => `${grpcurl} ${path ?? target} ${name}`,
  };
}

const PACKAGE = "outrigger.v1";
const JSON_TYPE = "-H 'content-type: application/json'";

function askText(model: string): string {
  return JSON.stringify({ model, messages: [{ role: "ROLE_USER", content: [{ text: "Say hello." }] }] });
}

function objectText(model: string): string {
  const schema = { type: "object", properties: { city: { type: "string" } }, required: ["city"] };
  return JSON.stringify({
    options: { request: { model }, prompt: "Name a city." },
    object: { schema_json: JSON.stringify(schema) },
  });
}

/** Replaces an address on all interfaces by loopback, which clients can reach. */
function reachable(address: string): string {
  return address.replace(/^(0\.0\.0\.0|\[::\]|):/, "127.0.0.1:");
}

function toUrl(address: string): string {
  return address.startsWith("unix:") ? address : `http://${reachable(address)}`;
}
