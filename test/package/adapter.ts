/**
 * An adapter for a provider that Outrigger does not know, written against the package alone, and a server that speaks
 * that provider's API. `run.ts` compiles it outside of the project and runs it.
 */
import { deepEqual, equal, ok, rejects } from "node:assert/strict";
import { createServer } from "node:http";
import {
  accumulate,
  Client,
  ErrorKind,
  FinishReason_Reason,
  InvalidRequestError,
  LossPolicy,
  RateLimitError,
  type Request,
  StreamError,
  textOf,
  textPart,
  userMessage,
} from "outrigger";
import {
  type CallFacts,
  createHttpTransport,
  createProviderError,
  createResponse,
  createUsage,
  finishReason,
  HttpAdapter,
  kindOfStatus,
  LossReport,
  objectIn,
  type Protocol,
  parseJson,
  readFailureBody,
  requireCredential,
  type SseEvent,
  type StreamDecoder,
  type StreamWriter,
  type TextBlock,
  textIn,
} from "outrigger/kit";

/** A whole answer of Acme, and the last event of its streams. */
interface AcmeAnswer {
  readonly id: string;
  readonly text: string;
  readonly stopped: "end" | "limit";
  readonly tokens: { readonly in: number; readonly out: number };
}

/** Returns the end of an answer, in the contract's terms. */
function getEnd({ id, stopped, tokens }: AcmeAnswer, model: string) {
  const reason = stopped === "limit" ? FinishReason_Reason.LENGTH : FinishReason_Reason.STOP;
  const usage = createUsage({ inputTokens: tokens.in, outputTokens: tokens.out });
  return { id, model, finishReason: finishReason(reason, stopped), usage, rawJson: "" };
}

function answerIn(body: string): AcmeAnswer {
  const { id, text, stopped, tokens } = objectIn(parseJson(body));
  const { in: input, out } = objectIn(tokens);
  return {
    id: textIn(id),
    text: textIn(text),
    stopped: stopped === "limit" ? "limit" : "end",
    tokens: { in: Number(input), out: Number(out) },
  };
}

function getBody(request: Request, streaming: boolean, loss: LossReport): string {
  if (request.tools.length > 0) loss.lose("tools", "unsupported_setting", "Acme has no tools");
  loss.enforce(request.lossPolicy);
  const turns = request.messages.map((message) => textOf(message));
  return JSON.stringify({ model: request.model, turns, streaming });
}

/** One event of a stream is a piece of text, or the answer without its text. */
class AcmeDecoder implements StreamDecoder {
  readonly #facts: CallFacts;
  readonly #writer: StreamWriter;
  #text: TextBlock | undefined;

  constructor(facts: CallFacts, writer: StreamWriter) {
    this.#facts = facts;
    this.#writer = writer;
  }

  push({ type, data }: SseEvent): void {
    const { model } = this.#facts.request;
    this.#writer.start(model);
    if (type === "answer") {
      this.#writer.finish(getEnd(answerIn(data), model));
    } else {
      this.#text ??= this.#writer.startText();
      this.#text.append(textIn(objectIn(parseJson(data)).text));
    }
  }

  /** The stream is whole if `push` has finished it. */
  end(): void {}
}

const protocol: Protocol = {
  async toWire(request, streaming) {
    const loss = new LossReport();
    const body = getBody(request, streaming, loss);
    return { path: "/generate", headers: {}, body, warnings: loss.warnings };
  },
  toResponse(body, facts) {
    const answer = answerIn(body);
    return createResponse(facts, {
      ...getEnd(answer, facts.request.model),
      content: [textPart(answer.text)],
    });
  },
  createDecoder: (facts, writer) => new AcmeDecoder(facts, writer),
  toError({ provider, status, body, request }) {
    const { object, text } = readFailureBody<{ code: string; reason: string }>(body);
    const failure = {
      code: textIn(object?.code),
      message: textIn(object?.reason) || text,
      getKind: () =>
        textIn(object?.code) === "out_of_credit" ? ErrorKind.QUOTA_EXCEEDED : kindOfStatus(status),
    };
    return createProviderError(failure, { provider, request, body, httpStatusCode: status });
  },
  getRateLimit: () => undefined,
  getRequestId: (headers) => headers.get("x-acme-request") ?? "",
};

/** The adapter: an address, a key and the protocol. */
class AcmeAdapter extends HttpAdapter {
  constructor({ apiKey, baseUrl }: { readonly apiKey: string; readonly baseUrl: string }) {
    requireCredential("acme", apiKey, "an API key");
    const transport = createHttpTransport({ baseUrl });
    super({ name: "acme", protocol, transport, headers: { "x-acme-key": apiKey } });
  }
}

const answer = { id: "a1", text: "Hello, world", stopped: "end", tokens: { in: 3, out: 2 } };

/** Acme itself. The model's name chooses what goes wrong. */
const server = createServer((request, response) => {
  let body = "";
  request.setEncoding("utf8").on("data", (text: string) => {
    body += text;
  });
  request.on("end", () => {
    const { model, streaming } = objectIn(parseJson(body));
    response.setHeader("x-acme-request", "r1");
    if (model === "busy") {
      response.writeHead(429, { "retry-after": "2" }).end('{"code":"slow_down","reason":"Too many calls"}');
    } else if (streaming === true) {
      response.writeHead(200, { "content-type": "text/event-stream" });
      for (const text of ["Hello, ", "world"]) response.write(`data: ${JSON.stringify({ text })}\n\n`);
      response.end(model === "cut" ? "" : `event: answer\ndata: ${JSON.stringify(answer)}\n\n`);
    } else {
      response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(answer));
    }
  });
});
await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
const address = server.address();
const port = typeof address === "object" ? address?.port : undefined;

const acme = new AcmeAdapter({ apiKey: "k", baseUrl: `http://127.0.0.1:${port}` });
const client = new Client({ providers: { acme } });
const messages = [userMessage("hi")];

const whole = await client.complete({ model: "m", messages });
equal(textOf(whole), "Hello, world");
deepEqual([whole.provider, whole.usage?.totalTokens, whole.providerRequestId], ["acme", 5, "r1"]);
// Checks every event against the laws of a stream.
const streamed = await accumulate(client.stream({ model: "m", messages }));
deepEqual([streamed.message, streamed.usage], [whole.message, whole.usage]);

await rejects(client.complete({ model: "busy", messages }), (error) => {
  return error instanceof RateLimitError && error.retryable && error.errorCode === "slow_down";
});
await rejects(client.stream({ model: "cut", messages }).final(), StreamError);
const tools = [{ tool: { case: "function", value: { name: "look" } } } as const];
const lossy = await client.complete({ model: "m", messages, tools });
ok(lossy.warnings.some(({ field }) => field === "tools"));
await rejects(
  client.complete({ model: "m", messages, tools, lossPolicy: LossPolicy.REFUSE }),
  InvalidRequestError,
);

await client.close();
server.close();
