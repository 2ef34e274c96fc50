import { getFolder, languageChecks, type TestClient } from "./client.ts";

const folder = getFolder("grpc-js");

/** Node with @grpc/grpc-js. It reads the proto files at start, so there is nothing to build. */
export const grpcJs: TestClient = {
  name: "grpc-js",
  checks: languageChecks,
  missing: () => undefined,
  build: async () => ({ file: process.execPath, args: ["main.js"], cwd: folder }),
};
