/**
 * The implementation `minimal`: the least work with which a Node program can serve these calls.
 * Hand-written gRPC on node:http2, undici's dispatcher to the provider, hand-written SSE parsing, one
 * JSON.parse per event, hand-written protobuf. Callers get the same messages as from Outrigger, but
 * nothing is checked, limited, timed, logged or counted, and only plain text is supported.
 */
import { randomBytes, randomUUID } from "node:crypto";
import { createServer, type ServerHttp2Stream } from "node:http2";
import { type Dispatcher, Pool } from "undici";
import { listenAddress } from "./listen-address.ts";
import { type AnswerFacts, writeResponse } from "./minimal/answer.ts";
import { type MinimalRequest, providerBody, readRequest } from "./minimal/request.ts";
import { TextStream } from "./minimal/text-stream.ts";
import { ProtoWriter } from "./minimal/wire.ts";

const baseUrl = new URL(process.env.OPENAI_BASE_URL ?? "https://api.openai.com/v1");
const pool = new Pool(baseUrl.origin, { headersTimeout: 0, bodyTimeout: 0 });
const headers = { "content-type": "application/json", authorization: `Bearer ${process.env.OPENAI_API_KEY}` };
const writer = new ProtoWriter();

/** Receives the chunks of the provider's answer as they arrive, and its end. */
interface Receiver {
  data(chunk: Buffer, controller: Dispatcher.DispatchController): void;
  end(): void;
}

// With Node's default limits, a client that cancels a lot would lose its connection.
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

/** Calls the provider, and passes its answer to a receiver. Cancels the provider call when the caller disconnects. */
function forward(stream: ServerHttp2Stream, request: MinimalRequest, receive: Receive): void {
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
          if (!stream.writableFinished) controller.abort(new Error("the caller disconnected"));
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
