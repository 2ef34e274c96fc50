/** The request for the summary of a conversation. */
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { textOf } from "../../../src/core/message.ts";
import { compact } from "../../../src/endpoints/responses/compact.ts";
import { defaultSettings, getOrigin } from "../../../src/endpoints/responses/settings.ts";
import { MessageSchema, Role } from "../../../src/gen/outrigger/v1/message_pb.ts";
import type { Request } from "../../../src/gen/outrigger/v1/request_pb.ts";
import {
  FinishReason_Reason as Reason,
  type Response,
  ResponseSchema,
} from "../../../src/gen/outrigger/v1/response_pb.ts";
import { RunSchema } from "../../../src/gen/outrigger/v1/run_pb.ts";
import { ThreadMessageSchema } from "../../../src/gen/outrigger/v1/thread_pb.ts";
import { createDirectory } from "../support/directory.ts";
import { openConversation } from "./support/reading.ts";

const hex = "0123456789abcdef".repeat(2);
const RUN = {
  ...create(RunSchema, { id: `run_${hex}`, threadId: "thread_1" }),
  origin: getOrigin(defaultSettings),
};

function answer(text: string, reason: Reason = Reason.STOP): Response {
  return create(ResponseSchema, {
    message: { role: Role.ASSISTANT, content: [{ part: { case: "text", value: text } }] },
    finishReason: { reason },
    usage: { inputTokens: 1, outputTokens: 2, totalTokens: 3 },
  });
}

/** Compacts a conversation, and returns the request for its summary with the answer to the caller. */
async function compactWith(
  fields: object,
  history: MessageInitShape<typeof MessageSchema>[] = [],
  response = answer("Short."),
) {
  const requests: Request[] = [];
  const messages = history.map((message) =>
    create(ThreadMessageSchema, {
      id: `msg_${hex}0000`,
      runId: RUN.id,
      message: create(MessageSchema, message),
    }),
  );
  const { body } = await compact(Buffer.from(JSON.stringify({ model: "openai/m", ...fields })), {
    models: createDirectory({ providers: new Map([["openai", "openai-responses"]]) }),
    owner: "key",
    engine: {
      openConversation: async () => openConversation({ ...RUN, origin: undefined }),
      threads: {
        listMessages: async () => ({ elements: messages, hasMore: false }),
        getMessage: () => Promise.reject(new Error("expected no lookup")),
        findCall: async () => undefined,
      },
    },
    signal: new AbortController().signal,
    client: {
      complete: async (request) => {
        requests.push(request);
        return response;
      },
    },
  });
  if (typeof body !== "string") throw new Error("expected a text");
  return { request: requests[0], written: JSON.parse(body) };
}

describe("The request for a summary", () => {
  it("has the conversation as a transcript of everything but reasoning", async () => {
    const text = (value: string) => ({ part: { case: "text" as const, value } });
    const history = [
      { role: Role.SYSTEM, content: [text("Be kind.")] },
      { role: Role.DEVELOPER, content: [text("Be brief.")] },
      { role: Role.USER, content: [text("Hi."), { part: { case: "image" as const, value: {} } }, {}] },
      {
        role: Role.ASSISTANT,
        content: [
          { part: { case: "reasoning" as const, value: { text: "Secret." } } },
          {
            part: {
              case: "toolCall" as const,
              value: { id: "c1", name: "f", input: { case: "argumentsJson" as const, value: "[1]" } },
            },
          },
          { part: { case: "toolCall" as const, value: { id: "c2", name: "g" } } },
          { part: { case: "native" as const, value: { provider: "p", kind: "k", dataJson: "{}" } } },
        ],
      },
      {
        role: Role.TOOL,
        content: [
          {
            part: {
              case: "toolResult" as const,
              value: { toolCallId: "c1", content: [text("a"), text("b")] },
            },
          },
          { part: { case: "toolResult" as const, value: { toolCallId: "c2", failed: true } } },
        ],
      },
      { role: Role.UNSPECIFIED, content: [text("Who?")] },
    ];
    const body = { input: "Go on.", instructions: "Be exact.", previous_response_id: `resp_${hex}` };
    const { request } = await compactWith(body, history);
    expect(request).toMatchObject({ provider: "openai", model: "m" });
    expect(request?.messages.map(({ role }) => role)).toEqual([Role.SYSTEM, Role.USER]);
    expect(textOf(request?.messages[1])).toBe(
      [
        "System: Be exact.",
        "System: Be kind.",
        "Developer: Be brief.",
        "User: Hi.\n[image]\n[nothing]",
        "Assistant: [calls f (c1): [1]]\n[calls g (c2): ]\n[k: {}]",
        "Tool: [result of c1] a\nb\n[result of c2 failed] ",
        "User: Who?",
        "User: Go on.",
      ].join("\n\n"),
    );
  });

  it("is answered by the messages of the user, and the summary after them", async () => {
    const { request, written } = await compactWith({
      input: [
        { role: "user", content: "Hi." },
        { role: "assistant", content: "Ho." },
      ],
    });
    expect(textOf(request?.messages[1])).toBe("User: Hi.\n\nAssistant: Ho.");
    expect(written).toMatchObject({
      id: expect.stringMatching(/^resp_[0-9a-f]{32}$/),
      object: "response.compaction",
      created_at: expect.any(Number),
      output: [
        { type: "message", role: "user", content: [{ type: "input_text", text: "Hi." }] },
        {
          type: "compaction",
          id: expect.stringMatching(/^cmp_[0-9a-f]{39}$/),
          encrypted_content: expect.any(String),
        },
      ],
      usage: { input_tokens: 1, output_tokens: 2, total_tokens: 3 },
    });
    expect(written.output).toHaveLength(2);
    expect(Math.abs(written.created_at - Date.now() / 1000)).toBeLessThan(3600);
  });

  it.each([
    ["no text", answer("")],
    ["a summary that was cut off", answer("Sho", Reason.LENGTH)],
  ])("fails if the model returns %s", async (found, response) => {
    const failing = compactWith({ input: "Hi." }, [], response);
    await expect(failing).rejects.toThrow(
      `the model was asked for a summary of the conversation and returned ${found}`,
    );
  });
});
