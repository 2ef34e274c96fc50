import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { validateRequest } from "../../src/client/validate.ts";
import { InvalidRequestError } from "../../src/core/errors.ts";
import { assistantMessage, systemMessage, userMessage } from "../../src/core/message.ts";
import { textPart } from "../../src/core/parts.ts";
import { toolResult } from "../../src/core/tools.ts";
import { type Message, MessageSchema, Role } from "../../src/gen/outrigger/v1/message_pb.ts";
import {
  RequestSchema,
  ResponseFormat_Type,
  ToolChoice_Mode,
} from "../../src/gen/outrigger/v1/request_pb.ts";

type RequestInit = MessageInitShape<typeof RequestSchema>;
type MessageInit = MessageInitShape<typeof MessageSchema>;
type PartInput = NonNullable<MessageInit["content"]>[number];

/** Returns the mistakes in a request, one line for each violation. */
function wrongIn(init: RequestInit): string[] {
  const request = create(RequestSchema, { model: "gpt-5.2", messages: [userMessage("hi")], ...init });
  try {
    validateRequest(request);
    return [];
  } catch (error) {
    if (!(error instanceof InvalidRequestError)) throw error;
    return error.violations.map(({ field, description }) => `${field}: ${description}`);
  }
}

function call(id: string, argumentsJson = "{}"): PartInput {
  return {
    part: {
      case: "toolCall",
      value: { id, name: "get_weather", input: { case: "argumentsJson", value: argumentsJson } },
    },
  };
}

function toMessage(role: Role, ...content: PartInput[]): Message {
  return create(MessageSchema, { role, content });
}

const image: PartInput = {
  part: { case: "image", value: { source: { case: "url", value: "https://e.org/a" } } },
};
const weather = { name: "get_weather", parametersJson: '{"type":"object","properties":{}}' };
const tools: RequestInit["tools"] = [{ tool: { case: "function", value: weather } }];

describe("validateRequest()", () => {
  it("accepts text of the system, the developer, the user and the model", () => {
    const messages = [Role.SYSTEM, Role.DEVELOPER, Role.USER, Role.ASSISTANT, Role.USER].map((role) =>
      toMessage(role, textPart("hi")),
    );
    expect(wrongIn({ messages })).toEqual([]);
  });

  it("accepts a conversation with every kind of part in its place", () => {
    const answer = toMessage(
      Role.ASSISTANT,
      {
        part: { case: "reasoning", value: { text: "hm" } },
        providerState: { provider: "p", dataJson: '{"a":1}' },
      },
      { part: { case: "native", value: { provider: "p", kind: "k", dataJson: "[]" } } },
      textPart("Let me look."),
      call("call_1"),
      call("call_2", ""),
      {
        part: {
          case: "toolCall",
          value: {
            id: "call_3",
            name: "x",
            input: { case: "argumentsJson", value: "{" },
            argumentsInvalid: true,
          },
        },
      },
      {
        part: {
          case: "toolCall",
          value: { id: "call_4", name: "x", input: { case: "text", value: "free" } },
        },
      },
      image,
    );
    const audio = { mediaType: "audio/wav", source: { case: "data", value: new Uint8Array([1]) } } as const;
    const pdf = { source: { case: "fileId", value: "file-1" } } as const;
    const asked = toMessage(
      Role.USER,
      textPart("What is this?"),
      image,
      { part: { case: "audio", value: audio } },
      { part: { case: "document", value: pdf } },
    );
    const plainResult = create(MessageSchema, {
      role: Role.TOOL,
      toolCallId: "call_4",
      content: [textPart("ok")],
    });
    const pictured = toolResult("call_1", [textPart("sunny"), image]);
    const results = [pictured, plainResult, toolResult("call_2", "x"), toolResult("call_3", "y")];
    const messages = [systemMessage("Be brief."), asked, answer, ...results, assistantMessage([])];
    expect(wrongIn({ messages, tools })).toEqual([]);
  });

  it("accepts every optional setting at its limits", () => {
    const responseFormat = { type: ResponseFormat_Type.JSON_SCHEMA, schemaJson: "{}", name: "a".repeat(64) };
    const settings: RequestInit = {
      temperature: 0,
      topP: 1,
      maxTokens: 1,
      stopSequences: ["\n"],
      timeouts: { connect: { seconds: 0n }, request: { seconds: 5n, nanos: 1 } },
      providerOptionsJson: { openai: '{"store":true}' },
      responseFormat,
    };
    expect(wrongIn(settings)).toEqual([]);
  });

  it("names everything that is wrong at once", () => {
    const error = wrongIn({ model: " ", messages: [], temperature: Number.NaN, topP: -0.5, maxTokens: 0 });
    expect(error).toEqual([
      "model: is empty, expected the provider's id of a model",
      "messages: is empty, expected at least one message",
      "temperature: expected a number from 0, found NaN",
      "top_p: expected a number from 0 to 1, found -0.5",
      "max_tokens: expected at least 1, found 0",
    ]);
  });

  it("limits the list and says how many violations it omits", () => {
    const found = wrongIn({ stopSequences: Array.from({ length: 5000 }, () => "") });
    expect(found).toHaveLength(11);
    expect(found.at(-1)).toBe("request: has 4990 more invalid fields that are not listed");
  });

  it.each<[string, MessageInit, string]>([
    [
      "no role",
      { content: [textPart("hi")] },
      "messages[0].role: expected ROLE_SYSTEM, ROLE_USER, ROLE_ASSISTANT, ROLE_TOOL or ROLE_DEVELOPER, found ROLE_UNSPECIFIED",
    ],
    [
      "a role of a newer contract",
      { role: 17 as Role, content: [textPart("hi")] },
      "messages[0].role: expected ROLE_SYSTEM, ROLE_USER, ROLE_ASSISTANT, ROLE_TOOL or ROLE_DEVELOPER, found 17",
    ],
    ["no content", { role: Role.USER }, "messages[0].content: is empty, expected at least one part"],
    [
      "a part without anything set",
      { role: Role.USER, content: [{}] },
      "messages[0].content[0]: is empty, expected one of text, image, audio, document, native",
    ],
    [
      "an image in a system message",
      { role: Role.SYSTEM, content: [image] },
      "messages[0].content[0].image: does not belong in a message of the role system, which takes text",
    ],
    [
      "thinking in a user message",
      { role: Role.USER, content: [{ part: { case: "reasoning", value: { text: "secret plan" } } }] },
      "messages[0].content[0].reasoning: does not belong in a message of the role user, which takes text, image, audio, document, native",
    ],
    [
      "a tool result outside a tool message",
      {
        role: Role.USER,
        content: [{ part: { case: "toolResult", value: { toolCallId: "a", content: [] } } }],
      },
      "messages[0].content[0].tool_result: does not belong in a message of the role user, which takes text, image, audio, document, native",
    ],
    [
      "an image without a source",
      { role: Role.USER, content: [{ part: { case: "image", value: {} } }] },
      "messages[0].content[0].image: has no source, expected url, data or file_id",
    ],
    [
      "an image without the id of its file",
      {
        role: Role.USER,
        content: [{ part: { case: "image", value: { source: { case: "fileId", value: "" } } } }],
      },
      "messages[0].content[0].image.file_id: is empty",
    ],
    [
      "a native part that is not JSON",
      { role: Role.USER, content: [{ part: { case: "native", value: { provider: "p", kind: "k" } } }] },
      "messages[0].content[0].native.data_json: expected JSON text, found nothing",
    ],
    [
      "a document without bytes",
      {
        role: Role.USER,
        content: [
          { part: { case: "document", value: { source: { case: "data", value: new Uint8Array() } } } },
        ],
      },
      "messages[0].content[0].document.data: is empty",
    ],
    [
      "audio without a media type",
      {
        role: Role.USER,
        content: [
          { part: { case: "audio", value: { source: { case: "data", value: new Uint8Array([1]) } } } },
        ],
      },
      "messages[0].content[0].audio.media_type: is empty, expected a media type such as audio/wav with data",
    ],
    [
      "an unpaired surrogate",
      { role: Role.USER, content: [textPart("\ud83d")] },
      "messages[0].content[0].text: contains an unpaired surrogate",
    ],
    [
      "a tool call id outside a tool message",
      { role: Role.USER, toolCallId: "call_1", content: [textPart("hi")] },
      "messages[0].tool_call_id: expected nothing unless the role is ROLE_TOOL",
    ],
    [
      "a tool message that answers nothing",
      { role: Role.TOOL, content: [textPart("42")] },
      "messages[0].tool_call_id: is empty, expected the id of the answered tool call",
    ],
    [
      "provider state that is not JSON",
      {
        role: Role.ASSISTANT,
        content: [{ part: { case: "text", value: "x" }, providerState: { provider: "p" } }],
      },
      "messages[0].content[0].provider_state.data_json: expected JSON text, found nothing",
    ],
    [
      "a call without id and name",
      { role: Role.ASSISTANT, content: [{ part: { case: "toolCall", value: { name: "f" } } }] },
      "messages[0].content[0].tool_call.id: is empty, expected the id for the result",
    ],
  ])("refuses %s", (_case, message, violation) => {
    expect(wrongIn({ messages: [message] })).toEqual([violation]);
  });

  it("refuses arguments that are not JSON", () => {
    const asked = toMessage(Role.ASSISTANT, call("call_1", '{"city": "Oslo'));
    expect(wrongIn({ messages: [asked, toolResult("call_1", "x")] })).toEqual([
      "messages[0].content[0].tool_call.arguments_json: expected JSON text, found 14 characters that are not JSON, which breaks at character 14",
    ]);
  });

  it("does not show the prompt, even if the JSON parser would quote it", () => {
    const secret = "my password is hunter2";
    const found = wrongIn({
      messages: [{ role: Role.ASSISTANT, content: [call("a", secret)] }],
      tools: [{ tool: { case: "function", value: { name: "f", parametersJson: secret } } }],
      providerOptionsJson: { openai: secret },
    }).join();
    expect(found).toContain("22 characters that are not JSON");
    expect(found).not.toContain("hunter2");
  });

  describe("tool calls and their results", () => {
    const asked = [userMessage("weather?"), toMessage(Role.ASSISTANT, call("call_1"), call("call_2"))];

    const answered = [...asked, toolResult("call_2", "sunny"), toolResult("call_1", "rain")];

    it("accepts results in any order", () => {
      expect(wrongIn({ messages: answered })).toEqual([]);
    });

    it("refuses a call without a result, wherever the conversation continues", () => {
      const violation =
        'messages[1].content[0].tool_call: "call_1" has no result, expected one in a later message';
      const result = toolResult("call_2", "sunny");
      for (const rest of [[], [userMessage("never mind")], [assistantMessage("ok"), userMessage("go on")]])
        expect(wrongIn({ messages: [...asked, result, ...rest] })).toEqual([violation]);
    });

    it("refuses a second result for a call, in another message or in the same one", () => {
      const second = toolResult("call_1", "snow");
      expect(wrongIn({ messages: [...answered, second] })).toEqual([
        'messages[4].content[0].tool_result.tool_call_id: "call_1" already has a result, expected one for each tool call',
      ]);
      const both = create(MessageSchema, { ...second, content: [...second.content, ...second.content] });
      expect(wrongIn({ messages: [...asked, toolResult("call_2", "x"), both] })).toEqual([
        'messages[3].content[1].tool_result.tool_call_id: "call_1" already has a result, expected one for each tool call',
      ]);
      const whole = { role: Role.TOOL, toolCallId: "call_1", content: [textPart("snow")] };
      expect(wrongIn({ messages: [...answered, whole] })).toEqual([
        'messages[4].tool_call_id: "call_1" already has a result, expected one for each tool call',
      ]);
    });

    it("refuses a result that comes before its call or names none", () => {
      const [question, calls] = asked as [Message, Message];
      const early = [question, toolResult("call_1", "x"), calls, toolResult("call_2", "y")];
      expect(wrongIn({ messages: early })).toEqual([
        'messages[1].content[0].tool_result.tool_call_id: "call_1" is not the id of an earlier tool call',
        'messages[2].content[0].tool_call: "call_1" has no result, expected one in a later message',
      ]);
      expect(wrongIn({ messages: [toolResult("call_9", "sunny"), ...answered] })).toEqual([
        'messages[0].content[0].tool_result.tool_call_id: "call_9" is not the id of an earlier tool call',
      ]);
    });

    it("refuses a text alongside results, which would belong to none of them", () => {
      const result = toolResult("call_1", "rain");
      const mixed = create(MessageSchema, { ...result, content: [...result.content, textPart("and wind")] });
      expect(wrongIn({ messages: [...asked, mixed, toolResult("call_2", "x")] })).toEqual([
        "messages[2].content[1].text: is next to tool results, expected it in the content of one of them",
      ]);
    });

    it("checks many calls and results in linear time", () => {
      const ids = Array.from({ length: 20_000 }, (_, index) => `call_${index}`);
      const calls = ids.map((id) => call(id));
      const results = ids.flatMap((id) => toolResult(id, "x").content);
      const messages = [toMessage(Role.ASSISTANT, ...calls), toMessage(Role.TOOL, ...results)];
      expect(wrongIn({ messages })).toEqual([]);
    });

    it("accepts such a result if the provider keeps the conversation", () => {
      const result = toolResult("call_9", "sunny");
      const providerOptionsJson = { openai: '{"previous_response_id":"resp_1"}' };
      expect(wrongIn({ messages: [result], providerOptionsJson })).toEqual([]);
      const conversation = { openai: '{"conversation":"conv_1"}' };
      expect(wrongIn({ messages: [result], providerOptionsJson: conversation })).toEqual([]);
      const several = { ...providerOptionsJson, other: "{}" };
      expect(wrongIn({ messages: [result], providerOptionsJson: several })).toEqual([]);
      expect(wrongIn({ messages: [result, result], providerOptionsJson })).toEqual([
        'messages[1].content[0].tool_result.tool_call_id: "call_9" already has a result, expected one for each tool call',
      ]);
    });

    it("refuses a result whose part and message name different calls", () => {
      const result = create(MessageSchema, {
        ...toolResult("call_1", "sunny"),
        toolCallId: "call_2",
      });
      expect(wrongIn({ messages: [...asked, result, toolResult("call_2", "x")] })).toEqual([
        'messages[2].content[0].tool_result.tool_call_id: expected "call_2" as in the message, found "call_1"',
      ]);
    });

    it("refuses a part inside a result that a result cannot hold", () => {
      const result = toolResult("call_1", [call("call_3")]);
      expect(wrongIn({ messages: [...asked, result, toolResult("call_2", "x")] })).toEqual([
        "messages[2].content[0].tool_result.content[0].tool_call: does not belong in a tool result, which takes text, image, document, native",
      ]);
    });

    it("accepts a native part as the result of a call", () => {
      const native: PartInput = {
        part: { case: "native", value: { provider: "p", kind: "k", dataJson: "{}" } },
      };
      const result = create(MessageSchema, { role: Role.TOOL, toolCallId: "call_1", content: [native] });
      expect(wrongIn({ messages: [...asked, result, toolResult("call_2", "x")] })).toEqual([]);
    });

    it("refuses each result of a call that does not exist", () => {
      const result = toolResult("call_9", "x");
      const found = (index: number) =>
        `messages[${index}].content[0].tool_result.tool_call_id: "call_9" is not the id of an earlier tool call`;
      expect(wrongIn({ messages: [result, result] })).toEqual([found(0), found(1)]);
    });

    it("refuses an id twice in a turn of several messages", () => {
      const one = toMessage(Role.ASSISTANT, call("call_1"));
      const result = toolResult("call_1", "x");
      expect(wrongIn({ messages: [one, one, result, result] })).toEqual([
        'messages[1].content[0].tool_call.id: "call_1" is the id of an earlier call of the same turn',
      ]);
    });

    it("refuses an id twice in a turn, and allows it in the next one", () => {
      const twice = toMessage(Role.ASSISTANT, call("call_1"), call("call_1"));
      const result = toolResult("call_1", "x");
      expect(wrongIn({ messages: [twice, result, result] })).toEqual([
        'messages[0].content[1].tool_call.id: "call_1" is the id of an earlier call of the same turn',
      ]);
      const again = [...answered, toMessage(Role.ASSISTANT, call("call_1")), result];
      expect(wrongIn({ messages: again })).toEqual([]);
    });
  });

  it.each<[string, RequestInit, string]>([
    ["an empty tool", { tools: [{}] }, "tools[0]: is empty, expected one of function, hosted and custom"],
    [
      "a tool name with spaces",
      { tools: [{ tool: { case: "function", value: { name: "get weather" } } }] },
      'tools[0].function.name: expected 1 to 128 letters, digits, "_" or "-", found "get weather"',
    ],
    [
      "two tools of one name",
      { tools: [...(tools ?? []), ...(tools ?? [])] },
      'tools[1].function.name: "get_weather" is the name of an earlier tool, expected a unique name',
    ],
    [
      "parameters that are no object",
      { tools: [{ tool: { case: "function", value: { name: "f", parametersJson: "[]" } } }] },
      "tools[0].function.parameters_json: expected the text of a JSON object, found a list",
    ],
    [
      "a schema whose root is no object",
      { tools: [{ tool: { case: "function", value: { name: "f", parametersJson: '{"type":"string"}' } } }] },
      'tools[0].function.parameters_json: expected a JSON Schema whose root has "type": "object", found "\\"string\\""',
    ],
    [
      "a schema without a type",
      { tools: [{ tool: { case: "function", value: { name: "f", parametersJson: "{}" } } }] },
      'tools[0].function.parameters_json: expected a JSON Schema whose root has "type": "object", found no type',
    ],
    [
      "a grammar without a syntax",
      { tools: [{ tool: { case: "custom", value: { name: "c", grammar: { definition: "a" } } } }] },
      "tools[0].custom.grammar.syntax: is not set, expected SYNTAX_LARK or SYNTAX_REGEX",
    ],
    [
      "a grammar without a definition",
      { tools: [{ tool: { case: "custom", value: { name: "c", grammar: { syntax: 1 } } } }] },
      "tools[0].custom.grammar.definition: is empty, expected a grammar",
    ],
    [
      "a hosted tool without a provider",
      { tools: [{ tool: { case: "hosted", value: { configJson: "{}" } } }] },
      "tools[0].hosted.provider: is empty, expected the name of a provider",
    ],
    [
      "a named tool without any",
      { toolChoice: { mode: ToolChoice_Mode.NAMED, toolName: "f" } },
      "tool_choice.mode: requires a tool call, but the request has no tools",
    ],
    [
      "an unknown type of format",
      { responseFormat: { type: 9 as ResponseFormat_Type } },
      "response_format.type: expected TYPE_TEXT, TYPE_JSON or TYPE_JSON_SCHEMA, found 9",
    ],
    [
      "a negative time limit of the connection",
      { timeouts: { connect: { seconds: -1n } } },
      "timeouts.connect: is negative, expected 0 or more",
    ],
    [
      "a negative time limit of the whole request",
      { timeouts: { request: { nanos: -1 } } },
      "timeouts.request: is negative, expected 0 or more",
    ],
    [
      "a long name with a space",
      { tools: [{ tool: { case: "function", value: { name: ` ${"n".repeat(48)}` } } }] },
      `tools[0].function.name: expected 1 to 128 letters, digits, "_" or "-", found " ${"n".repeat(47)}…"`,
    ],
    [
      "a name of 48 characters with a space",
      { tools: [{ tool: { case: "function", value: { name: ` ${"n".repeat(47)}` } } }] },
      `tools[0].function.name: expected 1 to 128 letters, digits, "_" or "-", found " ${"n".repeat(47)}"`,
    ],
    [
      "parameters that are null",
      { tools: [{ tool: { case: "function", value: { name: "f", parametersJson: "null" } } }] },
      "tools[0].function.parameters_json: expected the text of a JSON object, found null",
    ],
    [
      "parameters that end early",
      { tools: [{ tool: { case: "function", value: { name: "f", parametersJson: "[" } } }] },
      "tools[0].function.parameters_json: expected the text of a JSON object, found 1 characters that are not JSON",
    ],
    [
      "a hosted tool without its definition",
      { tools: [{ tool: { case: "hosted", value: { provider: "openai" } } }] },
      "tools[0].hosted.config_json: expected the text of a JSON object, found nothing",
    ],
    [
      "a choice that needs tools without any",
      { toolChoice: { mode: ToolChoice_Mode.REQUIRED } },
      "tool_choice.mode: requires a tool call, but the request has no tools",
    ],
    [
      "a named tool that does not exist",
      { tools, toolChoice: { mode: ToolChoice_Mode.NAMED, toolName: "get_time" } },
      'tool_choice.tool_name: expected the name of one of the request\'s tools, found "get_time"',
    ],
    [
      "a named choice without a name",
      { tools, toolChoice: { mode: ToolChoice_Mode.NAMED } },
      "tool_choice.tool_name: is empty, expected the name of a tool",
    ],
    [
      "a name beside another mode",
      { tools, toolChoice: { mode: ToolChoice_Mode.AUTO, toolName: "get_weather" } },
      'tool_choice.tool_name: expected nothing unless the mode is MODE_NAMED, found "get_weather"',
    ],
    [
      "an unknown mode",
      { tools, toolChoice: { mode: 9 as ToolChoice_Mode } },
      "tool_choice.mode: expected MODE_AUTO, MODE_NONE, MODE_REQUIRED or MODE_NAMED, found 9",
    ],
    [
      "a missing schema",
      { responseFormat: { type: ResponseFormat_Type.JSON_SCHEMA } },
      "response_format.schema_json: expected the text of a JSON object, found nothing",
    ],
    [
      "a schema beside another type",
      { responseFormat: { type: ResponseFormat_Type.JSON, schemaJson: "{}" } },
      "response_format.schema_json: expected nothing unless the type is TYPE_JSON_SCHEMA",
    ],
    [
      "a schema name with spaces",
      { responseFormat: { type: ResponseFormat_Type.JSON, name: "my schema" } },
      'response_format.name: expected at most 64 letters, digits, "_" or "-", found "my schema"',
    ],
    [
      "an infinite temperature",
      { temperature: Infinity },
      "temperature: expected a number from 0, found Infinity",
    ],
    ["a top_p above 1", { topP: 1.01 }, "top_p: expected a number from 0 to 1, found 1.01"],
    [
      "a negative time limit",
      { timeouts: { betweenBytes: { seconds: -1n } } },
      "timeouts.between_bytes: is negative, expected 0 or more",
    ],
    [
      "provider options that are no object",
      { providerOptionsJson: { openai: '"x"' } },
      'provider_options_json["openai"]: expected the text of a JSON object, found a string',
    ],
    [
      "a model among provider options",
      { providerOptionsJson: { openai: '{"model":"gpt-5.2-pro"}' } },
      'provider_options_json["openai"].model: expected no model here: it is set by `model` of the request',
    ],
    [
      "a model in another case among provider options",
      { providerOptionsJson: { ollama: '{"Model":null}' } },
      'provider_options_json["ollama"].Model: expected no model here: it is set by `model` of the request',
    ],
    [
      "an unknown loss policy",
      { lossPolicy: 8 as never },
      expect.stringMatching(/^loss_policy: expected LOSS_POLICY_\w+.*, found 8$/),
    ],
    [
      "an unknown form of the end of a stream",
      { finalResponse: 8 as never },
      expect.stringMatching(/^final_response: expected FINAL_RESPONSE_\w+.*, found 8$/),
    ],
    [
      "an unknown syntax of a grammar",
      {
        tools: [
          {
            tool: {
              case: "custom",
              value: { name: "c", grammar: { syntax: 8 as never, definition: "start: A" } },
            },
          },
        ],
      },
      "tools[0].custom.grammar.syntax: expected SYNTAX_LARK or SYNTAX_REGEX, found 8",
    ],
    [
      "an unknown state policy",
      { foreignState: 8 as never },
      "foreign_state: expected STATE_POLICY_STRIP, STATE_POLICY_TO_TEXT or STATE_POLICY_REJECT, found 8",
    ],
  ])("refuses %s", (_case, init, violation) => {
    expect(wrongIn(init)).toEqual([violation]);
  });

  it("refuses a call without the name of a tool", () => {
    const nameless: PartInput = { part: { case: "toolCall", value: { id: "c" } } };
    expect(wrongIn({ messages: [toMessage(Role.ASSISTANT, nameless), toolResult("c", "x")] })).toEqual([
      "messages[0].content[0].tool_call.name: is empty, expected the name of a tool",
    ]);
  });

  it("refuses tools with one name, and accepts hosted tools with that of another", () => {
    const plain = { tool: { case: "function", value: { name: "a" } } } as const;
    const custom = { tool: { case: "custom", value: { name: "a" } } } as const;
    const hosted = {
      tool: { case: "hosted", value: { provider: "p", configJson: '{"type":"a","name":"a"}' } },
    } as const;
    expect(wrongIn({ tools: [plain, custom, hosted] })).toEqual([
      'tools[1].custom.name: "a" is the name of an earlier tool, expected a unique name',
    ]);
    expect(wrongIn({ tools: [custom, { tool: { case: "function", value: { name: "b" } } }, plain] })).toEqual(
      ['tools[2].function.name: "a" is the name of an earlier tool, expected a unique name'],
    );
  });

  it("accepts a choice of a hosted tool, and of tools that provider options append", () => {
    const hosted = { provider: "openai", configJson: '{"type":"web_search"}' };
    const named = { mode: ToolChoice_Mode.NAMED, toolName: "web_search" };
    expect(wrongIn({ tools: [{ tool: { case: "hosted", value: hosted } }], toolChoice: named })).toEqual([]);
    const computer = { provider: "openai", configJson: '{"type":"computer","name":"screen"}' };
    for (const toolName of ["computer", "screen"]) {
      const toolChoice = { mode: ToolChoice_Mode.NAMED, toolName };
      expect(wrongIn({ tools: [{ tool: { case: "hosted", value: computer } }], toolChoice })).toEqual([]);
    }
    const appended = {
      providerOptionsJson: { openai: '{"tools":[{"type":"web_search"}]}', other: "{}" },
      toolChoice: named,
    };
    expect(wrongIn(appended)).toEqual([]);
  });

  it("checks a request of many megabytes in little time", () => {
    const text = textPart("x".repeat(1024));
    const messages = Array.from({ length: 10_000 }, () => toMessage(Role.USER, text));
    expect(wrongIn({ messages })).toEqual([]);
  });
});
