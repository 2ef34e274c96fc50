/** `embedContent` and `batchEmbedContents` of the Gemini API, for the models of every provider that has embeddings. */
import { create } from "@bufbuild/protobuf";
import {
  type EmbedRequest,
  EmbedRequestSchema,
  type EmbedResponse,
} from "../../gen/outrigger/v1/embedding_service_pb.ts";
import type { EndpointRequest, EndpointResponse } from "../../http/endpoint.ts";
import { answerEmbeddings } from "../embeddings/answer-embeddings.ts";
import type { ModelResolver, ServedModel } from "../models/model-directory.ts";
import { checkContentType, invalidParameter } from "../openai/fields.ts";
import { RequestNotes } from "../openai/request-notes.ts";
import { ProtoFields, toJsonName } from "./fields.ts";

/** The settings of one element of a batch. In the contract, all texts of a request have the same settings. */
interface EmbedSettings {
  readonly taskType: string;
  readonly dimensions: number | undefined;
  /** Settings that only Gemini knows, as JSON text. */
  readonly options: string;
}

/** Answers `embedContent`. @param model As named in the path. */
export async function embedContent(
  request: EndpointRequest,
  model: string,
  models: ModelResolver,
): Promise<EndpointResponse> {
  const body = await readBody(request);
  return answer(request, [body], model, models, ({ embeddings: [first], usage }) => ({
    embedding: { values: first?.values ?? [] },
    ...writeUsage(usage),
  }));
}

/** Answers `batchEmbedContents`. @param model As named in the path. */
export async function batchEmbedContents(
  request: EndpointRequest,
  model: string,
  models: ModelResolver,
): Promise<EndpointResponse> {
  const body = await readBody(request);
  if (!body.has("requests")) body.missing("requests", "a list of requests");
  const elements = body.messages("requests", { min: 1 });
  return answer(request, elements, model, models, ({ embeddings, usage }) => ({
    embeddings: embeddings.map(({ values }) => ({ values })),
    ...writeUsage(usage),
  }));
}

async function readBody(request: EndpointRequest): Promise<ProtoFields> {
  checkContentType(request.headers["content-type"]);
  return ProtoFields.parse(await request.readBody());
}

function writeUsage(usage: EmbedResponse["usage"]): object {
  return usage === undefined ? {} : { usageMetadata: { promptTokenCount: usage.inputTokens } };
}

async function answer(
  request: EndpointRequest,
  elements: readonly ProtoFields[],
  name: string,
  models: ModelResolver,
  write: (response: EmbedResponse) => object,
): Promise<EndpointResponse> {
  const { provider, model, served } = models.resolve(name);
  const notes = new RequestNotes();
  const read = {
    request: { ...toEmbedRequest(elements, served, notes), provider, model },
    warnings: notes.warnings,
    toBodyPath: (field: string) => toPath(field, elements),
  };
  return answerEmbeddings(read, request, write);
}

/** Reads the elements. @throws InvalidRequestError if their settings differ. */
function toEmbedRequest(
  elements: readonly ProtoFields[],
  served: ServedModel,
  notes: RequestNotes,
): EmbedRequest {
  const texts = elements.map(readText);
  const all = elements.map((element) => readSettings(element, served));
  const [first] = all;
  const wanted = JSON.stringify(first);
  const other = all.findIndex((each) => JSON.stringify(each) !== wanted);
  if (other >= 0)
    throw invalidParameter(
      elements[other]?.path ?? "",
      "unsupported_value",
      "has different settings from the first request; send it in a separate batch",
    );
  const { taskType = "", dimensions, options = "{}" } = first ?? {};
  const isGemini = served.api === "gemini";
  if (!isGemini) noteOthers(elements, notes);
  return create(EmbedRequestSchema, {
    texts,
    taskType: taskType.toLowerCase(),
    ...(dimensions === undefined ? {} : { dimensions }),
    providerOptionsJson: isGemini && options !== "{}" ? { [served.provider]: options } : {},
  });
}

/** Warns about each field that only Gemini knows, at the first element that has it. */
function noteOthers(elements: readonly ProtoFields[], notes: RequestNotes): void {
  const noted = new Set<string>();
  for (const element of elements)
    for (const name of element.getOthers(FIELDS)) {
      if (noted.has(name)) continue;
      noted.add(name);
      const message = "the provider has no such setting; it was left out";
      notes.warn(element.at(name), "unsupported_setting", message);
    }
}

const FIELDS: ReadonlySet<string> = new Set(["model", "content", "taskType", "outputDimensionality"]);

function readText(element: ProtoFields): string {
  const content = element.object("content") ?? element.missing("content", "an object with parts");
  return content
    .messages("parts")
    .map((part) => part.requireString("text"))
    .join("");
}

function readSettings(element: ProtoFields, { api }: ServedModel): EmbedSettings {
  const others = api === "gemini" ? element.getOthers(FIELDS) : [];
  const taskType = element.string("taskType", { max: 64 }) ?? "";
  return {
    taskType: taskType === "TASK_TYPE_UNSPECIFIED" ? "" : taskType,
    dimensions: element.integer("outputDimensionality", { min: 1 }),
    options: JSON.stringify(Object.fromEntries(others.map((name) => [toJsonName(name), element.get(name)]))),
  };
}

function toPath(field: string, elements: readonly ProtoFields[]): string {
  const [, index] = /^texts\[(\d+)\]/.exec(field) ?? [];
  const element = elements[Number(index ?? 0)];
  if (index !== undefined) return element?.at("content") ?? field;
  if (field === "texts") return elements.length > 1 ? "requests" : (element?.at("content") ?? field);
  if (field === "task_type") return element?.at("taskType") ?? field;
  return field === "dimensions" ? (element?.at("outputDimensionality") ?? field) : field;
}
