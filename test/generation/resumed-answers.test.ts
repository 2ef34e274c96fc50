/** Answers that a provider interrupts, or refuses in one form, and that a generation completes nevertheless. */
import {
  Client,
  FinishReason_Reason,
  functionTool,
  generate,
  generateObject,
  OpenAIChatAdapter,
  stream,
  streamObject,
} from "outrigger";
import { describe, expect, it } from "vitest";
import { serveHttp } from "../kit/http/servers.ts";
import { toFailure } from "../providers/support/calls.ts";
import { ScriptedModel, type Turn } from "./support/scripted-model.ts";

const PAUSED = FinishReason_Reason.OTHER;

/** A client whose model pauses its turn for some answers, and then ends it. */
function pausing(pauses: number, turns: readonly Turn[]) {
  const model = new ScriptedModel(turns);
  const client = new Client({
    providers: { scripted: model },
    middleware: [
      async (request, next) => {
        const response = await next(request);
        if (model.requests.length > pauses || response.finishReason === undefined) return response;
        return { ...response, finishReason: { ...response.finishReason, reason: PAUSED, raw: "pause_turn" } };
      },
    ],
  });
  return { model, options: { client, model: "m", prompt: "hi" } };
}

describe("A provider that pauses its turn", () => {
  it.each([
    ["generate()", generate],
    ["stream()", (options: Parameters<typeof stream>[0]) => stream(options).result()],
  ])("is asked to continue with its answer by %s", async (_name, run) => {
    const { model, options } = pausing(2, ["one ", "two ", "three"]);
    const result = await run(options);
    expect(result).toMatchObject({ text: "one two three", stopReason: "COMPLETED" });
    expect(result.steps).toHaveLength(3);
    expect(model.requests.map(({ messages }) => messages.length)).toEqual([1, 2, 3]);
    expect(result.messages).toHaveLength(3);
    expect(result.warnings).toEqual([]);
  });

  it.each([0, 1])("is asked to continue whatever is left of %i rounds of tools", async (maxToolRounds) => {
    const calls = Array.from({ length: maxToolRounds }, () => [{ name: "a" }]);
    const model = new ScriptedModel([...calls, "one ", "two"]);
    const client = new Client({
      providers: { scripted: model },
      middleware: [
        async (request, next) => {
          const response = await next(request);
          if (model.requests.length !== calls.length + 1 || response.finishReason === undefined)
            return response;
          return {
            ...response,
            finishReason: { ...response.finishReason, reason: PAUSED, raw: "pause_turn" },
          };
        },
      ],
    });
    const tools = [functionTool({ name: "a", execute: () => "fine" })];
    const result = await generate({ client, model: "m", prompt: "hi", tools, maxToolRounds });
    expect(result).toMatchObject({ text: "one two", stopReason: "COMPLETED" });
  });

  it("leaves the rounds of tools as they are", async () => {
    const { options } = pausing(1, ["first", [{ name: "nobody" }], "last"]);
    expect((await generate({ ...options, maxToolRounds: 1 })).text).toBe("last");
  });

  it("is not asked without end, and the result says that it is incomplete", async () => {
    const { model, options } = pausing(99, ["more "]);
    const result = await generate(options);
    expect(model.requests).toHaveLength(11);
    expect(result.warnings.map(({ code }) => code)).toEqual(["turn_paused"]);
  });

  it("is not asked again if a limit is reached", async () => {
    const { model, options } = pausing(99, ["more "]);
    const result = await generate({ ...options, limits: { maxSteps: 2 } });
    expect([model.requests.length, result.stopReason]).toEqual([2, "MAX_STEPS"]);
    expect(result.warnings.map(({ code }) => code)).toEqual(["turn_paused"]);
  });
});

const schema = { type: "object", properties: { city: { type: "string" } }, required: ["city"] };
const CALL = { id: "c1", type: "function", function: { name: "object", arguments: '{"city":"Oslo"}' } };

/** A server that refuses the response format, and another status if there are tools. */
async function serverThatRefuses(refused: readonly string[], message: string) {
  const asked: string[] = [];
  const server = await serveHttp(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const body = JSON.parse(Buffer.concat(chunks).toString("utf8"));
    const way = ["response_format", "tools"].find((name) => name in body) ?? "prompt";
    asked.push(way);
    const isRefused = refused.includes(way);
    response.writeHead(isRefused ? 400 : 200, { "content-type": "application/json" });
    const answer = way === "tools" ? { tool_calls: [CALL] } : { content: '{"city":"Oslo"}' };
    const choice = {
      index: 0,
      message: { role: "assistant", ...answer },
      finish_reason: way === "tools" ? "tool_calls" : "stop",
    };
    response.end(
      JSON.stringify(
        isRefused
          ? { error: { message } }
          : { id: "1", object: "chat.completion", model: "m", choices: [choice] },
      ),
    );
  });
  const adapter = new OpenAIChatAdapter({ name: "local", baseUrl: `http://127.0.0.1:${server.port}/v1` });
  const client = new Client({ providers: { local: adapter } });
  return { asked, options: { client, model: "m", prompt: "Where?", schema } };
}

describe("A server that refuses a JSON schema as response format", () => {
  const message = "This response_format type is unavailable now";

  it("is asked by a tool, whose arguments are the text", async () => {
    const { asked, options } = await serverThatRefuses(["response_format"], message);
    const result = await generateObject(options);
    expect(result).toMatchObject({ output: { city: "Oslo" }, text: '{"city":"Oslo"}' });
    expect(result.attempts.map(({ error }) => error === undefined)).toEqual([false, true]);
    expect(await streamObject(options).object()).toEqual({ city: "Oslo" });
    expect(asked).toEqual(["response_format", "tools", "response_format", "tools"]);
  });

  it("is not asked another way if the program chose one, or if it refuses something else", async () => {
    const { asked, options } = await serverThatRefuses(["response_format"], message);
    expect(await toFailure(() => generateObject({ ...options, strategy: "native" }))).toMatchObject({
      kindName: "INVALID_REQUEST",
    });
    const other = await serverThatRefuses(["response_format"], "max_tokens is too large");
    expect(await toFailure(() => generateObject(other.options))).toMatchObject({
      kindName: "INVALID_REQUEST",
    });
    expect([asked, other.asked]).toEqual([["response_format"], ["response_format"]]);
  });
});
