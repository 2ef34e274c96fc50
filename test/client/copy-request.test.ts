/** A middleware that changes what it is given must not change what the program holds. */
import { Client, jsonSchema, ResponseFormat_Type, ToolChoice_Mode, toolChoice, userMessage } from "outrigger";
import { describe, expect, it } from "vitest";
import { toRequest } from "../../src/client/request-input.ts";
import { ScriptedAdapter } from "./support/scripted-adapter.ts";

describe("a middleware that changes a request", () => {
  it("leaves the program's own request as it was", async () => {
    const request = toRequest({
      model: "m",
      messages: [userMessage("hi")],
      toolChoice: toolChoice("auto"),
      responseFormat: jsonSchema("answer", { type: "object" }),
      timeouts: { requestMs: 5000 },
      stopSequences: ["x"],
    });
    const before = structuredClone(request);
    const adapter = new ScriptedAdapter("one");
    await using client = new Client({
      providers: { one: adapter },
      middleware: [
        (own, next) => {
          own.messages[0]?.content.pop();
          own.messages.push(userMessage("more"));
          own.stopSequences.push("y");
          if (own.toolChoice !== undefined) own.toolChoice.mode = ToolChoice_Mode.NONE;
          if (own.responseFormat !== undefined) own.responseFormat.type = ResponseFormat_Type.JSON;
          if (own.responseFormat !== undefined) own.responseFormat.schemaJson = "";
          delete own.timeouts?.request;
          own.messages.shift();
          return next(own);
        },
      ],
    });
    await client.complete(request);
    expect(request).toEqual(before);
    expect(adapter.requests[0]?.toolChoice?.mode).toBe(ToolChoice_Mode.NONE);
    expect(adapter.requests[0]?.timeouts?.request).toBeUndefined();
  });
});
