import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { createClient } from "@connectrpc/connect";
import { createConnectTransport, createGrpcTransport } from "@connectrpc/connect-node";
import OpenAI from "openai";
import { getLatestModel, userMessage } from "outrigger";
import { InferenceService } from "outrigger/proto";
import { afterEach, describe, expect, it } from "vitest";
import { demoText } from "../../src/cli/demo-text.ts";
import { killLeftovers, runHere, spawnOutrigger, withBusyPort } from "./support/spawn-outrigger.ts";

const anyPort = ["--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0"];

afterEach(killLeftovers);

/** The first command line that a demo prints below a heading. */
function commandBelow(heading: string, text: string): string {
  const [, command = ""] = new RegExp(`# ${heading}\\n((?:.+\\n)+)`).exec(text) ?? [];
  return command;
}

describe("outrigger demo", () => {
  it("serves its providers under /v1 by their names", async () => {
    const outrigger = spawnOutrigger(["demo", ...anyPort]);
    const [, address] = await outrigger.printed(/calls +(\S+)[\s\S]*Ctrl-C/);
    const openai = new OpenAI({ apiKey: "any", baseURL: `http://${address}/v1` });
    for (const provider of ["openai", "anthropic", "gemini", "compatible"]) {
      const request = { model: `${provider}/sim-echo`, input: provider };
      expect((await openai.responses.create(request)).output_text).toBe(provider);
    }
  });

  it("answers for the catalog's models, and if no model is named", async () => {
    const outrigger = spawnOutrigger(["demo", ...anyPort]);
    const [, address] = await outrigger.printed(/calls +(\S+)[\s\S]*Ctrl-C/);
    const openai = new OpenAI({ apiKey: "any", baseURL: `http://${address}/v1` });
    const latest = getLatestModel("openai")?.id ?? "";
    const unnamed = await openai.responses.create({ input: "Say hello." });
    expect(unnamed).toMatchObject({ status: "completed", model: latest });
    expect(unnamed.output_text).not.toBe("");
    const transport = createConnectTransport({ baseUrl: `http://${address}`, httpVersion: "1.1" });
    const inference = createClient(InferenceService, transport);
    const { model } = await inference.complete({ messages: [userMessage("Say hello.")] });
    expect(model).toBe(latest);
    const list = await openai.models.list();
    const ids = list.data.map(({ id }) => id);
    expect(ids.length).toBeGreaterThan(20);
    const answers = ids.map((id) => openai.responses.create({ model: id, input: "Hi." }));
    for (const { status, model: name } of await Promise.all(answers)) expect(status, name).toBe("completed");
  });

  it("embeds texts with the models that the documentation names", async () => {
    const outrigger = spawnOutrigger(["demo", ...anyPort]);
    const [, address] = await outrigger.printed(/calls +(\S+)[\s\S]*Ctrl-C/);
    const openai = new OpenAI({ apiKey: "any", baseURL: `http://${address}/v1` });
    for (const model of ["openai/text-embedding-3-small", "gemini/gemini-embedding-001"]) {
      const { data } = await openai.embeddings.create({ model, input: ["one", "two"], dimensions: 8 });
      expect(data.map(({ embedding }) => embedding.length)).toEqual([8, 8]);
    }
  });

  it("answers without a key, regardless of the providers in the environment", async () => {
    const environment = {
      OPENAI_API_KEY: "sk-real",
      OPENAI_BASE_URL: "no url",
      OUTRIGGER_CONFIG: "none.yaml",
      OUTRIGGER_DEFAULT_PROVIDER: "anthropic",
      HTTP_PROXY: "http://127.0.0.1:9",
    };
    const outrigger = spawnOutrigger(["demo", ...anyPort], environment);
    const [, address] = await outrigger.printed(/calls +(\S+)[\s\S]*Ctrl-C/);
    const transport = createGrpcTransport({ baseUrl: `http://${address}` });
    const cases = new Set<string | undefined>();
    const request = { model: "sim-text", messages: [userMessage("Hello")] };
    for await (const { event } of createClient(InferenceService, transport).stream(request))
      cases.add(event.case);
    expect([...cases]).toEqual(["streamStart", "textStart", "textDelta", "textEnd", "finish"]);
    outrigger.child.kill("SIGTERM");
    expect(await outrigger.ended).toBe(0);
    expect(outrigger.stderr()).toBe("");
  });

  it("names the fields of a request in errors as the contract does", async () => {
    const outrigger = spawnOutrigger(["demo", ...anyPort]);
    const [, address] = await outrigger.printed(/calls +(\S+)[\s\S]*Ctrl-C/);
    const client = createClient(InferenceService, createGrpcTransport({ baseUrl: `http://${address}` }));
    const request = { model: "sim-text", messages: [userMessage("Hello")], maxTokens: -1 };
    await expect(client.complete(request)).rejects.toThrow("max_tokens: expected at least 1, found -1");
  });

  it("prints curl commands that work unchanged", async () => {
    const outrigger = spawnOutrigger(["demo"], {
      OUTRIGGER_LISTEN: "127.0.0.1:0",
      OUTRIGGER_ADMIN_LISTEN: "off",
    });
    const [text] = await outrigger.printed(/^[\s\S]*Ctrl-C/);
    const { stdout } = await promisify(execFile)("sh", [
      "-c",
      commandBelow("A whole answer, as plain JSON", text),
    ]);
    expect(JSON.parse(stdout)).toMatchObject({ provider: "openai", finishReason: { reason: "REASON_STOP" } });
    const streamed = await promisify(execFile)("sh", [
      "-c",
      commandBelow("Token by token, as server-sent events", text),
    ]);
    expect(streamed.stdout).toMatch(/^event: streamStart\n[\s\S]*\n\nevent: finish\ndata: .*\n\n$/);
    const object = await promisify(execFile)("sh", [
      "-c",
      commandBelow("An object that matches a JSON Schema", text),
    ]);
    const { result } = JSON.parse(object.stdout);
    expect(JSON.parse(result.outputJson)).toEqual({ city: expect.any(String) });
    outrigger.child.kill("SIGINT");
    expect(await outrigger.ended).toBe(0);
  });

  it("says that its port is busy, and how to choose another", async () => {
    await withBusyPort(async (port) => {
      const args = ["demo", "--listen", `127.0.0.1:${port}`, "--admin-listen", "off"];
      const { code, stdout, stderr } = await runHere(args);
      expect([code, stdout]).toEqual([4, ""]);
      expect(stderr).toMatch(/cannot be bound \(EADDRINUSE\).*\nChoose one with --listen ADDRESS\.\n$/);
    });
  });
});

describe("demoText()", () => {
  it("names an address that can be reached, even if it listens on all addresses", () => {
    const text = demoText({
      addresses: ["[::]:7000"],
      adminAddress: "0.0.0.0:7001",
      simulatorUrl: "http://x",
      providers: ["one", "two", "three"],
    });
    expect(text).toContain("curl -sS http://127.0.0.1:7000/outrigger.v1.InferenceService/Complete");
    expect(text).toContain('grpc.NewClient("127.0.0.1:7000"');
    expect(text).toContain("http://127.0.0.1:7001/readyz");
    expect(text).toContain('add "provider": with "two", "three"\nto a request');
    expect(text).toContain('the demo uses "one"');
  });

  it("formats a Unix socket as each tool expects it", () => {
    const text = demoText({
      addresses: ["unix:///run/o.sock"],
      adminAddress: undefined,
      simulatorUrl: "http://x",
      providers: ["one", "two", "three"],
    });
    expect(text).toContain("curl -sS --unix-socket /run/o.sock http://localhost/outrigger.v1.");
    expect(text).toContain("grpcurl -plaintext -unix /run/o.sock list");
    expect(text).toContain('grpc.insecure_channel("unix:///run/o.sock")');
    expect(text).toMatch(/health and metrics +off/);
  });
});
