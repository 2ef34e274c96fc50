/** Objects that are written out instead of created from their schema. */
import { create } from "@bufbuild/protobuf";
import { expect, it } from "vitest";
import {
  createMessage,
  createRequest,
  createTextPart,
} from "../../../src/endpoints/answers/create-request.ts";
import { ContentPartSchema, MessageSchema, Role } from "../../../src/gen/outrigger/v1/message_pb.ts";
import { RequestSchema } from "../../../src/gen/outrigger/v1/request_pb.ts";

it.each([
  [createRequest({ model: "m" }), create(RequestSchema, { model: "m" })],
  [createMessage({ role: Role.USER, content: [] }), create(MessageSchema, { role: Role.USER })],
  [createTextPart("a"), create(ContentPartSchema, { part: { case: "text", value: "a" } })],
])("the message of case %# equals the one that create() makes", (written, created) => {
  expect(written).toStrictEqual(created);
});
