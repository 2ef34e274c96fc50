import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { defaultCatalog } from "../../src/catalog/catalog.ts";
import { buildMiddleware } from "../../src/config/build-middleware.ts";
import { loadConfig } from "../../src/config/index.ts";
import { createDefaultTemperature } from "../../src/middleware/default-temperature.ts";
import { useSimulator } from "../simulator/support.ts";
import { calls, getClient, requestFor } from "./support/providers.ts";

const simulator = useSimulator();

it.each(calls)("sets the temperature of a request that has none: %s", async (_kind, call) => {
  simulator().clearRequests();
  await using client = getClient(simulator(), [createDefaultTemperature(0.25)]);
  await call(client, requestFor("sim-text"));
  await call(client, requestFor("sim-text", { temperature: 1 }));
  const bodies = simulator().requests.map(({ body }) => body);
  expect(bodies).toMatchObject([{ temperature: 0.25 }, { temperature: 1 }]);
});

it("is a rule of a configuration", async () => {
  const folder = await mkdtemp(join(tmpdir(), "outrigger-"));
  const config = join(folder, "config.yaml");
  await writeFile(config, "middleware: { default_temperature: 0.25 }");
  const { client } = await loadConfig({ environment: {}, flags: { config } });
  const log = { info() {}, warn() {} };
  expect(buildMiddleware(client, { catalog: defaultCatalog, log })).toHaveLength(1);
  await rm(folder, { recursive: true });
});
