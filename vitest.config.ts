import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";

export default defineConfig({
  resolve: {
    // The library's own name leads to its source, so that tests read like a user's code.
    alias: { outrigger: fileURLToPath(new URL("./src/index.ts", import.meta.url)) },
  },
  test: {
    include: ["test/**/*.test.ts"],
    exclude: ["test/clients/**", "node_modules/**"],
    testTimeout: 20_000,
    reporters: ["dot", "./test/support/closing-line.ts"],
  },
});
