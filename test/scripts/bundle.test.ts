import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, expect, it } from "vitest";
import { type Bundle, bundleProgram } from "../../scripts/bundle.ts";
import { killLeftovers, spawnOutrigger } from "../cli/support/spawn-outrigger.ts";

let folder: string;
let bundle: Bundle;
let program: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "outrigger-bundle-"));
  program = join(folder, "outrigger.cjs");
  bundle = await bundleProgram("src/cli/main.ts");
  await writeFile(program, bundle.text);
});

afterEach(killLeftovers);

afterAll(() => rm(folder, { recursive: true }));

/** Files of which something is in the bundle. */
function filesIn({ metafile }: Bundle): string[] {
  const inputs = Object.values(metafile.outputs).flatMap((output) => Object.entries(output.inputs));
  return inputs.filter(([, { bytesInOutput }]) => bytesInOutput > 0).map(([file]) => file);
}

it("leaves out what a sidecar never runs", () => {
  const files = filesIn(bundle);
  expect(files).toContain("node_modules/undici/lib/dispatcher/pool.js");
  expect(files).toContain("node_modules/zod/v4/mini/schemas.js");
  const dead =
    /undici\/lib\/(milo|mock|cache|web\/(websocket|eventsource|fetch\/index))|zod\/v4\/(classic|locales)/;
  expect(files.filter((file) => dead.test(file))).toEqual([]);
});

it("holds all commands in one file, with all that they import when they run", async () => {
  const anyPort = ["--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0"];
  const demo = spawnOutrigger(["demo", ...anyPort], {}, program);
  const [, address] = await demo.printed(/calls +(\S+)/);
  const response = await fetch(`http://${address}/outrigger.v1.InferenceService/Complete`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({
      model: "sim-text",
      messages: [{ role: "ROLE_USER", content: [{ text: "Say hello." }] }],
    }),
  });
  expect(await response.json()).toMatchObject({ model: "sim-text", finishReason: { reason: "REASON_STOP" } });
  demo.child.kill("SIGTERM");
  expect(await demo.ended).toBe(0);
});

it("reads a configuration file, for which it loads a part of itself", async () => {
  const config = join(folder, "outrigger.yaml");
  await writeFile(config, "listen: [nowhere]\n");
  const serve = spawnOutrigger(["serve", "--config", config], {}, program);
  expect(await serve.ended).toBe(3);
  expect(serve.stderr()).toContain("outrigger.yaml:1:10 listen[0]: expected an address");
});
