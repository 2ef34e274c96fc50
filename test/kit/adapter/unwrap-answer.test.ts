import { describe, expect, it } from "vitest";
import { accumulate } from "../../../src/core/accumulator.ts";
import { textOf } from "../../../src/core/message.ts";
import { ResponseFormat_Type as Format } from "../../../src/gen/outrigger/v1/request_pb.ts";
import { OpenAIChatAdapter } from "../../../src/providers/openai-chat/adapter.ts";
import { serveHttp, type TestServer } from "../http/servers.ts";
import { ask, getCases, openAdapter, read, useSimulator } from "./adapter-calls.ts";

const simulator = useSimulator();

const LIST = { type: "array", minItems: 2, maxItems: 2, items: { type: "integer" } };
const responseFormat = { type: Format.JSON_SCHEMA, schemaJson: JSON.stringify(LIST) };
const request = (model: string) => ask(model, { responseFormat, tools: [] });

describe("an answer in a wrapping object", () => {
  it("has the value only, whole and streamed", async () => {
    const adapter = openAdapter(simulator());
    const whole = await adapter.complete(request("sim-text"));
    expect(JSON.parse(textOf(whole))).toEqual([expect.any(Number), expect.any(Number)]);
    const { events } = await read(adapter.stream(request("sim-text")));
    const deltas = events.flatMap(({ event }) => (event.case === "textDelta" ? event.value.delta : []));
    expect(deltas.join("")).toBe(textOf(whole));
    expect(events.at(-1)?.event).toMatchObject({
      case: "finish",
      value: { response: { message: { content: [{ part: { value: textOf(whole) } }] } } },
    });
    expect(events.find(({ event }) => event.case === "textEnd")?.event.value).toMatchObject({
      text: textOf(whole),
    });
  });

  it("is cut if the provider's stream is", async () => {
    const adapter = openAdapter(simulator());
    const { events, error } = await read(adapter.stream(request("sim-text:cut_events=8")));
    expect(getCases(events).at(-1)).toBe("error");
    expect(error).toBeInstanceOf(Error);
  });

  it("is a refusal as the model wrote it", async () => {
    const adapter = openAdapter(simulator());
    const refusal = textOf(await adapter.complete(ask("sim-refusal", { tools: [] })));
    expect(textOf(await adapter.complete(request("sim-refusal")))).toBe(refusal);
    expect(textOf(await accumulate(adapter.stream(request("sim-refusal"))))).toBe(refusal);
  });

  it("has citations of places in the value", async () => {
    const text = '{"value":["Oslo"]}';
    const annotation = {
      type: "url_citation",
      url: "https://x.test",
      title: "x",
      start_index: 11,
      end_index: 15,
    };
    const server = await answering({
      object: "response",
      status: "completed",
      output: [
        {
          type: "message",
          role: "assistant",
          content: [{ type: "output_text", text, annotations: [annotation] }],
        },
      ],
    });
    const adapter = openAdapter(server);
    for (const response of [
      await adapter.complete(request("m")),
      await accumulate(adapter.stream(request("m"))),
    ]) {
      const [part] = response.message?.content ?? [];
      expect(part).toMatchObject({
        part: { value: '["Oslo"]' },
        citations: [{ startIndex: 2, endIndex: 6 }],
      });
    }
  });

  it("is also read from the JSON mode of a server without schemas, which writes objects only", async () => {
    const { url } = simulator();
    const profile = { supportsJsonSchema: false };
    const adapter = new OpenAIChatAdapter({ baseUrl: `${url}/v1`, apiKey: "any", profile });
    await adapter.complete(request("sim-text:lenient=1"));
    expect(JSON.stringify(simulator().requests.at(-1)?.body)).toContain('\\"required\\":[\\"value\\"]');
    await adapter.close();
  });

  it("is not needed for a reference to an object, which is sent as an object", async () => {
    const node = { type: "object", properties: { name: { type: "string" } }, required: ["name"] };
    const schemaJson = JSON.stringify({ $ref: "#/$defs/Node", $defs: { Node: node } });
    const { url } = simulator();
    const profile = { strictSchemas: "openai" } as const;
    const chat = new OpenAIChatAdapter({ baseUrl: `${url}/v1`, apiKey: "any", profile });
    for (const adapter of [openAdapter(simulator()), chat]) {
      const format = { type: Format.JSON_SCHEMA, schemaJson };
      const response = await adapter.complete(ask("sim-text", { responseFormat: format, tools: [] }));
      expect(JSON.parse(textOf(response))).toEqual({ name: expect.any(String) });
      expect(response.warnings).toEqual([]);
    }
    await chat.close();
  });

  it("is left as it is if the provider's options ask for another format", async () => {
    const adapter = openAdapter(simulator());
    const schema = { type: "object", properties: { value: { type: "integer" } }, required: ["value"] };
    const options = { text: { format: { type: "json_schema", name: "other", schema } } };
    const response = await adapter.complete(
      ask("sim-text", {
        responseFormat,
        tools: [],
        providerOptionsJson: { openai: JSON.stringify(options) },
      }),
    );
    expect(JSON.parse(textOf(response))).toEqual({ value: expect.any(Number) });
  });
});

function answering(body: object): Promise<TestServer> {
  return serveHttp((received, response) => {
    received.resume();
    response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(body));
  });
}
