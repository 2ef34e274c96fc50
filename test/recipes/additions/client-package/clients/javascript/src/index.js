import { createClient } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { InferenceService } from "./outrigger/v1/inference_service_pb.js";
import { VERSION } from "./version.js";

/** Creates a client of the sidecar at an address, `host:port`. */
export function createOutrigger(address) {
  const userAgent = (next) => (request) => {
    request.header.set("user-agent", `outrigger-javascript/${VERSION}`);
    return next(request);
  };
  const transport = createGrpcTransport({ baseUrl: `http://${address}`, interceptors: [userAgent] });
  return createClient(InferenceService, transport);
}
