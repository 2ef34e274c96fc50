/** The contract, read from its proto files. */
import { fileURLToPath } from "node:url";
import { loadPackageDefinition } from "@grpc/grpc-js";
import { loadSync } from "@grpc/proto-loader";

const root = new URL("../../../", import.meta.url);

const definition = loadSync(
  [
    "outrigger/v1/inference_service.proto",
    "grpc/health/v1/health.proto",
    "google/rpc/status.proto",
    "google/rpc/error_details.proto",
  ],
  {
    includeDirs: ["proto", "third_party"].map((folder) => fileURLToPath(new URL(folder, root))),
    // Enums by name, 64-bit integers without loss, every field present, and `part` and `event`
    // naming the member of their oneof that is set.
    enums: String,
    longs: String,
    defaults: true,
    oneofs: true,
  },
);

const packages = loadPackageDefinition(definition);

export const InferenceService = packages.outrigger.v1.InferenceService;
export const Health = packages.grpc.health.v1.Health;

/** Decodes a message of the named type, for instance `google.rpc.Status`. */
export function decode(type, bytes) {
  return definition[type].deserialize(bytes);
}
