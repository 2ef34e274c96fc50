/**
 * The program that connectconformance starts for every configuration: reads one
 * ServerCompatRequest from stdin, serves ConformanceService, writes its address to stdout, and ends at
 * SIGTERM. Both messages have their length before them, in four bytes, big-endian.
 */
import { buffer } from "node:stream/consumers";
import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { createService } from "../../../src/server/calls/service.ts";
import {
  type ServerCompatRequest,
  ServerCompatRequestSchema,
  ServerCompatResponseSchema,
} from "../gen/connectrpc/conformance/v1/server_compat_pb.ts";
import { ConformanceService } from "../gen/connectrpc/conformance/v1/service_pb.ts";
import { HOST, startForeignServer } from "../server.ts";
import { createConformanceService } from "./service.ts";

const LENGTH_BYTES = 4;

async function readRequest(): Promise<ServerCompatRequest> {
  const bytes = await buffer(process.stdin);
  const length = bytes.readUInt32BE();
  if (bytes.length !== LENGTH_BYTES + length) {
    throw new Error(`stdin: found ${bytes.length - LENGTH_BYTES} bytes, expected the ${length} it announced`);
  }
  return fromBinary(ServerCompatRequestSchema, bytes.subarray(LENGTH_BYTES));
}

function writeResponse(port: number): void {
  const bytes = toBinary(
    ServerCompatResponseSchema,
    create(ServerCompatResponseSchema, { host: HOST, port }),
  );
  const length = Buffer.alloc(LENGTH_BYTES);
  length.writeUInt32BE(bytes.length);
  process.stdout.write(Buffer.concat([length, bytes]));
}

const { messageReceiveLimit } = await readRequest();
const server = await startForeignServer(
  [createService(ConformanceService, createConformanceService())],
  messageReceiveLimit === 0 ? {} : { maxMessageBytes: messageReceiveLimit },
);
process.once("SIGTERM", () => void server.close());
writeResponse(server.port);
