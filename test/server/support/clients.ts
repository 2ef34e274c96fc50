/** Foreign clients: grpc-js alongside Connect's client, and raw HTTP for tests of single bytes. */
import {
  create,
  type DescMessage,
  type DescMethod,
  fromBinary,
  type MessageInitShape,
  type MessageShape,
  toBinary,
} from "@bufbuild/protobuf";
import { anyUnpack } from "@bufbuild/protobuf/wkt";
import type { Transport } from "@connectrpc/connect";
import {
  createConnectTransport,
  createGrpcTransport,
  createGrpcWebTransport,
} from "@connectrpc/connect-node";
import * as grpc from "@grpc/grpc-js";
import { type Status, StatusSchema } from "../../../src/gen/google/rpc/status_pb.ts";

/** Every protocol that Connect's client speaks, over the HTTP that it is used with. */
export const TRANSPORTS: Readonly<Record<string, (baseUrl: string) => Transport>> = {
  gRPC: (baseUrl) => createGrpcTransport({ baseUrl }),
  "gRPC-Web over HTTP/2": (baseUrl) => createGrpcWebTransport({ baseUrl, httpVersion: "2" }),
  "gRPC-Web over HTTP/1.1": (baseUrl) => createGrpcWebTransport({ baseUrl, httpVersion: "1.1" }),
  "Connect over HTTP/2": (baseUrl) => createConnectTransport({ baseUrl, httpVersion: "2" }),
  "Connect over HTTP/1.1": (baseUrl) => createConnectTransport({ baseUrl, httpVersion: "1.1" }),
  "Connect with JSON": (baseUrl) =>
    createConnectTransport({ baseUrl, httpVersion: "1.1", useBinaryFormat: false }),
};

/** How an RPC of grpc-js ended. */
export interface GrpcOutcome<Output> {
  readonly messages: Output[];
  readonly code: grpc.status;
  readonly message: string;
  readonly headers: grpc.Metadata | undefined;
  readonly trailers: grpc.Metadata;
}

/** Options of a call of grpc-js. */
export interface GrpcCallOptions {
  readonly deadlineMs?: number;
  readonly metadata?: Readonly<Record<string, string>>;
  /** Called with each message; may cancel the call. */
  readonly onMessage?: (call: grpc.ClientReadableStream<unknown>) => void;
}

/** A client of grpc-js for an address like `127.0.0.1:6190` or `unix:/path`. */
export function grpcClient(address: string): grpc.Client {
  return new grpc.Client(address, grpc.credentials.createInsecure(), {
    "grpc.max_receive_message_length": -1,
    "grpc.enable_retries": 0,
    "grpc.use_local_subchannel_pool": 1,
  });
}

/** Calls a method with one request by grpc-js, unary or streaming, and waits for its status. */
export function callGrpc<Method extends DescMethod>(
  client: grpc.Client,
  method: Method,
  init: MessageInitShape<Method["input"]>,
  { deadlineMs, metadata = {}, onMessage }: GrpcCallOptions = {},
): Promise<GrpcOutcome<MessageShape<Method["output"]>>> {
  const messages: MessageShape<Method["output"]>[] = [];
  let headers: grpc.Metadata | undefined;
  const call = client.makeServerStreamRequest(
    `/${method.parent.typeName}/${method.name}`,
    (request: MessageShape<Method["input"]>) => Buffer.from(toBinary<Method["input"]>(method.input, request)),
    (bytes): MessageShape<Method["output"]> => fromBinary<Method["output"]>(method.output, bytes),
    create<Method["input"]>(method.input, init),
    toMetadata(metadata),
    deadlineMs === undefined ? {} : { deadline: Date.now() + deadlineMs },
  );
  return new Promise((resolve) => {
    call.on("metadata", (received) => (headers = received));
    call.on("data", (message) => {
      messages.push(message);
      onMessage?.(call);
    });
    // The status comes as a separate event, even after an error.
    call.on("error", () => {});
    call.on("status", ({ code, details, metadata: trailers }) => {
      resolve({ messages, code, message: details, headers, trailers });
    });
  });
}

/** The `google.rpc.Status` of a failed call, and how many bytes it has. */
export function getStatus(trailers: grpc.Metadata): { status: Status; size: number } {
  const [packed] = trailers.get("grpc-status-details-bin");
  if (!Buffer.isBuffer(packed)) throw new Error("the trailers have no grpc-status-details-bin");
  return { status: fromBinary(StatusSchema, packed), size: packed.byteLength };
}

/** Returns the first detail of a type, or undefined if there is none. */
export function toDetail<Desc extends DescMessage>(
  { details }: Status,
  desc: Desc,
): MessageShape<Desc> | undefined {
  for (const any of details) {
    const found = anyUnpack(any, desc);
    if (found !== undefined) return found;
  }
  return undefined;
}

function toMetadata(entries: Readonly<Record<string, string>>): grpc.Metadata {
  const metadata = new grpc.Metadata();
  for (const [name, value] of Object.entries(entries)) metadata.set(name, value);
  return metadata;
}
