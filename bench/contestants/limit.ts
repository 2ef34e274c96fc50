/**
 * The contestant `limit`: the least that a Node program can do to carry these calls. gRPC by
 * hand on node:http2, undici's dispatcher towards the provider, SSE cut by hand, one JSON.parse
 * for each event, protobuf by hand. Callers get the same messages as from Outrigger; but
 * nothing is checked, limited, timed, logged or counted, and nothing but plain text is understood.
 */
import { randomBytes, randomUUID } from "node:crypto";
import { createServer, type ServerHttp2Stream } from "node:http2";
import { type Dispatcher, Pool } from "undici";
import { type AnswerFacts, writeResponse } from "./limit/answer.ts";
import { type LimitRequest, providerBody, readRequest } from "./limit/request.ts";
import { TextStream } from "./limit/text-stream.ts";
import { ProtoWriter } from "./limit/wire.ts";
import { listenAddress } from "./listen-address.ts";

const baseUrl = new URL(process.env.OPENAI_BASE_URL ?? "https://api.openai.com/v1");
const pool = new Pool(baseUrl.origin, { headersTimeout: 0, bodyTimeout: 0 });
const headers = { "content-type": "application/json", authorization: `Bearer ${process.env.OPENAI_API_KEY}` };
const writer = new ProtoWriter();

/** What receives the provider's answer: given its parts as they come, and its end. */
interface Receiver {
  data(chunk: Buffer, controller: Dispatcher.DispatchController): void;
  end(): void;
}

// A client that cancels a lot would lose its connection with Node's own limits.
const server = createServer({ streamResetBurst: 100_000, streamResetRate: 10_000 });

server.on("stream", (stream, { ":path": path }) => {
  const chunks: Buffer[] = [];
  stream.on("error", () => {});
  stream.on("data", (chunk: Buffer) => chunks.push(chunk));
  stream.on("end", () => {
    const request = readRequest(Buffer.concat(chunks).subarray(5));
    const streaming = path === "/outrigger.v1.InferenceService/Stream";
    forward(stream, request, streaming ? receiveStream : receiveWhole);
  });
});

server.listen(listenAddress());

process.once("SIGTERM", () => process.exit(0));

type Receive = (stream: ServerHttp2Stream, facts: AnswerFacts) => Receiver;

/** Asks the provider, and hands its answer to a receiver. Ends the one where the other is left. */
function forward(stream: ServerHttp2Stream, request: LimitRequest, receive: Receive): void {
  let receiver: Receiver;
  pool.dispatch(
    {
      path: `${baseUrl.pathname}/responses`,
      method: "POST",
      headers,
      body: providerBody(request, receive === receiveStream),
    },
    {
      onRequestStart(controller) {
        stream.on("close", () => {
          if (!stream.writableFinished) controller.abort(new Error("the caller left"));
        });
        stream.on("drain", () => controller.resume());
      },
      onResponseStart(_controller, status, answerHeaders) {
        const inferenceId = `inf_${randomBytes(16).toString("hex")}`;
        if (status === 200) respond(stream, inferenceId);
        else fail(stream);
        receiver = receive(stream, {
          inferenceId,
          acceptedAt: Date.now(),
          model: request.model,
          headers: answerHeaders,
        });
      },
      onResponseData: (controller, chunk) => receiver.data(chunk, controller),
      onResponseEnd: () => receiver.end(),
      onResponseError: () => fail(stream),
    },
  );
}

function respond(stream: ServerHttp2Stream, inferenceId: string): void {
  stream.respond(
    {
      ":status": 200,
      "content-type": "application/grpc",
      "x-request-id": randomUUID(),
      "outrigger-inference-id": inferenceId,
    },
    { waitForTrailers: true },
  );
  stream.on("wantTrailers", () => stream.sendTrailers({ "grpc-status": "0" }));
}

function fail(stream: ServerHttp2Stream): void {
  const unavailable = { ":status": 200, "content-type": "application/grpc", "grpc-status": "14" };
  if (stream.headersSent || stream.destroyed) stream.destroy();
  else stream.respond(unavailable, { endStream: true });
}

function receiveStream(stream: ServerHttp2Stream, facts: AnswerFacts): Receiver {
  const text = new TextStream(facts);
  return {
    data(chunk, controller) {
      const messages = text.push(chunk);
      if (text.finished) stream.end(messages);
      else if (messages.length > 0 && !stream.write(messages)) controller.pause();
    },
    end: () => stream.end(),
  };
}

function receiveWhole(stream: ServerHttp2Stream, facts: AnswerFacts): Receiver {
  const chunks: Buffer[] = [];
  return {
    data: (chunk) => chunks.push(chunk),
    end() {
      const frame = writer.beginFrame();
      writeResponse(writer, JSON.parse(Buffer.concat(chunks).toString()), facts);
      writer.endFrame(frame);
      stream.end(writer.take());
    },
  };
}
