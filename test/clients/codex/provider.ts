/** Codex behind the sidecar: a program as a provider, as in docs/command-line-provider.md, that calls the simulator. */
import assert from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Simulator } from "../../../simulator/index.ts";
import { startSidecar } from "../runner/sidecar.ts";

/** The program, a folder for its files, and the simulator that it calls. */
interface Setup {
  readonly codex: string;
  readonly folder: string;
  readonly simulator: Simulator;
  /** The text of a configuration of Codex. */
  readonly configuration: string;
}

/** A response, as far as the checks read it. */
interface Answer {
  readonly output: readonly {
    readonly type: string;
    readonly content?: readonly { readonly text: string }[];
  }[];
  readonly error: unknown;
}

/** Calls the sidecar. Returns the answer, and the body of the last request that the simulator got from Codex. */
type Call = (fields: object) => Promise<{ readonly answer: Answer; readonly sent: string }>;

/** A PNG of one pixel. */
const PIXEL =
  "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

const SCHEMA = {
  type: "object",
  properties: { city: { type: "string" } },
  required: ["city"],
  additionalProperties: false,
};

/** The models of the configuration, which `GET /v1/models` lists. */
const MODELS = ["sim-text", "sim-call"];

/** Checks by their names. */
const CHECKS: readonly (readonly [name: string, check: (call: Call, address: string) => Promise<void>])[] = [
  ["image", checkImage],
  ["schema", checkSchema],
  ["output", checkOutput],
  ["models", checkModels],
];

/** Names of the checks. */
export const providerChecks = CHECKS.map(([name]) => `provider/${name}`);

/** Runs the checks with a sidecar whose provider is Codex. */
export async function checkProvider(
  setup: Setup,
  report: (name: string, check: () => Promise<void>) => Promise<void>,
): Promise<void> {
  const sidecar = await startSidecar(["serve", "--config", writeConfiguration(setup)]);
  const { simulator } = setup;
  const call: Call = async (fields) => {
    const before = simulator.requests.length;
    const response = await fetch(`http://${sidecar.address}/v1/responses`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ model: "codex/sim-text", ...fields }),
    });
    const answer: Answer = JSON.parse(await response.text());
    assert.equal(response.status, 200, JSON.stringify(answer));
    return { answer, sent: JSON.stringify(simulator.requests.slice(before).at(-1)?.body) };
  };
  for (const [name, check] of CHECKS) await report(`provider/${name}`, () => check(call, sidecar.address));
  await sidecar.stop();
}

function writeConfiguration({ codex, folder, configuration }: Setup): string {
  const home = join(folder, "provider");
  mkdirSync(home);
  writeFileSync(join(home, "config.toml"), configuration);
  const options = [
    "exec",
    "--json",
    "--skip-git-repo-check",
    "--model",
    "{model}",
    "{images}",
    "{schema}",
    "-",
  ];
  const provider = {
    api: "command",
    command: [process.execPath, codex, ...options],
    format: "codex",
    images: ["--image", "{file}"],
    schema: ["--output-schema", "{file}"],
    environment: {
      CODEX_HOME: home,
      OUTRIGGER_TEST_KEY: "any",
      NO_PROXY: "127.0.0.1",
      PATH: process.env.PATH,
    },
  };
  const models = MODELS.map((id) => ({ id, provider: "codex" }));
  const path = join(folder, "provider.json");
  writeFileSync(path, JSON.stringify({ providers: { codex: provider }, models }));
  return path;
}

/** The model sees the image. */
async function checkImage(call: Call): Promise<void> {
  const content = [
    { type: "input_text", text: "Describe it." },
    { type: "input_image", image_url: PIXEL, detail: "auto" },
  ];
  const { sent } = await call({ input: [{ role: "user", content }] });
  assert.match(sent, /"input_image".*data:image\/png;base64,/);
}

/** The model is held to the schema. */
async function checkSchema(call: Call): Promise<void> {
  const format = { type: "json_schema", name: "place", schema: SCHEMA, strict: true };
  const { answer, sent } = await call({ input: "Name a city.", text: { format } });
  assert.match(sent, /"json_schema"/);
  const text = answer.output.at(-1)?.content?.[0]?.text ?? "";
  assert.equal(typeof JSON.parse(text).city, "string");
}

/**
 * The last item of an answer is the message; the activities of the agent before it have types that name the program.
 */
async function checkOutput(call: Call): Promise<void> {
  const input = 'Greet the world.\nexec_command {"cmd": "echo hello"}';
  const { answer } = await call({ model: "codex/sim-call", input });
  const types = answer.output.map(({ type }) => type);
  assert.equal(types.at(-1), "message", JSON.stringify(answer.output));
  assert(types.includes("codex:command_execution"), JSON.stringify(types));
  assert.deepEqual(
    types.filter((type) => !/^(?:message|reasoning|codex:\w+)$/.test(type)),
    [],
  );
}

/** Programs find the models without an alias. */
async function checkModels(_call: Call, address: string): Promise<void> {
  const response = await fetch(`http://${address}/v1/models`);
  const { data }: { readonly data: readonly { readonly id: string }[] } = JSON.parse(await response.text());
  assert.deepEqual(data.map(({ id }) => id).sort(), [...MODELS].sort());
}
