/** The body of `POST /v1/embeddings` -> a request of the contract. */
import { create } from "@bufbuild/protobuf";
import { EmbedRequestSchema } from "../../gen/outrigger/v1/embedding_service_pb.ts";
import type { ModelResolver, ServedModel } from "../models/model-directory.ts";
import { type Element, type Fields, invalidParameter, parseBody } from "../openai/fields.ts";
import { RequestNotes } from "../openai/request-notes.ts";
import type { ReadEmbeddingRequest } from "./answer-embeddings.ts";

/** A request. */
export interface ReadOpenAiEmbeddingRequest extends ReadEmbeddingRequest {
  /** Whether vectors are sent as base64. */
  readonly isBase64: boolean;
}

const FIELDS: ReadonlySet<string> = new Set(["model", "input", "dimensions", "encoding_format"]);

/**
 * Reads a request.
 * @throws InvalidRequestError that names the first invalid field.
 */
export function readRequest(body: Uint8Array, models: ModelResolver): ReadOpenAiEmbeddingRequest {
  const fields = parseBody(body);
  const { provider, model, served } = models.resolve(fields.requireString("model", { min: 1, max: 512 }));
  const notes = new RequestNotes();
  const dimensions = fields.integer("dimensions", { min: 1 });
  const request = create(EmbedRequestSchema, {
    provider,
    model,
    ...readInput(fields),
    ...(dimensions === undefined ? {} : { dimensions }),
    providerOptionsJson: readOptions(fields, served, notes),
  });
  const isList = typeof fields.get("input") !== "string" && !isTokens(fields.get("input"));
  return {
    request,
    isBase64: fields.word("encoding_format", ["float", "base64"]) === "base64",
    warnings: notes.warnings,
    toBodyPath: (field) => toBodyPath(field, isList),
  };
}

/** Reads `input`: a text, the ids of its tokens, or a list of either. */
function readInput(fields: Fields): { texts: string[] } | { tokenSequences: { ids: number[] }[] } {
  const value = fields.get("input");
  if (typeof value === "string") return { texts: [fields.requireString("input")] };
  const elements = fields.list("input", { min: 1 }) ?? fields.missing("input", "a text or a list of texts");
  if (isTokens(value)) return { tokenSequences: [{ ids: elements.map(readId) }] };
  if (elements.every((element) => typeof element.value === "string"))
    return { texts: [...(fields.strings("input") ?? [])] };
  return { tokenSequences: elements.map(readTokens) };
}

function isTokens(value: unknown): boolean {
  return Array.isArray(value) && typeof value[0] === "number";
}

function readTokens({ value, path }: Element): { ids: number[] } {
  if (!Array.isArray(value))
    throw invalidParameter(
      path,
      "invalid_type",
      "expected only texts, or only lists of token ids, found both or neither",
    );
  return { ids: value.map((id: unknown, index) => readId({ value: id, path: `${path}[${index}]` })) };
}

const MAX_ID = 2 ** 31 - 1;

function readId({ value, path }: Pick<Element, "value" | "path">): number {
  if (typeof value === "number" && Number.isInteger(value) && value >= 0 && value <= MAX_ID) return value;
  throw invalidParameter(path, "invalid_type", `expected a token id, a whole number from 0 to ${MAX_ID}`);
}

/** Returns further settings for a provider with the same API. For others, they are left out with a warning. */
function readOptions(
  fields: Fields,
  { api, provider }: ServedModel,
  notes: RequestNotes,
): Record<string, string> {
  const others = Object.keys(fields.value).filter((name) => !FIELDS.has(name) && fields.has(name));
  if (others.length === 0) return {};
  if (api === "openai-chat" || api === "openai-responses") {
    const options = Object.fromEntries(others.map((name) => [name, fields.value[name]]));
    return { [provider]: JSON.stringify(options) };
  }
  for (const name of others)
    notes.warn(name, "unsupported_setting", "the model's provider has no such setting; it was left out");
  return {};
}

function toBodyPath(field: string, isList: boolean): string {
  const [, index] = /^(?:texts|token_sequences)(?:\[(\d+)\])?/.exec(field) ?? [];
  if (/^(?:texts|token_sequences)/.test(field))
    return isList && index !== undefined ? `input[${index}]` : "input";
  return field === "provider" ? "model" : field.replace(/^provider_options_json\["[^"]*"\]\.?/, "");
}
