import Anthropic from "@anthropic-ai/sdk";
import { GoogleGenAI } from "@google/genai";
import OpenAI from "openai";
import {
  AnthropicAdapter,
  Client,
  GeminiAdapter,
  OpenAIAdapter,
  OpenAIChatAdapter,
  textOf,
  userMessage,
} from "outrigger";
import { afterEach, describe, expect, it, vi } from "vitest";
import { killLeftovers, runHere, spawnOutrigger, withBusyPort } from "./support/spawn-outrigger.ts";

afterEach(killLeftovers);
afterEach(() => vi.unstubAllEnvs());

describe("outrigger simulate", () => {
  it("answers as each provider would, under other names too, and prints a line for each request", async () => {
    const outrigger = spawnOutrigger(["simulate", "--port", "0", "--alias", "gpt-5.2=sim-echo"]);
    const toSettings = async (name: string) => {
      const [, baseUrl = ""] = await outrigger.printed(
        new RegExp(`\\n${name}_BASE_URL=(\\S+) ${name}_API_KEY=any\\n`),
      );
      return { apiKey: "any", baseUrl };
    };
    const providers = {
      openai: new OpenAIAdapter(await toSettings("OPENAI")),
      anthropic: new AnthropicAdapter(await toSettings("ANTHROPIC")),
      gemini: new GeminiAdapter(await toSettings("GEMINI")),
      compatible: new OpenAIChatAdapter(await toSettings("OUTRIGGER_COMPATIBLE")),
    };
    await using client = new Client({ providers });
    for (const provider of Object.keys(providers)) {
      const request = { provider, model: "gpt-5.2", messages: [userMessage("parrot")] };
      expect(textOf(await client.complete(request))).toBe("parrot");
    }
    await outrigger.printed(/^POST \/v1\/responses gpt-5\.2 200 answered 0 events \d+ ms$/m);
    await outrigger.printed(/^POST \/v1\/messages gpt-5\.2 200 answered 0 events \d+ ms$/m);
    await outrigger.printed(
      /^POST \/v1beta\/models\/gpt-5\.2:generateContent gpt-5\.2 200 answered 0 events \d+ ms$/m,
    );
    await outrigger.printed(/^POST \/v1\/chat\/completions gpt-5\.2 200 answered 0 events \d+ ms$/m);
    outrigger.child.kill("SIGTERM");
    expect(await outrigger.ended).toBe(0);
    expect(outrigger.stdout()).not.toContain("parrot");
  });

  it("prints the variables that the providers' SDKs read", async () => {
    const outrigger = spawnOutrigger(["simulate", "--port", "0"]);
    await outrigger.printed(/OUTRIGGER_COMPATIBLE_API_KEY=any\n/);
    for (const [, name = "", value] of outrigger.stdout().matchAll(/(\w+)=(\S+)/g)) vi.stubEnv(name, value);
    const [model, content] = ["sim-echo", "parrot"];
    const messages = [{ role: "user" as const, content }];
    const { output_text } = await new OpenAI().responses.create({ model, input: content });
    const { content: blocks } = await new Anthropic().messages.create({ model, messages, max_tokens: 9 });
    const { text } = await new GoogleGenAI({ vertexai: false }).models.generateContent({
      model,
      contents: content,
    });
    expect([output_text, blocks, text]).toEqual([
      content,
      [expect.objectContaining({ text: content })],
      content,
    ]);
  });

  it("says that its port is busy and exits with 4", async () => {
    await withBusyPort(async (port) => {
      expect(await runHere(["simulate", "--port", String(port)])).toEqual({
        code: 4,
        stdout: "",
        stderr: `outrigger: cannot listen on 127.0.0.1:${port} (EADDRINUSE): another process is listening there; choose another --port, or 0 for a free port\n`,
      });
    });
  });
});
