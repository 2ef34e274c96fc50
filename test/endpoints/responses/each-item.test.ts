/** Each item and part of an input: what it becomes, and how errors describe it. */
import { describe, expect, it } from "vitest";
import { read, toInput } from "./support/reading.ts";

const CLAUDE = "anthropic/claude-sonnet-4-5";

async function getProblem(fields: object, model = "gpt-5.2"): Promise<string> {
  const failure = await read({ model, input: "hi", ...fields }).catch((thrown: unknown) => thrown);
  if (!(failure instanceof Error)) throw new Error("expected a failure");
  return failure.message;
}

function getItemProblem(item: object, model?: string): Promise<string> {
  return getProblem({ input: [item] }, model);
}

/** Returns the only part of the only message. */
async function readPart(item: object, model?: string) {
  const [message] = await toInput([item], model);
  return message?.content[0];
}

const KNOWN =
  '"message", "reasoning", "function_call", "function_call_output", "custom_tool_call", "custom_tool_call_output", "item_reference", "image_generation_call", "mcp_list_tools", "mcp_call", "mcp_approval_request", "mcp_approval_response", "file_search_call", "computer_call", "web_search_call", "tool_search_call", "tool_search_output", "code_interpreter_call", "local_shell_call", "shell_call", "apply_patch_call", "program", "program_output", "computer_call_output", "local_shell_call_output", "shell_call_output", "apply_patch_call_output", "additional_tools", "configuration_update", "compaction" or "compaction_trigger"';

describe("An item that is wrong", () => {
  it.each<[object, string]>([
    [{ type: "video" }, `input[0].type: expected ${KNOWN}, found "video"`],
    [{}, `input[0].type: is missing, expected ${KNOWN}`],
    [{ type: "message" }, 'input[0].role: is missing, expected "user", "system", "developer" or "assistant"'],
    [{ role: "user", content: [] }, "input[0].content: is empty, expected a part"],
    [{ role: "user" }, "input[0].content: is missing, expected a text or a list of parts"],
    [{ role: "user", content: 7 }, "input[0].content: expected a text or a list of parts, found a number"],
    [{ type: "function_call", name: "f", arguments: "" }, "input[0].call_id: is missing, expected a text"],
    [
      { type: "function_call", call_id: "", name: "f" },
      "input[0].call_id: expected at least 1 characters, found 0",
    ],
    [{ type: "function_call", call_id: "c", arguments: "" }, "input[0].name: is missing, expected a text"],
    [
      { type: "function_call", call_id: "c", name: "" },
      "input[0].name: expected at least 1 characters, found 0",
    ],
    [{ type: "function_call", call_id: "c", name: "f" }, "input[0].arguments: is missing, expected a text"],
    [{ type: "custom_tool_call", call_id: "c", name: "f" }, "input[0].input: is missing, expected a text"],
    [{ type: "function_call_output", output: "" }, "input[0].call_id: is missing, expected a text"],
    [
      { type: "function_call_output", call_id: "", output: "" },
      "input[0].call_id: expected at least 1 characters",
    ],
    [
      { type: "function_call_output", call_id: "c" },
      "input[0].output: is missing, expected a text or a list of parts",
    ],
    [{ type: "item_reference" }, "input[0].id: is missing, expected a text"],
    [{ type: "item_reference", id: "" }, "input[0].id: expected at least 1 characters, found 0"],
    [{ type: "mcp_approval_response" }, "input[0].approval_request_id: is missing, expected a text"],
    [
      { type: "mcp_approval_response", approval_request_id: "" },
      "input[0].approval_request_id: expected at least 1",
    ],
    [
      { type: "mcp_approval_response", approval_request_id: "a" },
      "input[0].approve: is missing, expected true or false",
    ],
    [
      { type: "mcp_approval_response", approval_request_id: "a", approve: true },
      'input[0].approval_request_id: "a" is not the id of a request for approval',
    ],
    [{ type: "mcp_call", id: "" }, "input[0].id: expected at least 1 characters, found 0"],
    [
      { type: "mcp_call", id: "i", server_label: "" },
      "input[0].server_label: expected at least 1 characters, found 0",
    ],
    [
      { type: "mcp_call", id: "i", server_label: "d", name: "" },
      "input[0].name: expected at least 1 characters, found 0",
    ],
    [
      { type: "mcp_call", id: "i", server_label: "d", name: "f" },
      "input[0].arguments: is missing, expected a text",
    ],
    [
      { type: "image_generation_call", result: "aGk=", output_format: "f".repeat(33) },
      "input[0].output_format: expected at most 32",
    ],
    [{ type: "gemini:block" }, "input[0].data: is missing, expected the block of the provider"],
    [{ type: "compaction" }, "input[0].encrypted_content: is missing, expected a text"],
  ])("is refused: %j", async (item, problem) => {
    expect(await getItemProblem(item)).toContain(problem);
  });

  it.each(["compaction_trigger"])("is refused for another provider: %s", async (type) => {
    expect(await getItemProblem({ type }, CLAUDE)).toBe(
      `input[0]: an item of type "${type}" cannot be read by the model's provider, and the conversation would be incomplete without it`,
    );
  });

  it("is refused if it refers to an item of OpenAI, for another provider", async () => {
    expect(await getItemProblem({ type: "item_reference", id: "msg_1" }, CLAUDE)).toBe(
      'input[0].id: "msg_1" is not the id of an item of an earlier response',
    );
  });
});

describe("A part that is wrong", () => {
  it.each<[object, string]>([
    [
      { type: "video" },
      'type: expected "input_text", "input_image", "input_file" or "input_audio", found "video"',
    ],
    [{}, 'type: is missing, expected "input_text", "input_image", "input_file" or "input_audio"'],
    [{ type: "input_text" }, "text: is missing, expected a text"],
    [{ type: "input_image" }, "image_url: is missing, expected one of image_url, file_id"],
    [
      { type: "input_image", image_url: "a", file_id: "b" },
      "file_id: is set together with image_url, expected one of image_url, file_id",
    ],
    [
      { type: "input_image", image_url: "a", detail: "d".repeat(65) },
      "detail: expected at most 64 characters, found 65",
    ],
    [{ type: "input_file" }, "file_data: is missing, expected one of file_data, file_url, file_id"],
    [
      { type: "input_file", file_url: "a", file_id: "b" },
      "file_id: is set together with file_url, expected one of file_data, file_url, file_id",
    ],
    [
      { type: "input_file", file_data: "%" },
      "file_data: expected base64, or a data: URI, found other characters",
    ],
    [{ type: "input_audio" }, "input_audio: is missing, expected an object with data and format"],
    [
      { type: "input_audio", input_audio: { format: "mp3" } },
      "input_audio.data: is missing, expected a text",
    ],
    [{ type: "input_audio", input_audio: { data: "%" } }, "input_audio.data: expected base64"],
    [
      { type: "input_audio", input_audio: { data: "aGk=" } },
      "input_audio.format: is missing, expected a text",
    ],
    [
      { type: "input_audio", input_audio: { data: "aGk=", format: "" } },
      "input_audio.format: expected at least 1",
    ],
    [
      { type: "input_audio", input_audio: { data: "aGk=", format: "f".repeat(33) } },
      "input_audio.format: expected at most 32",
    ],
  ])("of the caller is refused: %j", async (part, problem) => {
    expect(await getItemProblem({ role: "user", content: [part] })).toContain(
      `input[0].content[0].${problem}`,
    );
  });

  it.each<[object, string]>([
    [{ type: "video" }, 'type: expected "output_text" or "refusal", found "video"'],
    [{ type: "refusal" }, "refusal: is missing, expected a text"],
    [{ type: "output_text" }, "text: is missing, expected a text"],
  ])("of the model is refused: %j", async (part, problem) => {
    expect(await getItemProblem({ role: "assistant", content: [part] })).toContain(
      `input[0].content[0].${problem}`,
    );
  });
});

describe("A part of an item", () => {
  it.each(["input_text", "text", "output_text", "summary_text"])(
    "of the caller may be a text of type %s",
    async (type) => {
      const part = await readPart({ role: "user", content: [{ type, text: "hi" }] });
      expect(part?.part).toEqual({ case: "text", value: "hi" });
    },
  );

  it.each(["output_text", "input_text", "text"])("of the model may be a text of type %s", async (type) => {
    const part = await readPart({ role: "assistant", content: [{ type, text: "hi" }] });
    expect(part?.part).toEqual({ case: "text", value: "hi" });
  });

  it("may be a screenshot, by its address or its file", async () => {
    const output = (source: object) => [
      { type: "function_call", call_id: "c", name: "f", arguments: "{}" },
      { type: "function_call_output", call_id: "c", output: [{ type: "computer_screenshot", ...source }] },
    ];
    const read = async (source: object) => {
      const [, message] = await toInput(output(source));
      const [part] = message?.content ?? [];
      return part?.part.case === "toolResult" ? part.part.value.content[0]?.part.value : undefined;
    };
    expect(await read({ image_url: "https://x.test" })).toMatchObject({
      source: { case: "url", value: "https://x.test" },
    });
    expect(await read({ file_id: "f" })).toMatchObject({ source: { case: "fileId", value: "f" } });
  });

  it("has the sources of a text, with their span if both ends are known", async () => {
    const annotations = [
      {
        type: "url_citation",
        url: "https://x.test",
        title: "X",
        start_index: 0,
        end_index: 1,
        cited_text: "q",
      },
      { type: "file_citation", file_id: "f", filename: "a.txt", start_index: 0 },
      { type: "file_citation", file_id: "f", end_index: 1 },
    ];
    const part = await readPart({
      role: "assistant",
      content: [{ type: "output_text", text: "hi", annotations }],
    });
    const [web, file, other] = part?.citations ?? [];
    expect(web).toMatchObject({
      type: "url_citation",
      url: "https://x.test",
      title: "X",
      citedText: "q",
      startIndex: 0,
      endIndex: 1,
    });
    expect(file).toMatchObject({ title: "a.txt", sourceId: "f", url: "" });
    expect([file?.startIndex, other?.endIndex]).toEqual([undefined, undefined]);
    expect(JSON.parse(web?.rawJson ?? "")).toEqual(annotations[0]);
  });

  it("keeps the detail of a file for OpenAI alone", async () => {
    const item = { role: "user", content: [{ type: "input_file", file_id: "f", detail: "high" }] };
    expect((await readPart(item))?.part).toMatchObject({ case: "native", value: { kind: "input_file" } });
    expect((await readPart(item, CLAUDE))?.part).toMatchObject({ case: "document" });
    const image = { role: "user", content: [{ type: "input_image", file_id: "f", detail: "high" }] };
    expect((await readPart(image))?.part).toMatchObject({ case: "image", value: { detail: "high" } });
  });

  it("may be a generated image, as PNG unless its format is known", async () => {
    const image = (fields: object) => readPart({ type: "image_generation_call", id: "ig_1", ...fields });
    expect((await image({ result: "aGk=" }))?.part.value).toMatchObject({ mediaType: "image/png" });
    expect((await image({ result: "%" }))?.part).toMatchObject({
      case: "native",
      value: { kind: "image_generation_call" },
    });
  });
});

describe("The failure of a server's tool", () => {
  it.each<[unknown, string]>([
    ["down", "down"],
    [{ type: "http_error", code: 500, message: "gone" }, "gone"],
    [
      { type: "mcp_tool_execution_error", content: [1.0] },
      '{"type":"mcp_tool_execution_error","content":[1]}',
    ],
  ])("%j is the text of its result", async (error, text) => {
    const item = { type: "mcp_call", id: "mcp_1", server_label: "d", name: "f", arguments: "{}", error };
    const [call, result] = await toInput([item]);
    expect(call?.content[0]?.part.value).toMatchObject({
      id: "mcp_1",
      name: "d__f",
      argumentsInvalid: false,
    });
    expect(result?.content[0]?.part.value).toMatchObject({
      toolCallId: "mcp_1",
      failed: true,
      content: [{ part: { value: text } }],
    });
  });

  it("is none if there is an output, or neither", async () => {
    const item = { type: "mcp_call", id: "mcp_1", server_label: "d", name: "f", arguments: "" };
    for (const [output, text] of [
      ["found", "found"],
      [undefined, ""],
    ]) {
      const [, result] = await toInput([{ ...item, output }]);
      expect(result?.content[0]?.part.value).toMatchObject({
        failed: false,
        content: [{ part: { value: text } }],
      });
    }
  });
});

describe("The choice of a tool", () => {
  const weather = { type: "function", name: "f" };
  const server = { type: "mcp", server_label: "d" };

  it.each<[unknown, string]>([
    ["any", 'tool_choice: expected "auto", "none" or "required", found "any"'],
    [7, "tool_choice: expected an object, found a number"],
    [{}, "tool_choice.type: is missing, expected a text"],
    [{ type: "" }, "tool_choice.type: expected at least 1 characters, found 0"],
    [{ type: "function" }, "tool_choice.name: is missing, expected a text"],
    [{ type: "custom", name: "" }, "tool_choice.name: expected at least 1 characters, found 0"],
    [{ type: "mcp" }, "tool_choice.server_label: is missing, expected a text"],
    [{ type: "mcp", server_label: "" }, "tool_choice.server_label: expected at least 1 characters, found 0"],
    [
      { type: "mcp", server_label: "d" },
      "tool_choice.name: allows any tool of the server; expected the name of one",
    ],
    [{ type: "allowed_tools" }, 'tool_choice.mode: is missing, expected "auto" or "required"'],
    [
      { type: "allowed_tools", mode: "none" },
      'tool_choice.mode: expected "auto" or "required", found "none"',
    ],
    [{ type: "allowed_tools", mode: "auto" }, "tool_choice.tools: is missing, expected a list of tools"],
    [
      { type: "allowed_tools", mode: "auto", tools: [] },
      "tool_choice.tools: expected at least 1 elements, found 0",
    ],
    [
      { type: "allowed_tools", mode: "auto", tools: [{}] },
      "tool_choice.tools[0].type: is missing, expected a text",
    ],
    [
      { type: "allowed_tools", mode: "auto", tools: [{ type: "" }] },
      "tool_choice.tools[0].type: expected at least 1",
    ],
    [
      { type: "allowed_tools", mode: "auto", tools: [{ type: "mcp" }] },
      "tool_choice.tools[0].server_label: is missing",
    ],
  ])("is refused: %j", async (tool_choice, problem) => {
    expect(await getProblem({ tools: [weather, server], tool_choice })).toContain(problem);
  });

  it("selects tools and servers, with their paths", async () => {
    const tools = [
      weather,
      { type: "web_search" },
      { type: "custom", name: "c" },
      server,
      { type: "mcp", server_label: "e" },
    ];
    const choose = async (...listed: object[]) => {
      const tool_choice = { type: "allowed_tools", mode: "auto", tools: listed };
      const { input, toBodyPath } = await read({ model: "gpt-5.2", input: "hi", tools, tool_choice });
      const names = input.request.options?.request?.tools.map(({ tool }) => tool.case);
      const labels = input.request.mcpServers.map(({ serverLabel }) => serverLabel);
      return [names, labels, toBodyPath("options.request.tools[0]"), toBodyPath("mcp_servers[0]")];
    };
    expect(await choose({ type: "web_search" }, { type: "mcp", server_label: "e" })).toEqual([
      ["hosted"],
      ["e"],
      "tools[1]",
      "tools[4]",
    ]);
    expect(await choose({ type: "custom", name: "c" })).toEqual([["custom"], [], "tools[2]", "tools"]);
  });

  it("sets parallel calls only if there are tools", async () => {
    const getChoice = async (fields: object) =>
      (await read({ model: "gpt-5.2", input: "hi", ...fields })).input.request.options?.request?.toolChoice;
    expect(await getChoice({ parallel_tool_calls: true })).toBeUndefined();
    expect(await getChoice({ parallel_tool_calls: false, tools: [weather] })).toMatchObject({
      mode: 1,
      parallel: false,
    });
    expect(await getChoice({ parallel_tool_calls: true, tools: [server] })).toMatchObject({
      mode: 1,
      parallel: true,
    });
    expect((await getChoice({ parallel_tool_calls: true, tool_choice: "none" }))?.parallel).toBeUndefined();
    expect(await getChoice({ tools: [weather] })).toBeUndefined();
  });

  it("may be any tool of the only server", async () => {
    const tool_choice = { type: "mcp", server_label: "d" };
    const { input } = await read({ model: "gpt-5.2", input: "hi", tools: [server], tool_choice });
    expect(input.request.options?.request?.toolChoice).toMatchObject({ mode: 3, toolName: "" });
    const two = [server, { type: "mcp", server_label: "e" }];
    expect(await getProblem({ tools: two, tool_choice })).toContain("tool_choice.name: ");
  });
});
