import type { EchoError } from "../../src/wire/echo/error.ts";
import type { EchoRequest } from "../../src/wire/echo/request.ts";
import type { EchoResponse, EchoUsage } from "../../src/wire/echo/response.ts";
import type { EchoEvent } from "../../src/wire/echo/stream.ts";
import { namedModel } from "../named-model.ts";
import type { Turn } from "../script/turn.ts";
import {
  type ModelCall,
  type ReceivedRequest,
  Rejection,
  type StreamedAnswer,
  type WholeAnswer,
  type WireEvent,
  type WireFormat,
} from "../wire-format.ts";

/** The smallest wire API, `POST /echo`. */
export function createEcho(): WireFormat {
  return {
    name: "echo",
    endpoints: ["POST /echo"],
    matches: ({ path }) => path === "/echo",
    getModel: namedModel,
    read,
    reject: (failure) => fail(failure.kind === "status" ? failure.status : 400),
  };
}

function read(received: ReceivedRequest): ModelCall {
  if (received.headers.authorization === undefined) throw new Rejection(fail(401));
  const { prompt, stream } = received.body as EchoRequest;
  return {
    model: namedModel(received),
    prepare: () => ({
      prompt: {
        question: prompt,
        segments: [prompt],
        caching: { kind: "prefix", minimumTokens: Number.POSITIVE_INFINITY },
        attachments: [],
        tools: [],
        hostedTools: [],
        toolChoice: { mode: "none" },
        parallelToolCalls: false,
        toolResults: [],
        toolRounds: 0,
        answerFormat: { type: "text" },
        maxOutputTokens: undefined,
        stopSequences: [],
        effort: "none",
      },
      stream,
      renderWhole: (turn) =>
        answer(200, { text: getText(turn), usage: toUsage(turn) } satisfies EchoResponse),
      renderStream,
      renderFailed: () => fail(500),
    }),
  };
}

function renderStream(turn: Turn): StreamedAnswer {
  const toEvent = (event: EchoEvent | EchoError, tokens: number, terminal: boolean): WireEvent => ({
    text: `data: ${JSON.stringify(event)}\n\n`,
    tokens,
    terminal,
  });
  function* events(): Generator<WireEvent, undefined> {
    for (const word of getText(turn).split(/(?<= )/)) yield toEvent({ delta: word }, 1, false);
    yield toEvent({ usage: toUsage(turn) }, 0, true);
  }
  return {
    headers: { "content-type": "text/event-stream" },
    events,
    failure: () => [toEvent({ error: "failed" }, 0, false)],
    keepAlive: () => undefined,
  };
}

function getText({ parts }: Turn): string {
  return parts.map((part) => (part.kind === "text" ? part.text : "")).join("");
}

function toUsage({ usage }: Turn): EchoUsage {
  return { input: usage.inputTokens, output: usage.outputTokens };
}

function fail(status: number): WholeAnswer {
  return answer(status, { error: `refused with ${status}` } satisfies EchoError);
}

function answer(status: number, body: object): WholeAnswer {
  return { status, headers: { "content-type": "application/json" }, body: JSON.stringify(body) };
}
