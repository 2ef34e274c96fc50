import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { textPart } from "../../../src/core/parts.ts";
import { toolResult } from "../../../src/core/tools.ts";
import { ContentPartSchema, type MessageSchema, Role } from "../../../src/gen/outrigger/v1/message_pb.ts";
import {
  type Request,
  RequestSchema,
  ResponseFormat_Type,
} from "../../../src/gen/outrigger/v1/request_pb.ts";
import { stringifyJson } from "../../../src/kit/json/json-source.ts";
import { resolveMedia } from "../../../src/kit/media/media.ts";
import { toRequestBody } from "../../../src/providers/gemini/request.ts";
import { getRecordings, type Recording, toBytes } from "../../support/recordings.ts";
import { shippedModels } from "../../support/shipped-models.ts";
import { getEvents, type Wire } from "./reading.ts";

const recorded = [...getRecordings("gemini", ".sse"), ...getRecordings("gemini", ".json")].filter(
  (recording): recording is Recording & { request: string } => "request" in recording,
);

/**
 * Differences between our requests and the recorded client's requests:
 * - it sends defaults (`null` settings, `thought: false`, `role: "model"` of the instructions,
 *   `codeExecution: null` alongside functions, an empty `generationConfig`): we leave them out;
 * - it sends schemas as `parameters`, a form for OpenAPI: we send JSON Schema as `parametersJsonSchema`,
 *   and none at all for a tool without arguments;
 * - it sends the result of a tool as `result`; we send its text as `output`, as the documentation has it;
 * - it sends calls of another model without the placeholder signature, also to models that check signatures.
 */
function toRequestForm(body: Wire): Wire {
  const { tools, generationConfig, systemInstruction, contents, ...rest } = withoutDefaults(body);
  return {
    ...rest,
    ...(systemInstruction === undefined
      ? {}
      : { systemInstruction: without(systemInstruction as Wire, "role") }),
    contents: (contents as Wire[]).map((content) => ({
      ...content,
      parts: list(content.parts).map(toRequestPart),
    })),
    ...(tools === undefined ? {} : { tools: list(tools).map(toRequestTool) }),
    ...(Object.keys((generationConfig as Wire) ?? {}).length === 0 ? {} : { generationConfig }),
  };
}

function toRequestPart(part: Wire): Wire {
  if (part.functionResponse === undefined) return part;
  const { response, ...functionResponse } = part.functionResponse as Wire;
  return {
    ...part,
    functionResponse: {
      ...functionResponse,
      response: { output: toStructured(toOutput(response as Wire)) },
    },
  };
}

function toRequestTool(tool: Wire): Wire {
  if (tool.functionDeclarations === undefined) return tool;
  return {
    functionDeclarations: list(tool.functionDeclarations).map(({ parameters, ...declaration }) => {
      const { properties } = parameters as Wire;
      return Object.keys(properties as Wire).length === 0
        ? declaration
        : { ...declaration, parametersJsonSchema: parameters };
    }),
  };
}

/** The result of a tool as text, as our callers give it. */
/** Objects and lists go as such, other results as texts. */
function toStructured(text: string): unknown {
  return /^[{[]/.test(text) ? JSON.parse(text) : text;
}

function toOutput({ result }: Wire): string {
  return typeof result === "string" ? result : JSON.stringify(result);
}

describe("requests for recorded conversations", () => {
  it("has recordings", () => expect(recorded.length).toBeGreaterThan(60));

  it.each(recorded)("builds the recorded request $request", async (recording) => {
    const body = JSON.parse(toBytes({ ...recording, file: recording.request }).toString("utf8"));
    const request = toRequest(body, getModel(recording));
    const ours = await toRequestBody(request, {
      provider: "gemini",
      models: shippedModels("gemini"),
      media: (media, field) => resolveMedia(media, {}, field),
    });
    expect(withoutPlaceholders(JSON.parse(stringifyJson(ours.body)))).toEqual(toRequestForm(body));
  });
});

/** Our request for a recorded body. */
function toRequest(body: Wire, model: string): Request {
  const { contents, systemInstruction, tools, generationConfig } = withoutDefaults(body);
  const { maxOutputTokens, temperature, responseMimeType, responseJsonSchema, thinkingConfig, ...further } =
    (generationConfig ?? {}) as Wire;
  const { thinkingLevel, includeThoughts } = (thinkingConfig ?? {}) as Wire;
  // An effort always includes the thoughts; other settings are provider options.
  const hasEffort = thinkingLevel !== undefined && includeThoughts === true;
  const options = { ...further, ...(hasEffort || thinkingConfig === undefined ? {} : { thinkingConfig }) };
  return create(RequestSchema, {
    model,
    messages: [...systemMessages(systemInstruction), ...toMessages(list(contents), model)],
    tools: list(tools).flatMap(toTools),
    ...(maxOutputTokens === undefined ? {} : { maxTokens: Number(maxOutputTokens) }),
    ...(temperature === undefined ? {} : { temperature: Number(temperature) }),
    ...(responseMimeType === undefined
      ? {}
      : {
          responseFormat: {
            type: ResponseFormat_Type.JSON_SCHEMA,
            schemaJson: JSON.stringify(responseJsonSchema),
          },
        }),
    reasoningEffort: hasEffort ? String(thinkingLevel) : "",
    providerOptionsJson:
      Object.keys(options).length === 0 ? {} : { gemini: JSON.stringify({ generationConfig: options }) },
  });
}

function systemMessages(instruction: unknown): MessageInitShape<typeof MessageSchema>[] {
  return list((instruction as Wire | undefined)?.parts).map(({ text }) => ({
    role: Role.SYSTEM,
    content: [textPart(String(text))],
  }));
}

/** The messages of a recorded conversation. Calls without ids get one, to which their results refer. */
function toMessages(contents: readonly Wire[], model: string): MessageInitShape<typeof MessageSchema>[] {
  const waiting: string[] = [];
  return contents.flatMap(({ role, parts }, turn): MessageInitShape<typeof MessageSchema>[] => {
    if (role === "user" && list(parts).some(({ functionResponse }) => functionResponse !== undefined))
      return list(parts).map((part) => toResult(part.functionResponse as Wire, waiting.shift() ?? ""));
    const content = list(parts).map((part, index) => {
      const id = String((part.functionCall as Wire | undefined)?.id ?? `call_${turn}_${index}`);
      if (part.functionCall !== undefined) waiting.push(id);
      return createPart(part, id, model);
    });
    return [{ role: role === "model" ? Role.ASSISTANT : Role.USER, content }];
  });
}

function createPart({ text, functionCall, ...rest }: Wire, id: string, model: string) {
  if (functionCall === undefined && Object.keys(rest).length === 0) return textPart(String(text));
  if (functionCall === undefined) return nativePart(rest);
  const { name, args, ...call } = functionCall as Wire;
  return create(ContentPartSchema, {
    part: {
      case: "toolCall",
      value: { id, name: String(name), input: { case: "argumentsJson", value: JSON.stringify(args) } },
    },
    ...(rest.thoughtSignature === undefined
      ? {}
      : { providerState: toState({ ...rest, functionCall: call }, model) }),
  });
}

function nativePart(part: Wire) {
  const kind = Object.keys(part)[0] ?? "";
  return create(ContentPartSchema, {
    part: { case: "native", value: { provider: "gemini", kind, dataJson: JSON.stringify(part) } },
  });
}

function toState(part: Wire, model: string) {
  return { provider: "gemini", model, dataJson: JSON.stringify({ part }) };
}

function toResult({ response, parts }: Wire, toolCallId: string) {
  const media = list(parts).map(({ inlineData }) => {
    const { data, mimeType } = inlineData as Wire;
    const source = { case: "data", value: Buffer.from(String(data), "base64") } as const;
    return { part: { case: "image", value: { mediaType: String(mimeType), source } } } as const;
  });
  return toolResult(toolCallId, [textPart(toOutput(response as Wire)), ...media]);
}

function toTools(tool: Wire): NonNullable<MessageInitShape<typeof RequestSchema>["tools"]> {
  if (tool.functionDeclarations === undefined)
    return [{ tool: { case: "hosted", value: { provider: "gemini", configJson: JSON.stringify(tool) } } }];
  return list(tool.functionDeclarations).map(({ name, description, parameters }) => ({
    tool: {
      case: "function",
      value: {
        name: String(name),
        description: String(description),
        parametersJson: JSON.stringify(parameters),
      },
    },
  }));
}

function getModel(recording: Recording): string {
  const bytes = toBytes(recording);
  const [event = {}] = recording.file.endsWith(".sse")
    ? getEvents(bytes)
    : [JSON.parse(bytes.toString("utf8"))];
  return String(event.modelVersion ?? "gemini-2.5-flash");
}

/** Removes defaults, which the recorded client sends. */
function withoutDefaults(body: Wire): Wire {
  const isDefault = (key: string, value: unknown) => value === null || (key === "thought" && value === false);
  const kept = JSON.stringify(body, (key, value) => (isDefault(key, value) ? undefined : value));
  return JSON.parse(kept);
}

function withoutPlaceholders(body: Wire): Wire {
  const isPlaceholder = (value: unknown) => value === "skip_thought_signature_validator";
  return JSON.parse(JSON.stringify(body, (_, value) => (isPlaceholder(value) ? undefined : value)));
}

function without(object: Wire, key: string): Wire {
  const { [key]: _, ...rest } = object;
  return rest;
}

function list(value: unknown): Wire[] {
  return Array.isArray(value) ? value : [];
}
