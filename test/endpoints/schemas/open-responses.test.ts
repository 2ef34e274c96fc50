import { describe, expect, it } from "vitest";
import { expectValidOpenResponses, mistakesOfOpenResponses } from "./validate.ts";

const event = {
  type: "response.output_text.delta",
  sequence_number: 4,
  item_id: "msg_1",
  output_index: 0,
  content_index: 0,
  delta: "Hi",
  logprobs: [],
};

describe("the schemas of Open Responses", () => {
  it("accept an event, even with more properties", () => {
    expectValidOpenResponses("ResponseOutputTextDeltaStreamingEvent", event);
    expectValidOpenResponses("ResponseOutputTextDeltaStreamingEvent", { ...event, obfuscation: "x" });
  });

  it("refuse an event without one of its properties", () => {
    const { item_id: _, ...rest } = event;
    const mistakes = mistakesOfOpenResponses("ResponseOutputTextDeltaStreamingEvent", rest);
    expect(mistakes.join()).toContain("required property 'item_id'");
  });
});
