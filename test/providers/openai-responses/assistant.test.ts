import { create } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { assistantMessage, userMessage } from "../../../src/core/message.ts";
import { imagePart, textPart } from "../../../src/core/parts.ts";
import { type ContentPart, ContentPartSchema } from "../../../src/gen/outrigger/v1/message_pb.ts";
import { LossPolicy, StatePolicy } from "../../../src/gen/outrigger/v1/request_pb.ts";
import { toResponse } from "../../../src/providers/openai-responses/response.ts";
import { factsFor } from "../../support/decode.ts";
import { build, options, type RequestInit, toRefusal } from "./build.ts";
import {
  HI,
  type Item,
  media,
  outputMessage,
  outputText,
  PNG,
  PNG_BASE64,
  toAnswer,
  toInput,
} from "./conversation.ts";

const REASONING: Item = {
  type: "reasoning",
  id: "rs_1",
  summary: [
    { type: "summary_text", text: "First." },
    { type: "summary_text", text: "Then." },
  ],
  encrypted_content: "gAAA+/=",
  status: null,
};
const CALL: Item = {
  type: "function_call",
  id: "fc_1",
  call_id: "call_1",
  name: "look",
  arguments: '{"b":1,"a":2}',
  status: "completed",
  namespace: "eyes",
  caller: { type: "direct" },
};
const MESSAGE: Item = {
  type: "message",
  id: "msg_1",
  role: "assistant",
  status: "completed",
  phase: "final_answer",
  content: [
    {
      type: "output_text",
      text: "Hello",
      annotations: [
        { type: "url_citation", url: "https://x.test", start_index: 0, end_index: 5, title: "X" },
      ],
    },
    { type: "refusal", refusal: "No more." },
  ],
};
const HIDDEN: Item = { type: "reasoning", id: "rs_2", summary: [], encrypted_content: "gBBB" };
const SEARCH: Item = {
  type: "web_search_call",
  id: "ws_1",
  status: "completed",
  action: { type: "search", query: "x" },
};
const PICTURE: Item = {
  type: "image_generation_call",
  id: "ig_1",
  status: "completed",
  output_format: "webp",
  revised_prompt: "a cat",
  result: PNG_BASE64,
};
const CUSTOM: Item = {
  type: "custom_tool_call",
  id: "ctc_1",
  call_id: "call_2",
  name: "sql",
  input: "SELECT 1",
  status: "completed",
};

describe("an answer sent back to the model that wrote it", () => {
  const sendBack = async (
    output: Item[],
    init: RequestInit = {},
    settings: Parameters<typeof build>[1] = {},
  ) => {
    const { input, warnings } = await toInput(
      [userMessage("hi"), toAnswer(output), userMessage("hi")],
      init,
      settings,
    );
    expect(input[0]).toEqual(HI);
    expect(input.at(-1)).toEqual(HI);
    return { items: input.slice(1, -1), warnings };
  };

  it("becomes its original items in their order", async () => {
    const output = [REASONING, CALL, HIDDEN, SEARCH, CUSTOM, PICTURE, MESSAGE];
    expect(await sendBack(output)).toEqual({ items: output, warnings: [] });
    expect(await sendBack(output, { lossPolicy: LossPolicy.REFUSE })).toEqual({
      items: output,
      warnings: [],
    });
  });

  it("has the ids of all items or of none, which the API requires alongside encrypted reasoning", async () => {
    const withoutId = ({ id: _, ...item }: Item) => item;
    for (const output of [
      [withoutId(REASONING), CALL],
      [REASONING, withoutId(CALL)],
      [REASONING, CALL, withoutId(HIDDEN), CUSTOM],
    ]) {
      const { items, warnings } = await sendBack([...output, MESSAGE]);
      expect(items).toEqual([...output, MESSAGE].map(withoutId));
      expect(warnings).toEqual([]);
    }
  });

  it("keeps messages separate: phases, and messages without ids or content", async () => {
    const comment = {
      type: "message",
      role: "assistant",
      phase: "commentary",
      content: [outputText("Wait.")],
    };
    const answer = {
      type: "message",
      role: "assistant",
      phase: "final_answer",
      content: [outputText("Yes."), outputText("No.")],
    };
    const empty = { type: "message", role: "assistant", id: "msg_2", status: "incomplete", content: [] };
    const output = [comment, answer, empty];
    expect(await sendBack(output)).toEqual({ items: output, warnings: [] });
  });

  it("keeps content of messages that has no unified form", async () => {
    const odd = {
      ...MESSAGE,
      content: [
        outputText("a"),
        { type: "output_hologram", layers: [1, { "2": 0, "1": 0 }] },
        outputText("b"),
      ],
    };
    expect(await sendBack([odd])).toEqual({ items: [odd], warnings: [] });
  });

  it("omits the log probabilities, which the API does not accept", async () => {
    const item = { ...MESSAGE, content: [{ ...outputText("a"), logprobs: [{ token: "a", logprob: -0.1 }] }] };
    expect((await sendBack([item])).items).toEqual([{ ...MESSAGE, content: [outputText("a")] }]);
  });

  it("is recognised under an alias, a dated id, and the name of a deployment", async () => {
    const answer = toAnswer([REASONING, MESSAGE], "gpt-5-2025-08-07");
    const items = async (model: string, provider = "openai") => {
      const history = [
        userMessage("hi"),
        { ...answer, content: answer.content.map((each) => renamed(each, provider)) },
      ];
      return (await toInput([...history, userMessage("hi")], { model }, { provider })).input.slice(1, -1);
    };
    expect(await items("gpt-5")).toEqual([REASONING, MESSAGE]);
    expect(await items("gpt-5-2025-08-07")).toEqual([REASONING, MESSAGE]);
    expect(await items("gpt-5", "azure-west")).toEqual([REASONING, MESSAGE]);
    expect(await items("gpt-5-mini")).toEqual([withoutId(MESSAGE)]);

    const facts = factsFor("openai", { model: "my-deployment" });
    const body = { model: "gpt-5.2-2025-12-11", status: "completed", output: [HIDDEN, MESSAGE] };
    const { message } = toResponse(JSON.stringify(body), facts);
    const { input } = await toInput([message ?? {}], { model: "my-deployment" });
    expect(input).toEqual([HIDDEN, MESSAGE]);
  });

  it("loses reasoning without encrypted content, and the ids that refer to it", async () => {
    const plain = { type: "reasoning", id: "rs_3", summary: [{ type: "summary_text", text: "Hm." }] };
    const { items, warnings } = await sendBack([plain, CALL, SEARCH, PICTURE, MESSAGE]);
    // A hosted tool's item has to have its id.
    expect(items).toEqual([withoutId(CALL), SEARCH, PICTURE, withoutId(MESSAGE)]);
    expect(warnings).toEqual(["foreign_state_stripped messages[1].content[0]"]);
    expect((await sendBack([plain, MESSAGE], { lossPolicy: LossPolicy.REFUSE })).warnings).toHaveLength(1);
  });

  it("keeps such reasoning if the provider stores it or its text is there", async () => {
    const plain = { type: "reasoning", id: "rs_3", summary: [] };
    const open = {
      type: "reasoning",
      id: "rs_4",
      summary: [],
      content: [{ type: "reasoning_text", text: "Hm." }],
    };
    expect(await sendBack([plain, MESSAGE], {}, { store: true })).toEqual({
      items: [plain, MESSAGE],
      warnings: [],
    });
    expect(await sendBack([plain, MESSAGE], options({ store: true }))).toEqual({
      items: [plain, MESSAGE],
      warnings: [],
    });
    expect(await sendBack([open, MESSAGE])).toEqual({ items: [open, MESSAGE], warnings: [] });
  });

  it("loses reasoning that nothing follows", async () => {
    expect(await sendBack([REASONING, HIDDEN])).toEqual({
      items: [],
      warnings: ["foreign_state_stripped messages[1]"],
    });
    expect(await sendBack([MESSAGE, REASONING])).toMatchObject({ items: [MESSAGE] });
    const { input } = await toInput([userMessage("hi"), toAnswer([REASONING])]);
    expect(input).toEqual([HI]);
  });

  it("keeps reasoning whose turn continues in the next message", async () => {
    const { input, warnings } = await toInput([userMessage("hi"), toAnswer([REASONING]), toAnswer([CALL])]);
    expect(input).toEqual([HI, REASONING, CALL]);
    expect(warnings).toEqual([]);
  });

  it("uses the current text and arguments of the parts", async () => {
    const answer = toAnswer([MESSAGE, CALL]);
    const [text, , call] = answer.content;
    if (text?.part.case !== "text" || call?.part.case !== "toolCall")
      throw new Error("an answer of two items");
    text.part.value = "Bye";
    text.citations = [];
    call.part.value.input.value = "{}";
    const { input } = await toInput([answer]);
    expect(input).toEqual([
      { ...MESSAGE, content: [outputText("Bye"), { type: "refusal", refusal: "No more." }] },
      { ...CALL, arguments: "{}" },
    ]);
  });
});

describe("an answer that another model of the same provider wrote", () => {
  const history = [userMessage("hi"), toAnswer([REASONING, CALL, SEARCH, MESSAGE, PICTURE], "gpt-5.1")];

  it("keeps all but the reasoning, without the ids that belong to it", async () => {
    const { input, warnings } = await toInput(history);
    expect(input).toEqual([HI, withoutId(CALL), SEARCH, withoutId(MESSAGE), PICTURE]);
    expect(warnings).toEqual(["foreign_state_stripped messages[1].content[0]"]);
  });

  it("keeps the reasoning as text under foreign_state TO_TEXT", async () => {
    const { input, warnings } = await toInput(history, { foreignState: StatePolicy.TO_TEXT });
    expect(input[1]).toEqual(outputMessage("First.\n\nThen."));
    expect(warnings).toEqual(["foreign_state_to_text messages[1].content[0]"]);
  });

  it("keeps messages separate although their ids are removed", async () => {
    const comment = { ...MESSAGE, id: "msg_a", phase: "commentary", content: [outputText("Wait.")] };
    const answer = { ...MESSAGE, id: "msg_b", content: [outputText("Yes."), outputText("No.")] };
    const { input } = await toInput([toAnswer([comment, answer], "gpt-5.1")]);
    expect(input).toEqual([withoutId(comment), withoutId(answer)]);
  });

  it("is refused under foreign_state REJECT and under LOSS_POLICY_REFUSE", async () => {
    const fields = async (init: RequestInit) =>
      (await toRefusal(build({ model: "gpt-5", messages: history, ...init }))).map(({ field }) => field);
    expect(await fields({ foreignState: StatePolicy.REJECT })).toEqual(["messages[1].content[0]"]);
    expect(await fields({ lossPolicy: LossPolicy.REFUSE })).toEqual(["messages[1].content[0]"]);
  });
});

describe("an answer that another provider wrote", () => {
  const state = { provider: "anthropic", model: "claude", dataJson: '{"signature":"abc","id":"x"}' };
  const foreign = create(ContentPartSchema, {
    part: { case: "reasoning", value: { text: "Let me think." } },
    providerState: state,
  });
  const hidden = create(ContentPartSchema, {
    part: { case: "reasoning", value: { redacted: true } },
    providerState: state,
  });
  const block = create(ContentPartSchema, {
    part: {
      case: "native",
      value: { provider: "anthropic", kind: "server_tool_use", dataJson: '{"type":"server_tool_use"}' },
    },
  });
  const text = create(ContentPartSchema, {
    part: { case: "text", value: "Answer." },
    citations: [{ type: "char_location", rawJson: '{"type":"char_location"}' }],
    providerState: state,
  });
  const call = create(ContentPartSchema, {
    part: {
      case: "toolCall",
      value: { id: "toolu_1", name: "look", input: { case: "argumentsJson", value: "{}" } },
    },
    providerState: state,
  });
  const history = [userMessage("hi"), assistantMessage([foreign, hidden, block, text, call])];
  const items = [
    outputMessage("Answer."),
    { type: "function_call", call_id: "toolu_1", name: "look", arguments: "{}" },
  ];

  it("loses reasoning, native parts and state by default", async () => {
    const { input, warnings } = await toInput(history);
    expect(input).toEqual([HI, ...items]);
    expect(warnings).toEqual(
      [0, 1, 2].map((place) => `foreign_state_stripped messages[1].content[${place}]`),
    );
  });

  it("becomes text under foreign_state TO_TEXT if there is any", async () => {
    const { input, warnings } = await toInput(history, { foreignState: StatePolicy.TO_TEXT });
    expect(input).toEqual([HI, outputMessage("Let me think.", "Answer."), items[1]]);
    expect(warnings).toEqual([
      "foreign_state_to_text messages[1].content[0]",
      "foreign_state_stripped messages[1].content[1]",
      "foreign_state_stripped messages[1].content[2]",
    ]);
  });

  it.each([
    ["thinking", foreign],
    ["a block", block],
  ])("is refused under foreign_state REJECT: %s", async (_name, part) => {
    const messages = [userMessage("hi"), assistantMessage([text, part])];
    const violations = await toRefusal(build({ messages, foreignState: StatePolicy.REJECT }));
    expect(violations.map(({ field }) => field)).toEqual(["messages[1].content[1]"]);
  });

  it("is recognised if it came from another account of the same API", async () => {
    const answer = toAnswer([REASONING, MESSAGE], "gpt-5", "openai-east");
    const { input, warnings } = await toInput([answer]);
    const head = { type: "message", role: "assistant" };
    expect(input).toEqual([
      {
        ...head,
        content: [
          { type: "output_text", text: "Hello", annotations: [] },
          { type: "output_text", text: "No more.", annotations: [] },
        ],
      },
    ]);
    expect(warnings).toEqual(["foreign_state_stripped messages[0].content[0]"]);
  });

  it("is sent as text without citations", async () => {
    const cited = create(ContentPartSchema, {
      part: { case: "text", value: "x" },
      citations: [{ rawJson: "{broken" }],
    });
    expect((await toInput([assistantMessage(cited)])).input).toEqual([outputMessage("x")]);
  });
});

describe("images of the assistant", () => {
  it("are sent in a message of the user if the API did not generate them", async () => {
    const messages = [userMessage("hi"), assistantMessage([textPart("a"), imagePart(PNG), textPart("b")])];
    const { input, warnings } = await toInput(messages);
    expect(input).toEqual([
      HI,
      outputMessage("a"),
      {
        type: "message",
        role: "user",
        content: [{ type: "input_image", image_url: `data:image/png;base64,${PNG_BASE64}` }],
      },
      outputMessage("b"),
    ]);
    expect(warnings).toEqual(["converted_content messages[1].content[1]"]);
    const violations = await toRefusal(build({ messages, lossPolicy: LossPolicy.REFUSE }));
    expect(violations.map(({ field }) => field)).toEqual(["messages[1].content[1]"]);
  });
});

it("refuses parts that an assistant's message cannot have", async () => {
  const messages = [assistantMessage(media("document", { source: { case: "fileId", value: "f" } }))];
  const violations = await toRefusal(build({ messages }));
  expect(violations.map(({ field }) => field)).toEqual(["messages[0].content[0]"]);
});

function withoutId({ id: _, ...rest }: Item): Item {
  return rest;
}

/** The part as a provider of another name would have written it. */
function renamed(whole: ContentPart, provider: string): ContentPart {
  if (whole.providerState === undefined) return whole;
  return { ...whole, providerState: { ...whole.providerState, provider } };
}
