/** A middleware that changes its request must not change the program's request. */
import {
  Client,
  functionTool,
  jsonSchema,
  ResponseFormat_Type,
  ToolChoice_Mode,
  toolChoice,
  userMessage,
} from "outrigger";
import { describe, expect, it } from "vitest";
import { toRequest } from "../../src/client/request-input.ts";
import { ScriptedAdapter } from "./support/scripted-adapter.ts";

describe("a middleware that changes a request", () => {
  it("does not change the program's request", async () => {
    const request = toRequest({
      model: "m",
      messages: [userMessage("hi")],
      toolChoice: toolChoice("auto"),
      responseFormat: jsonSchema("answer", { type: "object" }),
      timeouts: { requestMs: 5000 },
      stopSequences: ["x"],
      metadata: { team: "blue" },
      providerOptionsJson: { one: "{}" },
    });
    const before = structuredClone(request);
    const adapter = new ScriptedAdapter("one");
    await using client = new Client({
      providers: { one: adapter },
      middleware: [
        (received, next) => {
          received.messages[0]?.content.pop();
          received.messages.push(userMessage("more"));
          received.stopSequences.push("y");
          received.tools.push(functionTool({ name: "f" }));
          received.metadata.team = "red";
          received.providerOptionsJson.one = '{"seed":1}';
          if (received.toolChoice !== undefined) received.toolChoice.mode = ToolChoice_Mode.NONE;
          if (received.responseFormat !== undefined) received.responseFormat.type = ResponseFormat_Type.JSON;
          if (received.responseFormat !== undefined) received.responseFormat.schemaJson = "";
          delete received.timeouts?.request;
          received.messages.shift();
          return next(received);
        },
      ],
    });
    await client.complete(request);
    expect(request).toEqual(before);
    expect(adapter.requests[0]?.toolChoice?.mode).toBe(ToolChoice_Mode.NONE);
    expect(adapter.requests[0]?.timeouts?.request).toBeUndefined();
  });
});
