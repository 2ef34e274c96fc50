import { root, type TestClient } from "./client.ts";

/** The package in clients/javascript. */
export const javascriptPackage: TestClient = {
  name: "javascript-package",
  checks: ["version", "complete", "stream"],
  missing: () => undefined,
  build: async () => ({ file: process.execPath, args: ["test/main.js"], cwd: `${root}clients/javascript` }),
};
