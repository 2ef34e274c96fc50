/**
 * `outrigger/proto`: the contract as generated code. Its schemas and services are for programs that create, encode or
 * decode messages themselves or call a sidecar; a program that uses the Client does not need them.
 */
export { create, fromBinary, fromJson, toBinary, toJson } from "@bufbuild/protobuf";
export * from "./gen/outrigger/v1/attempt_pb.ts";
export * from "./gen/outrigger/v1/catalog_service_pb.ts";
export * from "./gen/outrigger/v1/embedding_service_pb.ts";
export * from "./gen/outrigger/v1/error_pb.ts";
export * from "./gen/outrigger/v1/generation_pb.ts";
export * from "./gen/outrigger/v1/generation_service_pb.ts";
export * from "./gen/outrigger/v1/inference_service_pb.ts";
export * from "./gen/outrigger/v1/message_pb.ts";
export * from "./gen/outrigger/v1/request_pb.ts";
export * from "./gen/outrigger/v1/response_pb.ts";
export * from "./gen/outrigger/v1/run_pb.ts";
export * from "./gen/outrigger/v1/run_service_pb.ts";
export * from "./gen/outrigger/v1/stream_event_pb.ts";
export * from "./gen/outrigger/v1/thread_pb.ts";
export * from "./gen/outrigger/v1/thread_service_pb.ts";
export * from "./gen/outrigger/v1/tool_pb.ts";
export * from "./gen/outrigger/v1/usage_pb.ts";
