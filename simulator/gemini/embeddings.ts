import type { Content } from "../../src/wire/gemini/request.ts";
import { embed } from "../script/embedding.ts";
import { joinContents } from "../script/read-content.ts";
import type { ReceivedRequest, WholeAnswer } from "../wire-format.ts";
import { jsonAnswer } from "./headers.ts";
import { invalidArgument } from "./problem.ts";
import { int32, message, type Read, readMessage, repeated, string } from "./proto-json.ts";
import { readPart } from "./read-content.ts";
import { content } from "./request-message.ts";

/** Dimensions of a vector if the request does not set them, and the highest number that it may set. */
const usualDimensions = 3072;

/** Maximum number of contents of one request. */
const maxRequests = 100;

interface EmbedContentRequest {
  readonly model?: string;
  readonly content?: Content;
  readonly taskType?: string;
  readonly title?: string;
  readonly outputDimensionality?: number;
}

interface BatchEmbedContentsRequest {
  readonly requests?: readonly EmbedContentRequest[];
}

const embedContentRequest: Read = message<EmbedContentRequest>("EmbedContentRequest", () => ({
  model: string,
  content,
  taskType: string,
  title: string,
  outputDimensionality: int32,
}));

const batchEmbedContentsRequest: Read = message<BatchEmbedContentsRequest>(
  "BatchEmbedContentsRequest",
  () => ({
    requests: repeated(embedContentRequest),
  }),
);

/** Answers `embedContent`. Throws the error that Google returns. */
export function embedOne(received: ReceivedRequest): WholeAnswer {
  const request = readMessage<EmbedContentRequest>(embedContentRequest, received.body);
  return jsonAnswer(received, { embedding: createEmbedding(request) });
}

/** Answers `batchEmbedContents`. Throws the error that Google returns. */
export function embedAll(received: ReceivedRequest): WholeAnswer {
  const { requests = [] } = readMessage<BatchEmbedContentsRequest>(batchEmbedContentsRequest, received.body);
  if (requests.length === 0 || requests.length > maxRequests) {
    throw invalidArgument(`* BatchEmbedContentsRequest.requests: expected 1 to ${maxRequests} requests\n`);
  }
  return jsonAnswer(received, { embeddings: requests.map(createEmbedding) });
}

function createEmbedding({
  content: { parts = [] } = {},
  outputDimensionality: dimensions = usualDimensions,
}: EmbedContentRequest): { values: number[] } {
  if (parts.length === 0) throw invalidArgument("* EmbedContentRequest.content: contents is not specified\n");
  if (dimensions < 1 || dimensions > usualDimensions) {
    throw invalidArgument(
      `* EmbedContentRequest.output_dimensionality: must be between 1 and ${usualDimensions}.\n`,
    );
  }
  return { values: embed(joinContents(parts.map(readPart)).text, dimensions) };
}
