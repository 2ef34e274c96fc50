/** Tools that OpenAI's models find by a search, and tools of groups. */
import { create } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { defaultSettings } from "../../../src/endpoints/responses/settings.ts";
import { ItemWriter } from "../../../src/endpoints/responses/write-items.ts";
import { StepResultSchema } from "../../../src/gen/outrigger/v1/generation_pb.ts";
import { MessageSchema, Role } from "../../../src/gen/outrigger/v1/message_pb.ts";
import { ResponseSchema } from "../../../src/gen/outrigger/v1/response_pb.ts";
import { toResponse } from "../../../src/providers/openai-responses/response.ts";
import { build } from "../../providers/openai-responses/build.ts";
import { factsFor } from "../../support/decode.ts";
import { getRecordings, toBytes } from "../../support/recordings.ts";
import { read, toInput } from "./support/reading.ts";
import { RUN_ID, toRun } from "./support/run-events.ts";

const model = "gpt-5.4";
const weather = { type: "function", name: "get_weather", parameters: { type: "object" } };
const group = {
  type: "namespace",
  name: "crm",
  description: "Customers.",
  tools: [{ ...weather, name: "find" }],
};

const recordings = getRecordings("openai-responses", ".json").filter(({ file }) => /tool-search/.test(file));

/** Items of a response that is not stored. */
function getItems(body: string) {
  const answer = toResponse(body, factsFor("openai", { model }));
  const settings = { ...defaultSettings, echoed: { ...defaultSettings.echoed, store: false } };
  return new ItemWriter(settings).answer(`msg_${"0".repeat(36)}`, answer);
}

describe("Recorded answers with a search of tools", () => {
  it.each(recordings.map((recording) => [recording.file, recording] as const))(
    "go back to OpenAI as they came, by a client that keeps the conversation: %s",
    async (_, recording) => {
      const body = toBytes(recording).toString("utf8");
      const { output } = JSON.parse(body) as { output: { type: string; call_id?: string }[] };
      const items = JSON.parse(JSON.stringify(getItems(body)));
      const results = output.flatMap(({ type, call_id }) =>
        type === "function_call" ? [{ type: "function_call_output", call_id, output: "done" }] : [],
      );
      const messages = await toInput([...items, ...results, { role: "user", content: "hi" }], model);
      const { body: sent } = await build({ model, messages: messages.flatMap((message) => message ?? []) });
      const content = (item: object) => ({ ...item, id: undefined, status: undefined });
      const calls = output.filter(({ type }) => type !== "message");
      const returned = (sent.input as { type: string }[]).filter(({ type }) =>
        calls.some((each) => each.type === type),
      );
      expect(returned.map(content)).toEqual(calls.map(content));
      const hosted = ({ type }: { type: string }) => type.startsWith("tool_search");
      expect(returned.filter(hosted)).toEqual(calls.filter(hosted));
    },
  );
});

describe("Calls of tools in groups", () => {
  const item = { type: "function_call", call_id: "call_1", name: "find", namespace: "crm", arguments: "{}" };
  const output = { type: "function_call_output", call_id: "call_1", output: "done" };

  it("go to OpenAI with their group if the request does not have it", async () => {
    const messages = (await toInput([item, output], model)).flatMap((message) => message ?? []);
    const { body } = await build({ model, messages });
    expect(body.input).toMatchObject([item, output]);
  });

  it("have the name under which the model saw the tool if the request has its group", async () => {
    const request = await read({ model, input: [item, output], tools: [group] });
    expect(request.input.input?.[0]?.message?.content[0]?.part.value).toMatchObject({ name: "crm__find" });
  });

  it("have the group in the item if OpenAI names it", () => {
    const body = JSON.stringify({
      id: "r",
      model,
      status: "completed",
      output: [{ id: "fc_1", status: "completed", ...item }],
    });
    expect(getItems(body)).toMatchObject([{ name: "find", namespace: "crm" }]);
  });
});

describe("Tools that are loaded later", () => {
  const tools = [{ type: "tool_search" }, group, { ...weather, defer_loading: true }];

  it("are sent to OpenAI as they are, with their groups", async () => {
    const { input } = await read({ model, input: "hi", tools });
    const { body } = await build({ model, tools: input.request.options?.request?.tools ?? [] });
    expect(body.tools).toEqual(tools);
  });

  it("are all loaded by other providers, with a warning", async () => {
    const { input, settings } = await read({ model: "anthropic/claude-opus-5-5", input: "hi", tools });
    const names = input.request.options?.request?.tools.map(({ tool }) =>
      tool.case === "function" ? tool.value.name : tool.case,
    );
    expect(names).toEqual(["hosted", "crm__find", "get_weather"]);
    expect(settings.warnings).toMatchObject([
      { param: "tools[2].defer_loading", code: "unsupported_setting" },
    ]);
  });
});

describe("Tools that items of the input add", () => {
  const note = { type: "custom", name: "note" };
  const input = [
    { role: "user", content: "hi" },
    { type: "additional_tools", role: "developer", tools: [weather, group, note] },
    {
      type: "tool_search_output",
      call_id: "call_1",
      tools: [{ ...group, tools: [...group.tools, { ...weather, name: "delete", defer_loading: true }] }],
    },
  ];
  const claude = "anthropic/claude-opus-5-5";

  it("are tools of the request for a model of another API, each once", async () => {
    const tools = [{ ...weather, description: "Declared." }, { type: "web_search" }];
    const { input: run, settings } = await read({ model: claude, input, tools });
    const { tools: sent = [] } = run.request.options?.request ?? {};
    expect(sent.map(({ tool }) => (tool.case === "hosted" ? "hosted" : tool.value?.name))).toEqual([
      "get_weather",
      "hosted",
      "crm__find",
      "note",
      "crm__delete",
    ]);
    expect(sent[0]?.tool.value).toMatchObject({ description: "Declared." });
    expect(settings.echoed.tools).toMatchObject(tools);
    expect(settings.warnings).toEqual([]);
  });

  it("give calls of them the caller's names", async () => {
    const { settings } = await read({ model: claude, input });
    const call = { id: "call_1", name: "crm__delete" };
    const content = [{ part: { case: "toolCall", value: call } } as const];
    const answer = create(ResponseSchema, { message: { role: Role.ASSISTANT, content } });
    expect(new ItemWriter(settings).answer(`msg_${"0".repeat(36)}`, answer)).toMatchObject([
      { type: "function_call", name: "delete", namespace: "crm" },
    ]);
  });

  it("are named in errors by their place in the input", async () => {
    const broken = [{ type: "additional_tools", role: "developer", tools: [weather, { type: "function" }] }];
    await expect(read({ model: claude, input: broken })).rejects.toMatchObject({
      violations: [{ field: "input[0].tools[1].name" }],
    });
  });

  it("stay items for OpenAI", async () => {
    const { input: run } = await read({ model, input });
    expect(run.request.options?.request?.tools).toEqual([]);
    expect(run.input?.map(({ message }) => message?.content[0]?.part.value)).toMatchObject([
      "hi",
      { kind: "additional_tools" },
      { kind: "tool_search_output" },
    ]);
  });
});

describe("The output of a search that the client runs", () => {
  const search = {
    type: "tool_search_call",
    call_id: "call_1",
    execution: "client",
    arguments: {},
    status: "completed",
  };
  const output = { type: "function_call_output", call_id: "call_1", output: "[]" };

  it("is sent as it is", async () => {
    const messages = (await toInput([search, output], model)).flatMap((message) => message ?? []);
    const { body } = await build({ model, messages });
    expect(body.input).toEqual([search, output]);
  });

  it("is sent as it is if the search is in the previous response", async () => {
    const native = { provider: "openai", kind: "tool_search_call", dataJson: JSON.stringify(search) };
    const message = create(MessageSchema, {
      role: Role.ASSISTANT,
      content: [{ part: { case: "native", value: native } }],
    });
    const steps = [create(StepResultSchema, { response: create(ResponseSchema, { message }) })];
    const request = await read(
      { model, input: [output], previous_response_id: RUN_ID.replace("run_", "resp_") },
      { runs: [toRun({ steps })] },
    );
    expect(request.input.input?.[0]?.message?.content[0]?.part.case).toBe("native");
  });
});
