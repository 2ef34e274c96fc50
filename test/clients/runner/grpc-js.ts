import { type ForeignClient, folderOf, languageChecks } from "./client.ts";

const folder = folderOf("grpc-js");

/** Node with @grpc/grpc-js. It reads the contract at start, so that there is nothing to build. */
export const grpcJs: ForeignClient = {
  name: "grpc-js",
  checks: languageChecks,
  missing: () => undefined,
  build: async () => ({ file: process.execPath, args: ["main.js"], cwd: folder }),
};
