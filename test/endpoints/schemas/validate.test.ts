import { describe, expect, it } from "vitest";
import { getRecordings, toBytes } from "../../support/recordings.ts";
import { eventsIn } from "../support/events-in.ts";
import { expectValid, expectValidEvent, loadMistakes, mistakesOfEvent } from "./validate.ts";

/** Recordings that do not match the published API: from other servers, from older or newer versions, or failures. */
const others = [
  /azure-|github-copilot|lmstudio|xai-/,
  /programmatic-tool-calling|shell-|apply-patch-tool\.1|image-generation-tool/,
  /phase|stream-basic-text-|stream-falsy-argument|stream-multi-tool-conversation|stream-with-tools/,
  /error|rate-limited/,
];

const recorded = getRecordings("openai-responses", ".sse").filter(
  ({ file, origin }) => origin === "recorded" && !others.some((other) => other.test(file)),
);

const event = {
  type: "response.output_text.delta",
  sequence_number: 4,
  item_id: "msg_1",
  output_index: 0,
  content_index: 0,
  delta: "Hi",
  logprobs: [],
};

const message = {
  id: "msg_1",
  type: "message",
  role: "assistant",
  status: "completed",
  content: [{ type: "output_text", text: "Hi", annotations: [], logprobs: [] }],
};

describe("the schemas of OpenAI", () => {
  it("has recordings to compare with", () => {
    expect(recorded.length).toBeGreaterThan(40);
  });

  it.each(recorded.map((recording) => [recording.file, recording] as const))(
    "accept every event of %s",
    (_, recording) => {
      const events = eventsIn(toBytes(recording).toString("utf8"));
      expect(events.length).toBeGreaterThan(3);
      for (const event of events) expectValidEvent(event);
      expectValid("Response", events.at(-1)?.response);
    },
  );

  it.each([
    ["an unknown type", { ...event, type: "response.text.delta" }, "/type"],
    ["an unknown property", { ...event, text: "Hi" }, "additionalProperty"],
    ["a missing property", { ...event, logprobs: undefined }, "required property 'logprobs'"],
    ["a wrong type of a value", { ...event, output_index: "0" }, "/output_index must be integer"],
  ])("refuse an event with %s", (_, wrong, mistake) => {
    expect(mistakesOfEvent(JSON.parse(JSON.stringify(wrong))).join()).toContain(mistake);
  });

  it("say where in an item the mistake is", () => {
    const item = { ...message, content: [{ type: "output_text", text: "Hi", annotations: [] }] };
    const wrong = { type: "response.output_item.done", sequence_number: 1, output_index: 0, item };
    expect(mistakesOfEvent({ ...wrong, item: message })).toEqual([]);
    expect(mistakesOfEvent(wrong).join()).toContain("/item/content/0 must have required property 'logprobs'");
  });

  it("require every field of a response", () => {
    const mistakes = loadMistakes("Response", { id: "resp_1", object: "response" }).join();
    for (const field of ["created_at", "error", "incomplete_details", "instructions", "metadata", "output"]) {
      expect(mistakes).toContain(`required property '${field}'`);
    }
  });
});
