/** Checks the responses of the API against the Open Responses specification. */
import { describe, expect, it } from "vitest";
import { useTestServers } from "../../server/support/test-server.ts";
import { expectValidOpenResponses, type OpenResponsesSchemaName } from "../schemas/validate.ts";
import { type ApiServer, startApi } from "../support/api-server.ts";
import { eventsIn } from "../support/events-in.ts";

const servers = useTestServers();

const MODELS = ["sim-text", "sim-tools", "sim-reasoning", "sim-refusal"];

/** The schemas of events by their types. */
const SCHEMAS: Readonly<Record<string, OpenResponsesSchemaName>> = {
  "response.created": "ResponseCreatedStreamingEvent",
  "response.in_progress": "ResponseInProgressStreamingEvent",
  "response.output_item.added": "ResponseOutputItemAddedStreamingEvent",
  "response.output_item.done": "ResponseOutputItemDoneStreamingEvent",
  "response.content_part.added": "ResponseContentPartAddedStreamingEvent",
  "response.content_part.done": "ResponseContentPartDoneStreamingEvent",
  "response.output_text.delta": "ResponseOutputTextDeltaStreamingEvent",
  "response.output_text.done": "ResponseOutputTextDoneStreamingEvent",
  "response.refusal.delta": "ResponseRefusalDeltaStreamingEvent",
  "response.refusal.done": "ResponseRefusalDoneStreamingEvent",
  "response.function_call_arguments.delta": "ResponseFunctionCallArgumentsDeltaStreamingEvent",
  "response.function_call_arguments.done": "ResponseFunctionCallArgumentsDoneStreamingEvent",
  "response.reasoning_summary_part.added": "ResponseReasoningSummaryPartAddedStreamingEvent",
  "response.reasoning_summary_part.done": "ResponseReasoningSummaryPartDoneStreamingEvent",
  "response.reasoning_summary_text.delta": "ResponseReasoningSummaryDeltaStreamingEvent",
  "response.reasoning_summary_text.done": "ResponseReasoningSummaryDoneStreamingEvent",
  "response.completed": "ResponseCompletedStreamingEvent",
  "response.incomplete": "ResponseIncompleteStreamingEvent",
};

async function ask({ fetch }: ApiServer, model: string, stream: boolean): Promise<string> {
  const tools = [{ type: "function", name: "get_weather", parameters: { type: "object", properties: {} } }];
  const reasoning = { effort: "medium", summary: "auto" };
  const body = JSON.stringify({ model, input: "Weather in Oslo?", tools, reasoning, stream });
  const headers = { "content-type": "application/json" };
  return (await fetch("/v1/responses", { method: "POST", headers, body })).text();
}

describe.each(["openai", "anthropic", "gemini", "compatible"])("a response of %s", (provider) => {
  it.each(MODELS)("is one of Open Responses: %s", async (model) => {
    const api = await startApi(servers);
    const text = await ask(api, `${provider}/${model}`, false);
    expectValidOpenResponses("ResponseResource", JSON.parse(text));
  });

  it.each(MODELS)("has events of Open Responses: %s", async (model) => {
    const api = await startApi(servers);
    const events = eventsIn(await ask(api, `${provider}/${model}`, true));
    // Only OpenAI's APIs mark the text of a refusal; at other providers, the answer was cut off.
    const abortedByShutdown = model === "sim-refusal" && (provider === "anthropic" || provider === "gemini");
    expect(events.at(-1)?.type).toBe(abortedByShutdown ? "response.incomplete" : "response.completed");
    for (const event of events) {
      const schema = SCHEMAS[event.type];
      expect(schema, event.type).toBeDefined();
      if (schema !== undefined) expectValidOpenResponses(schema, event);
    }
  });
});
