/** Reads a body of Gemini's generateContent (documentation: "generateContent", "Content"). */
import {
  type Author,
  type CallFact,
  type Counts,
  type Fact,
  type Json,
  number,
  object,
  objects,
  type Reading,
  type ResultFact,
  string,
  textFacts,
} from "./facts.ts";

/** Reads a request body. */
export function readGemini(body: Json): Reading {
  const config = object(body.generationConfig);
  const declarations = objects(body.tools).flatMap((tool) => objects(tool.functionDeclarations));
  return {
    facts: [
      ...objects(object(body.systemInstruction).parts).flatMap(({ text }) => textFacts("system", text)),
      ...readContents(objects(body.contents)),
    ],
    tools: declarations.map(({ name, description, parametersJsonSchema, parameters }) => {
      return {
        name: string(name),
        description: string(description),
        schema: parametersJsonSchema ?? parameters,
      };
    }),
    toolChoice: toChoice(object(object(body.toolConfig).functionCallingConfig)),
    answerSchema: config.responseJsonSchema ?? config.responseSchema,
    effort: object(config.thinkingConfig).thinkingLevel,
  };
}

/** Reads the token counts of a whole answer (documentation: "UsageMetadata"); its candidates exclude the thoughts. */
export function countGemini(answer: Json): Counts {
  const usage = object(answer.usageMetadata);
  const reasoning = number(usage.thoughtsTokenCount);
  return {
    input: number(usage.promptTokenCount) + number(usage.toolUsePromptTokenCount),
    output: number(usage.candidatesTokenCount) + reasoning,
    reasoning,
    cacheRead: number(usage.cachedContentTokenCount),
  };
}

function toChoice({ mode, allowedFunctionNames: names }: Json): string | undefined {
  if (Array.isArray(names)) return names.join(" ");
  return mode === "ANY" ? "required" : typeof mode === "string" ? mode.toLowerCase() : undefined;
}

/** A call without a result so far. */
interface PendingCall {
  readonly call: CallFact;
  /** Its id on the wire, if it has one. */
  readonly wireId: unknown;
}

/**
 * Ids are missing on the wire, or repeated, so the position of a call is used as its id: its result is the first one
 * after its turn with the same id, or, without an id, with the same name.
 */
function readContents(contents: readonly Json[]): Fact[] {
  const facts: Fact[] = [];
  let pending: PendingCall[] = [];
  for (const [turn, { role, parts }] of contents.entries()) {
    const calls: PendingCall[] = [];
    for (const part of objects(parts)) {
      const read = readPart(
        role === "model" ? "assistant" : "user",
        part,
        `${turn}/${calls.length}`,
        pending,
      );
      const wireId = object(part.functionCall).id;
      facts.push(...read);
      calls.push(...read.flatMap((fact) => (fact.kind === "call" ? [{ call: fact, wireId }] : [])));
    }
    if (calls.length > 0) pending = calls;
  }
  return facts;
}

/** @param place Position, if the part is a call. @param pending Calls without results. */
function readPart(author: Author, part: Json, place: string, pending: PendingCall[]): Fact[] {
  const { text, thought, functionCall, functionResponse, inlineData, fileData } = part;
  const signed: Fact[] = part.thoughtSignature === undefined ? [] : [{ kind: "state", block: part }];
  if (thought === true) return [{ kind: "state", block: part }];
  if (text !== undefined) return [...textFacts(author, text), ...signed];
  if (functionCall !== undefined) return [createCall(object(functionCall), place), ...signed];
  if (functionResponse !== undefined) return [createResponse(object(functionResponse), pending)];
  const source = mediaIn(object(inlineData ?? fileData));
  return source === undefined ? [{ kind: "state", block: part }] : [{ author, ...source }, ...signed];
}

function createCall({ name, args }: Json, place: string): Fact {
  return { kind: "call", id: place, name: string(name), arguments: args ?? {} };
}

function createResponse({ id, name, response, parts }: Json, pending: PendingCall[]): ResultFact {
  const at = pending.findIndex(({ call, wireId }) => call.name === name && wireId === id);
  const [answered] = at < 0 ? [] : pending.splice(at, 1);
  const { output, error } = object(response);
  return {
    kind: "result",
    id: answered?.call.id ?? "unknown call",
    text: string(output ?? error),
    media: objects(parts).flatMap(({ inlineData, fileData }) => {
      return mediaIn(object(inlineData ?? fileData))?.source ?? [];
    }),
  };
}

function mediaIn({ mimeType, data, fileUri }: Json) {
  if (data === undefined && fileUri === undefined) return undefined;
  const type = string(mimeType);
  const source = data === undefined ? string(fileUri) : `data:${type};base64,${string(data)}`;
  const kind = type.startsWith("audio/") ? "audio" : type === "application/pdf" ? "document" : "image";
  return { kind, source } as const;
}
