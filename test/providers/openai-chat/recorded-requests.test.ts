import { create } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { assistantMessage, systemMessage, userMessage } from "../../../src/core/message.ts";
import { textPart } from "../../../src/core/parts.ts";
import { toolResult } from "../../../src/core/tools.ts";
import {
  type ContentPart,
  ContentPartSchema,
  type Message,
} from "../../../src/gen/outrigger/v1/message_pb.ts";
import { ToolChoice_Mode as Mode, ResponseFormat_Type } from "../../../src/gen/outrigger/v1/request_pb.ts";
import { StateWriter } from "../../../src/providers/openai-chat/state.ts";
import { factsFor } from "../../support/decode.ts";
import { getRecordings, type Recording, toBytes } from "../../support/recordings.ts";
import { list, type Wire } from "./reading.ts";
import { PROVIDER, type ProfileInit, profile, type RequestInit, sent } from "./support.ts";

const FOLDER = "openai-chat";
const recorded = [...getRecordings(FOLDER, ".sse"), ...getRecordings(FOLDER, ".json")].filter(
  (recording): recording is Recording & { request: string } => "request" in recording,
);

/** A request that our contract cannot express: its temperature is a string. */
const UNWRITABLE = "llamacpp-error-malformed-request-field";

describe("our request for a recorded conversation", () => {
  const cases = recorded.filter(({ request }) => !request.includes(UNWRITABLE));

  it("exists for each recorded request", () => expect(cases).toHaveLength(82));

  it.each(cases)("equals the recorded one: $request", async (recording) => {
    const theirs: Wire = JSON.parse(toBytes({ ...recording, file: recording.request }).toString("utf8"));
    const name = profileFor(recording.request);
    const { body, warnings } = await sent(toRequest(theirs), name, theirs.stream === true);
    expect(body).toEqual(inOurWords(theirs, name));
    const loses = theirs.parallel_tool_calls !== undefined && !profile(name).supportsParallelToolCalls;
    expect(warnings).toEqual(loses ? ["unsupported_setting tool_choice.parallel"] : []);
  });
});

function profileFor(file: string): ProfileInit {
  const [server = ""] = file.slice(FOLDER.length + 1).split("-");
  return (
    {
      llamacpp: "llama-cpp",
      mistral: "mistral",
      mistralrs: {},
      openrouter: "openrouter",
      deepseek: "deepseek",
    }[server] ?? "openai"
  );
}

/**
 * Fields in which we differ from the client that was recorded, and why:
 * - `max_tokens` is `max_completion_tokens` at OpenAI: its reasoning models refuse the old name;
 * - `store: false` at OpenAI, which otherwise keeps answers;
 * - usage is requested in every stream, if the server accepts that;
 * - a single text is a string; the client wrote a list of one;
 * - `any`, Mistral's older word, is `required`;
 * - an assistant message without content says so;
 * - `parallel_tool_calls` is left out, with a warning, if it is not documented (DeepSeek);
 * - an enforced schema lacks the keywords that mean nothing to the server.
 */
function inOurWords(theirs: Wire, name: ProfileInit): Wire {
  const { maxTokensField, supportsStore, supportsUsageInStreaming, supportsParallelToolCalls } =
    profile(name);
  const {
    max_tokens: limit,
    tool_choice: choice,
    response_format: format,
    messages,
    parallel_tool_calls: parallel,
    ...rest
  } = theirs;
  return {
    ...rest,
    messages: list(messages).map(messageInOurWords),
    ...(limit === undefined ? {} : { [maxTokensField]: limit }),
    ...(choice === undefined ? {} : { tool_choice: choice === "any" ? "required" : choice }),
    ...(format === undefined ? {} : { response_format: formatInOurWords(format as Wire) }),
    ...(parallel === undefined || !supportsParallelToolCalls ? {} : { parallel_tool_calls: parallel }),
    ...(supportsStore ? { store: false } : {}),
    ...(theirs.stream === true && supportsUsageInStreaming
      ? { stream_options: { include_usage: true } }
      : {}),
  };
}

function messageInOurWords({ content = null, ...message }: Wire): Wire {
  const [only] = list(content);
  return { ...message, content: list(content).length === 1 && only?.type === "text" ? only.text : content };
}

function formatInOurWords(format: Wire): Wire {
  const named = format.json_schema as Wire;
  const { $schema: _, ...schema } = named.schema as Wire;
  return { ...format, json_schema: { ...named, schema } };
}

/** Our request for a recorded body: the conversation as our callers would have it. */
function toRequest(theirs: Wire): RequestInit {
  const {
    model,
    messages,
    tools,
    tool_choice,
    parallel_tool_calls,
    response_format,
    temperature,
    max_tokens,
    reasoning_effort,
    stream: _,
    ...further
  } = theirs;
  const choice = { any: Mode.REQUIRED, required: Mode.REQUIRED }[String(tool_choice)] ?? Mode.UNSPECIFIED;
  return {
    model: String(model),
    messages: list(messages).map((message) => toMessage(message, String(model))),
    tools: list(tools).map(({ function: tool }) => toTool(tool as Wire)),
    ...(tool_choice === undefined && parallel_tool_calls === undefined
      ? {}
      : { toolChoice: { mode: choice, ...toParallel(parallel_tool_calls) } }),
    ...(response_format === undefined ? {} : { responseFormat: getFormat(response_format as Wire) }),
    ...(temperature === undefined ? {} : { temperature: Number(temperature) }),
    ...(max_tokens === undefined ? {} : { maxTokens: Number(max_tokens) }),
    ...(reasoning_effort === undefined ? {} : { reasoningEffort: String(reasoning_effort) }),
    // Settings without a field in the contract go as provider options.
    providerOptionsJson: Object.keys(further).length === 0 ? {} : { [PROVIDER]: JSON.stringify(further) },
  };
}

function toParallel(value: unknown): { parallel?: boolean } {
  return typeof value === "boolean" ? { parallel: value } : {};
}

function toTool({ name, description, parameters }: Wire) {
  const value = {
    name: String(name),
    description: String(description),
    parametersJson: JSON.stringify(parameters),
  };
  return { tool: { case: "function", value } } as const;
}

function getFormat({ json_schema }: Wire) {
  const { name, schema, strict } = json_schema as Wire;
  const type = ResponseFormat_Type.JSON_SCHEMA;
  return { type, name: String(name), schemaJson: JSON.stringify(schema), strict: strict === true };
}

function toMessage(message: Wire, model: string): Message {
  switch (message.role) {
    case "system":
      return systemMessage(textOf(message.content));
    case "user":
      return userMessage(textOf(message.content));
    case "tool":
      return toolResult(String(message.tool_call_id), textPart(textOf(message.content)));
    case "assistant":
      return assistantMessage([...reasoningOf(message, model), ...list(message.tool_calls).map(createCall)]);
    default:
      throw new Error(`no recording has a message of the role ${message.role}`);
  }
}

function textOf(content: unknown): string {
  return typeof content === "string"
    ? content
    : list(content)
        .map(({ text }) => text)
        .join("");
}

function reasoningOf({ reasoning_details }: Wire, model: string): ContentPart[] {
  const details = list(reasoning_details) as Record<string, string>[];
  if (details.length === 0) return [];
  const states = new StateWriter(factsFor(PROVIDER, { model }));
  const text = details.map((detail) => detail.text).join("");
  return [
    create(ContentPartSchema, {
      part: { case: "reasoning", value: { text } },
      providerState: states.ofReasoning({
        field: "reasoning",
        details,
        thinkingBlocks: [],
        part: undefined,
        tags: undefined,
      }),
    }),
  ];
}

function createCall({ id, function: called }: Wire): ContentPart {
  const { name, arguments: argumentsJson } = called as Record<string, string>;
  return create(ContentPartSchema, {
    part: {
      case: "toolCall",
      value: {
        id: String(id),
        name: name ?? "",
        input: { case: "argumentsJson", value: argumentsJson ?? "" },
      },
    },
  });
}
