import { namedModel } from "../named-model.ts";
import { embed } from "../script/embedding.ts";
import { estimatePromptTokens } from "../script/tokens.ts";
import type { ModelCall, ReceivedRequest, WholeAnswer, WireFormat } from "../wire-format.ts";
import { authenticate } from "./authenticate.ts";
import {
  array,
  type Check,
  integer,
  literal,
  missingParameter,
  nullable,
  object,
  required,
  string,
  wrongType,
} from "./check.ts";
import { rejectAsOpenAI } from "./failure.ts";
import { openaiHeaders } from "./headers.ts";
import { rejectingProblems } from "./problem.ts";
import { checkMethod, readModel } from "./receive.ts";

const path = "/v1/embeddings";

/** The checked body of a request. */
interface EmbeddingRequest {
  readonly model: string;
  /** A text, its tokens, or a list of either. */
  readonly input: string | readonly string[] | readonly number[] | readonly (readonly number[])[];
  readonly dimensions?: number | null;
  readonly encoding_format?: "float" | "base64" | null;
}

/** Dimensions of a vector if the request does not set them: the dimensions of OpenAI's smaller model. */
const usualDimensions = 1536;

/** Maximum number of texts of one request. */
const maxInputs = 2048;

/** OpenAI's embeddings, `POST /v1/embeddings`. Every model string has them. */
export function createOpenAIEmbeddings(): WireFormat {
  return {
    name: "openai-embeddings",
    endpoints: [`POST ${path}`],
    matches: (request) => request.path === path,
    getModel: namedModel,
    read: (request) => rejectingProblems(request, () => read(request)),
    reject: rejectAsOpenAI,
  };
}

function read(request: ReceivedRequest): ModelCall {
  authenticate(request.headers);
  checkMethod(request, "POST");
  const model = readModel(request, () => missingParameter("model"));
  return { model, prepare: () => rejectingProblems(request, () => answer(request)) };
}

const text = string({ minimum: 1 });
const tokens = array(integer(0), { minimum: 1, maximum: maxInputs });

/** A text, its tokens, or a list of either. */
const input: Check = (value, at) => {
  if (typeof value === "string") return text(value, at);
  if (!Array.isArray(value)) throw wrongType(value, at, "one of a string or an array");
  if (typeof value[0] === "number") return tokens(value, at);
  const element = typeof value[0] === "string" ? text : tokens;
  array(element, { minimum: 1, maximum: maxInputs })(value, at);
};

const body = object({
  model: required(string({ minimum: 1 })),
  input: required(input),
  dimensions: nullable(integer(1, 3072)),
  encoding_format: nullable(literal(["float", "base64"])),
  user: nullable(string()),
});

function answer(received: ReceivedRequest): WholeAnswer {
  body(received.body, "");
  const request = received.body as EmbeddingRequest;
  const inputs = toInputs(request.input);
  const inputTokens = inputs.reduce((sum, { tokens: count }) => sum + count, 0);
  const data = inputs.map(({ text: each }, index) => ({
    object: "embedding",
    index,
    embedding: encode(embed(each, request.dimensions ?? usualDimensions), request.encoding_format),
  }));
  const usage = { prompt_tokens: inputTokens, total_tokens: inputTokens };
  return {
    status: 200,
    headers: openaiHeaders(received, { contentType: "application/json", inputTokens }),
    body: JSON.stringify({ object: "list", data, model: request.model, usage }),
  };
}

/** Returns the texts of a request, each with its number of tokens. Tokens are read like words. */
function toInputs(value: EmbeddingRequest["input"]): { text: string; tokens: number }[] {
  if (typeof value === "string") return [{ text: value, tokens: estimatePromptTokens(value) }];
  if (isTokens(value)) return [{ text: value.join(" "), tokens: value.length }];
  return value.flatMap((each: string | readonly number[]) => toInputs(each));
}

function isTokens(value: readonly (string | number | readonly number[])[]): value is readonly number[] {
  return typeof value[0] === "number";
}

/** Base64 has 32 bits per number, little-endian. */
function encode(
  vector: readonly number[],
  format: EmbeddingRequest["encoding_format"],
): readonly number[] | string {
  return format === "base64" ? Buffer.from(Float32Array.from(vector).buffer).toString("base64") : vector;
}
