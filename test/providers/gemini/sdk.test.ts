/**
 * Compares the adapter with Google's SDK: both read the same content from the recorded streams over a real socket,
 * and both send the same body for the same request.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import { FunctionCallingConfigMode, type GenerateContentParameters, GoogleGenAI } from "@google/genai";
import { describe, expect, it } from "vitest";
import { systemMessage, userMessage } from "../../../src/core/message.ts";
import { imagePart, textPart } from "../../../src/core/parts.ts";
import { toolResult } from "../../../src/core/tools.ts";
import {
  ResponseFormat_Type as Format,
  ToolChoice_Mode as Mode,
} from "../../../src/gen/outrigger/v1/request_pb.ts";
import { GeminiDecoder } from "../../../src/providers/gemini/stream.ts";
import { serveHttp } from "../../kit/http/servers.ts";
import { decode, factsFor } from "../../support/decode.ts";
import { getRecordings, toBytes } from "../../support/recordings.ts";
import { getEvents, isFinished, read, readParts, summaryOfWire, type Wire } from "./reading.ts";
import { answered, event, getFinal, NEW_MODEL, translate } from "./support.ts";

/** Recordings that the SDK reads differently. */
const APART = new Map([
  ["stream-basic-text-1.sse", "it fails on several objects in one event"],
  ["vertex-streaming-failure-error-mid-stream.sse", "it fails on an error behind the events, in other words"],
]);

const streams = getRecordings("gemini", ".sse").filter(
  (recording) =>
    !APART.has(recording.file.slice(recording.file.indexOf("/") + 1)) &&
    isFinished(getEvents(toBytes(recording))),
);

describe("streams read by Google's SDK", () => {
  it("has recordings to compare with", () => expect(streams.length).toBeGreaterThan(70));

  it.each(streams)("give the same content as the adapter for $file", async (recording) => {
    const bytes = toBytes(recording);
    const ai = await sdkAt((_, response) => {
      // The SDK drops the last event if the blank line after it is missing.
      response.writeHead(200, { "content-type": "text/event-stream" }).end(`${bytes}\n\n`);
    });
    const chunks: Wire[] = [];
    const params = { model: NEW_MODEL, contents: "hi" };
    for await (const chunk of await ai.models.generateContentStream(params)) chunks.push(plain(chunk));
    const decoded = await decode([bytes], factsFor("gemini", { model: NEW_MODEL }), (facts, writer) => {
      return new GeminiDecoder(facts, writer);
    });
    const response = getFinal(decoded);
    const sdk = read(chunks);
    expect(readParts(response.message?.content ?? []).said).toEqual(sdk.parts.map(summaryOfWire));
    expect(response.finishReason?.raw).toBe(sdk.finishReason ?? sdk.blocked?.blockReason);
    expect(response.id).toBe(sdk.id ?? "");
  });
});

const WEATHER = {
  type: "object",
  properties: { city: { type: "string" } },
  required: ["city"],
};
const functionTool = {
  tool: {
    case: "function",
    value: { name: "weather", description: "Tells it.", parametersJson: JSON.stringify(WEATHER) },
  },
} as const;
const declared = {
  functionDeclarations: [{ name: "weather", description: "Tells it.", parametersJsonSchema: WEATHER }],
};
const call = {
  functionCall: { id: "c1", name: "weather", args: { city: "Rome" } },
  thoughtSignature: "c2ln",
};
const image = { inlineData: { mimeType: "image/png", data: "AQID" } };
const png = new Uint8Array([1, 2, 3]);

type Requests = readonly [string, Omit<GenerateContentParameters, "model">, Parameters<typeof translate>[0]];

const requests: readonly Requests[] = [
  [
    "a conversation with instructions, settings and an image",
    {
      contents: [{ role: "user", parts: [{ text: "look" }, image] }],
      config: {
        systemInstruction: { parts: [{ text: "Be brief." }] },
        temperature: 0.5,
        topP: 0.9,
        maxOutputTokens: 100,
        stopSequences: ["END"],
      },
    },
    {
      messages: [systemMessage("Be brief."), userMessage([textPart("look"), imagePart(png)])],
      temperature: 0.5,
      topP: 0.9,
      maxTokens: 100,
      stopSequences: ["END"],
    },
  ],
  [
    "a turn with a tool call and a result with an image",
    {
      contents: [
        { role: "user", parts: [{ text: "hi" }] },
        { role: "model", parts: [{ text: "hm", thought: true }, call] },
        {
          role: "user",
          parts: [
            {
              functionResponse: { id: "c1", name: "weather", response: { output: "sunny" }, parts: [image] },
            },
          ],
        },
      ],
      config: {
        tools: [declared],
        toolConfig: {
          functionCallingConfig: { mode: FunctionCallingConfigMode.ANY, allowedFunctionNames: ["weather"] },
        },
      },
    },
    {
      messages: [
        userMessage("hi"),
        answered([{ text: "hm", thought: true }, call]),
        toolResult("c1", [textPart("sunny"), imagePart(png)]),
      ],
      tools: [functionTool],
      toolChoice: { mode: Mode.NAMED, toolName: "weather" },
    },
  ],
  [
    "functions beside the provider's hosted tools",
    {
      contents: [{ role: "user", parts: [{ text: "hi" }] }],
      config: {
        tools: [declared, { googleSearch: {} }],
        toolConfig: {
          functionCallingConfig: { mode: FunctionCallingConfigMode.VALIDATED },
          includeServerSideToolInvocations: true,
        },
      },
    },
    {
      messages: [userMessage("hi")],
      tools: [
        functionTool,
        { tool: { case: "hosted", value: { provider: "gemini", configJson: '{"googleSearch":{}}' } } },
      ],
    },
  ],
  [
    "an answer in a schema, with thoughts",
    {
      contents: [{ role: "user", parts: [{ text: "hi" }] }],
      config: {
        responseMimeType: "application/json",
        responseJsonSchema: WEATHER,
        thinkingConfig: { thinkingBudget: 8192, includeThoughts: true },
      },
    },
    {
      model: "gemini-2.5-flash",
      messages: [userMessage("hi")],
      reasoningEffort: "medium",
      responseFormat: { type: Format.JSON_SCHEMA, schemaJson: JSON.stringify(WEATHER) },
    },
  ],
];

describe("requests sent by Google's SDK", () => {
  it.each(requests)("equal the adapter's requests for %s", async (_, params, request) => {
    let body = "";
    const ai = await sdkAt(async (incoming, response) => {
      for await (const chunk of incoming) body += chunk;
      const answer = event([{ text: "a" }], { finishReason: "STOP" });
      response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(answer));
    });
    await ai.models.generateContent({ model: NEW_MODEL, ...params });
    const sent = JSON.parse(body);
    // The SDK adds a role to the instructions and an empty generationConfig; the API requires neither.
    delete sent.systemInstruction?.role;
    if (Object.keys(sent.generationConfig).length === 0) delete sent.generationConfig;
    expect((await translate(request)).body).toEqual(sent);
  });
});

async function sdkAt(
  answer: (request: IncomingMessage, response: ServerResponse) => void,
): Promise<GoogleGenAI> {
  const { port } = await serveHttp(answer);
  return new GoogleGenAI({
    apiKey: "key",
    httpOptions: { baseUrl: `http://127.0.0.1:${port}`, apiVersion: "v1beta" },
  });
}

function plain(chunk: object): Wire {
  return JSON.parse(JSON.stringify(chunk));
}
