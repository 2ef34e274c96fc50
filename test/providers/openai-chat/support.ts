import { create, type MessageInitShape, toJson } from "@bufbuild/protobuf";
import { defaultCatalog, ProviderModels } from "../../../src/catalog/catalog.ts";
import { RequestSchema } from "../../../src/gen/outrigger/v1/request_pb.ts";
import { type Response, ResponseSchema } from "../../../src/gen/outrigger/v1/response_pb.ts";
import { type StreamEvent, StreamEventSchema } from "../../../src/gen/outrigger/v1/stream_event_pb.ts";
import { stringifyJson } from "../../../src/kit/json/json-source.ts";
import { createMediaReader, type Media, resolveMedia } from "../../../src/kit/media/media.ts";
import type { RequestSettings } from "../../../src/providers/openai-chat/context.ts";
import type { ServerProfile } from "../../../src/providers/openai-chat/profile.ts";
import { getProfile } from "../../../src/providers/openai-chat/profiles.ts";
import { toRequestBody } from "../../../src/providers/openai-chat/request.ts";
import { toResponse } from "../../../src/providers/openai-chat/response.ts";
import { ChatDecoder } from "../../../src/providers/openai-chat/stream.ts";
import { type Decoded, decode, factsFor } from "../../support/decode.ts";
import type { Wire } from "./reading.ts";

/** Name under which the tests register the adapter. */
export const PROVIDER = "compatible";

/** The name of a profile, or changes to the plain one. */
export type ProfileInit = string | Partial<ServerProfile>;

/** A Request, or the fields of one. */
export type RequestInit = MessageInitShape<typeof RequestSchema>;

const ADDRESS = "http://unknown.example/v1";

/** The whole profile. */
export function profile(init: ProfileInit = {}): ServerProfile {
  return getProfile(init, ADDRESS);
}

/** The settings of the provider. No files are allowed. */
function settings(init: ProfileInit = {}): RequestSettings {
  const reader = createMediaReader({ allowFilesUnder: [] });
  const media = (part: Media, field: string) => resolveMedia(part, { reader }, field);
  const server = profile(init);
  const models = new ProviderModels(defaultCatalog, PROVIDER, server.catalog);
  return { provider: PROVIDER, profile: server, media, models };
}

/** The body of a request as the server reads it, its text, and the codes and fields of its warnings. */
export async function sent(request: RequestInit, init: ProfileInit = {}, streaming = false) {
  const message = create(RequestSchema, { model: "model-1", ...request });
  const { body, warnings } = await toRequestBody(message, streaming, settings(init));
  const text = stringifyJson(body);
  const parsed: Wire = JSON.parse(text);
  return { body: parsed, text, warnings: warnings.map(({ code, field }) => `${code} ${field}`) };
}

/** The messages of a body. */
export function toMessages({ messages }: Wire): Wire[] {
  return messages as Wire[];
}

/** Decodes the bytes of a stream and checks every event against the laws. */
export function decodeBytes(
  chunks: Iterable<Uint8Array>,
  init: ProfileInit = {},
  request: RequestInit = { model: "model-1" },
): Promise<Decoded> {
  const facts = factsFor(PROVIDER, request);
  return decode(chunks, facts, (known, writer) => new ChatDecoder(known, writer, profile(init)));
}

/** Decodes the events of a stream, each given as its data; objects as JSON. */
export function decodeEvents(
  events: readonly (string | object)[],
  init: ProfileInit = {},
  request: RequestInit = { model: "model-1" },
): Promise<Decoded> {
  const text = events.map(
    (event) => `data: ${typeof event === "string" ? event : JSON.stringify(event)}\n\n`,
  );
  return decodeBytes([Buffer.from(text.join(""))], init, request);
}

/** A chunk with one delta. */
export function chunk(delta: object, finish: string | null = null, more: object = {}): Wire {
  return { id: "chat_1", model: "model-1", choices: [{ index: 0, delta, finish_reason: finish }], ...more };
}

/** Decodes deltas, a finish reason and the end marker. */
export async function answerTo(
  deltas: readonly object[],
  init: ProfileInit = {},
  finish = "stop",
): Promise<Response> {
  const events = [...deltas.map((delta) => chunk(delta)), chunk({}, finish), "[DONE]"];
  return getFinal(await decodeEvents(events, init));
}

/** A whole answer as our Response. */
export function respond(
  body: unknown,
  init: ProfileInit = {},
  request: RequestInit = { model: "model-1" },
): Response {
  const facts = factsFor(PROVIDER, request);
  const text = typeof body === "string" ? body : JSON.stringify(body);
  return toResponse(text, facts, profile(init));
}

/** The response that a stream finished with. */
export function getFinal({ events, error }: Decoded): Response {
  const last = events.at(-1)?.event;
  if (last?.case !== "finish" || last.value.response === undefined)
    throw new Error(`the stream ended with ${last?.case}`, { cause: error });
  return last.value.response;
}

/** Events in JSON, without their times. */
export function eventsJson(events: readonly StreamEvent[]): unknown[] {
  return events.map((event) => {
    const json = toJson(StreamEventSchema, event) as { streamStart?: { startedAt?: string } };
    delete json.streamStart?.startedAt;
    return json;
  });
}

/** A response in JSON. */
export function responseJson(response: Response): unknown {
  return toJson(ResponseSchema, response);
}
