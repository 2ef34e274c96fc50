/** Requests for embeddings: checks that hold for all providers, and their form for middleware. */
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { userMessage } from "../core/message.ts";
import type { EmbedRequest, EmbedRequestSchema } from "../gen/outrigger/v1/embedding_service_pb.ts";
import { type Request, RequestSchema } from "../gen/outrigger/v1/request_pb.ts";
import { checkJsonObject, quote, Violations } from "./violations.ts";

/** A request for embeddings, as a message or a plain object. */
export type EmbedInput = MessageInitShape<typeof EmbedRequestSchema>;

/**
 * Checks for requests that no provider could accept.
 * @throws InvalidRequestError with every invalid field in `violations`, by proto path.
 */
export function validateEmbedRequest(request: EmbedRequest): void {
  const violations = new Violations();
  const { texts, tokenSequences, dimensions = 1 } = request;
  if (request.model.trim() === "") violations.add("model", "is empty, expected the provider's id of a model");
  if (texts.length === 0 && tokenSequences.length === 0)
    violations.add("texts", "is empty, expected at least one text");
  if (texts.length > 0 && tokenSequences.length > 0)
    violations.add("token_sequences", "is set together with texts, expected one of them");
  for (const [index, text] of texts.entries())
    if (text === "") violations.add(`texts[${index}]`, "is empty, expected a text");
  for (const [index, { ids }] of tokenSequences.entries())
    if (ids.length === 0)
      violations.add(`token_sequences[${index}].ids`, "is empty, expected at least one id");
  if (dimensions < 1) violations.add("dimensions", `expected at least 1, found ${dimensions}`);
  checkOptions(request, violations);
  violations.throwIfAny();
}

function checkOptions({ providerOptionsJson }: EmbedRequest, violations: Violations): void {
  for (const [provider, text] of Object.entries(providerOptionsJson)) {
    const field = `provider_options_json[${quote(provider)}]`;
    const options = checkJsonObject(text, field, violations) ?? {};
    // Limits and access keys depend on the model of the request.
    const model = Object.keys(options).find((name) => name.toLowerCase() === "model");
    if (model !== undefined)
      violations.add(`${field}.${model}`, "expected no model here: it is set by `model` of the request");
  }
}

/** Bytes of text that are estimated as one token. */
const TOKEN = "0000";

/** Returns a request with the same input, for middleware: its length shows how many tokens the call will use. */
export function toInputRequest(request: EmbedRequest): Request {
  const { model, provider, texts, tokenSequences, timeouts } = request;
  const inputs = [...texts, ...tokenSequences.map(({ ids }) => TOKEN.repeat(ids.length))];
  return create(RequestSchema, {
    model,
    provider,
    messages: inputs.map((text) => userMessage(text)),
    providerOptionsJson: { ...request.providerOptionsJson },
    // Nothing is generated, and 1 is the smallest valid value.
    maxTokens: 1,
    ...(timeouts && { timeouts }),
  });
}
