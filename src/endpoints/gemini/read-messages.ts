/**
 * `systemInstruction` and `contents` of the Gemini API -> messages of the contract. Consecutive contents of the model
 * become one message, since clients return each event of a stream as a content. Results of functions become separate
 * messages.
 */
import { create } from "@bufbuild/protobuf";
import { type ContentPart, type Image, Role, ToolCallSchema } from "../../gen/outrigger/v1/message_pb.ts";
import { asString, type JsonObject } from "../../kit/json/json.ts";
import { guessMediaType } from "../../kit/media/media-type.ts";
import type { Part } from "../../wire/gemini/request.ts";
import { createMessage, createTextPart } from "../answers/create-request.ts";
import { invalidParameter, joinWords, quote } from "../openai/fields.ts";
import { createPart, type ReadPart } from "../responses/read-content.ts";
import { createPartWithState } from "../stateless/part-with-state.ts";
import type { ReadingContext } from "../stateless/reading-context.ts";
import { type ReadMessage, toReadMessage } from "../stateless/to-request.ts";
import { type ProtoFields, toJsonName } from "./fields.ts";
import { isGemini, type ReadSignature, readSignature } from "./provider-state.ts";

/** Reads `systemInstruction` and `contents`. */
export function readMessages(body: ProtoFields, context: ReadingContext): readonly ReadMessage[] {
  const reader = new ConversationReader(context);
  const system = body.object("systemInstruction");
  if (system !== undefined) reader.addInstructions(system);
  if (!body.has("contents")) return body.missing("contents", "a list of contents");
  for (const content of body.messages("contents", { min: 1 })) reader.add(content);
  return reader.messages;
}

const ROLES = ["user", "model", "function", "system"] as const;

/** Fields of a part that are read: its data, and two fields about the data. */
const READ_FIELDS: ReadonlySet<string> = new Set<keyof Part>([
  "text",
  "inlineData",
  "fileData",
  "functionCall",
  "functionResponse",
  "thought",
  "thoughtSignature",
]);

/** Fields that describe a part's data. */
const DESCRIPTIONS: ReadonlySet<string> = new Set<keyof Part>([
  "thought",
  "thoughtSignature",
  "partMetadata",
  "videoMetadata",
  "mediaResolution",
]);

class ConversationReader {
  readonly messages: ReadMessage[] = [];
  readonly #context: ReadingContext;
  /** The model's message that later contents of the model continue. */
  #answer: AnswerReader | undefined;
  #calls = new OpenCalls();

  constructor(context: ReadingContext) {
    this.#context = context;
  }

  addInstructions(system: ProtoFields): void {
    const parts = system.messages("parts").map((part) => ({
      part: createTextPart(part.requireString("text")),
      path: part.path,
    }));
    if (parts.length > 0) this.messages.push(toReadMessage({ role: Role.SYSTEM }, system.path, parts));
  }

  add(content: ProtoFields): void {
    const role = content.string("role") ?? "user";
    switch (role === "" ? "user" : role) {
      case "model":
        return this.#addAnswer(content);
      case "user":
      case "function":
        return this.#addInput(content);
      case "system":
        return this.addInstructions(content);
      default:
        throw invalidParameter(
          content.at("role"),
          "invalid_value",
          `expected ${joinWords(ROLES)}, found ${quote(role)}`,
        );
    }
  }

  #addAnswer(content: ProtoFields): void {
    if (this.#answer === undefined) {
      this.#calls = new OpenCalls();
      this.#answer = new AnswerReader(this.messages.length, this.#calls, this.#context);
      // Later contents of the model are added to it.
      const message = createMessage({ role: Role.ASSISTANT, content: this.#answer.content });
      this.messages.push({ message, path: content.path, parts: this.#answer.paths });
    }
    for (const part of content.messages("parts")) this.#answer.add(part);
  }

  /** The results of functions come before the rest of a content, as other APIs require. */
  #addInput(content: ProtoFields): void {
    this.#answer = undefined;
    const parts: ReadPart[] = [];
    const elements = content.messages("parts");
    for (const part of elements) {
      if (part.has("functionResponse")) this.#addResult(part);
      else parts.push({ part: readInput(part, this.#context), path: part.path });
    }
    if (parts.length > 0 || elements.length === 0)
      this.messages.push(toReadMessage({ role: Role.USER }, content.path, parts));
  }

  #addResult(part: ProtoFields): void {
    const result = part.object("functionResponse") ?? part.missing("functionResponse", "an object");
    const { path } = result;
    const name = result.requireString("name", { min: 1 });
    const id = result.string("id") ?? "";
    if (this.#calls.isRepeated(id, result.text()))
      return this.#context.notes.warn(path, "converted_content", "is repeated; the copy was left out");
    const toolCallId = this.#calls.take(id, name);
    const value = { toolCallId, ...readResult(result, this.#context) };
    const read = { part: createPart({ part: { case: "toolResult", value } }), path };
    this.messages.push(toReadMessage({ role: Role.TOOL, toolCallId }, path, [read]));
  }
}

/** The calls of one message of the model that have no result yet. Clients may leave out ids, as the API allows. */
class OpenCalls {
  readonly #ids = new Set<string>();
  /** By the plain names of the functions, with the number of ids that were looked at. */
  readonly #byName = new Map<string, { readonly ids: string[]; seen: number }>();
  readonly #results = new Map<string, string>();

  /** Reports whether a result repeats the last one with the same id, as when Gemini CLI resumes a session. */
  isRepeated(id: string, text: string): boolean {
    if (id === "") return false;
    if (this.#results.get(id) === text) return true;
    this.#results.set(id, text);
    return false;
  }

  add(id: string, name: string): void {
    this.#ids.add(id);
    const plain = toPlainName(name);
    const calls = this.#byName.get(plain);
    if (calls === undefined) this.#byName.set(plain, { ids: [id], seen: 0 });
    else calls.ids.push(id);
  }

  /** Returns the id of the call that a result answers: the call with its id, or else the function's first open call. */
  take(id: string, name: string): string {
    if (this.#ids.delete(id)) return id;
    const calls = this.#byName.get(toPlainName(name)) ?? { ids: [], seen: 0 };
    while (calls.seen < calls.ids.length) {
      const next = calls.ids[calls.seen++] ?? "";
      if (this.#ids.delete(next)) return next;
    }
    return id || name;
  }
}

/**
 * Returns a name without its punctuation, by which a result is matched: Semantic Kernel writes `a-b` in calls and
 * `a__b` in results.
 */
function toPlainName(name: string): string {
  return name.replaceAll(/[^A-Za-z0-9]+/g, "_");
}

const OUTPUT_KEYS = ["output", "error"] as const;

/** Reads a result. The API defines the keys `output` and `error` ("FunctionResponse"). */
function readResult(result: ProtoFields, context: ReadingContext) {
  const response = result.object("response");
  const [key] = Object.keys(response?.value ?? {});
  const isSingle = response !== undefined && Object.keys(response.value).length === 1;
  const known = isSingle ? OUTPUT_KEYS.find((each) => each === key) : undefined;
  const value = known === undefined ? undefined : response?.value[known];
  const text = known === undefined ? response?.text() : (asString(value) ?? response?.spelled(known));
  const media = result.messages("parts").map((part) => readInput(part, context));
  const content = text === undefined ? media : [createTextPart(text), ...media];
  return { content, failed: known === "error" };
}

/** Reads a part that the user or a function wrote. */
function readInput(part: ProtoFields, context: ReadingContext): ContentPart {
  const native = isGemini(context) ? readNative(part, context) : undefined;
  if (native !== undefined) return native;
  const read = part.has("text") ? createTextPart(part.requireString("text")) : readMedia(part);
  if (read === undefined) throw unknownData(part);
  for (const name of part.getOthers(READ_FIELDS)) context.notes.warnAboutField(part.at(name));
  return read;
}

function unknownData(part: ProtoFields): Error {
  const [found] = part.getOthers(DESCRIPTIONS);
  const expected = `expected ${joinWords(["text", "inlineData", "fileData", "functionResponse"])}`;
  if (found === undefined)
    return invalidParameter(part.path, "missing_required_parameter", `${expected}, found none`);
  return invalidParameter(
    part.at(found),
    "invalid_value",
    `${expected} for this model, found ${quote(found)}`,
  );
}

/** Returns a part of a kind, or with settings, that only Gemini knows; undefined for others. */
function readNative(part: ProtoFields, { served }: ReadingContext): ContentPart | undefined {
  const [other] = part.getOthers(READ_FIELDS);
  if (other === undefined) return undefined;
  const [kind = other] = part.getOthers(DESCRIPTIONS);
  const value = { provider: served.provider, kind: toJsonName(kind), dataJson: part.text() };
  return createPart({ part: { case: "native", value } });
}

/** Reads `inlineData` and `fileData`; undefined if a part has neither. */
function readMedia(part: ProtoFields): ContentPart | undefined {
  const blob = part.object("inlineData");
  if (blob !== undefined)
    return toMedia(blob.requireString("mimeType", { min: 1, max: 256 }), blob, toData(blob));
  const file = part.object("fileData");
  if (file === undefined) return undefined;
  const uri = file.requireString("fileUri", { min: 1 });
  const mediaType = file.string("mimeType", { max: 256 }) ?? guessMediaType(uri) ?? "";
  const isUrl = /^https?:/i.test(uri);
  return toMedia(mediaType, file, isUrl ? { case: "url", value: uri } : { case: "fileId", value: uri });
}

function toMedia(mediaType: string, media: ProtoFields, source: Image["source"]): ContentPart {
  const [kind = ""] = mediaType.toLowerCase().split("/");
  if (kind === "image") return createPart({ part: { case: "image", value: { mediaType, source } } });
  if (kind === "audio") return createPart({ part: { case: "audio", value: { mediaType, source } } });
  const fileName = media.string("displayName") ?? "";
  return createPart({ part: { case: "document", value: { mediaType, fileName, source } } });
}

/** Bytes are in the standard or the URL-safe alphabet of base64. */
function toData(blob: ProtoFields): Image["source"] {
  const data = blob.requireString("data");
  if (/^[\w+/-]*={0,2}$/.test(data)) return { case: "data", value: Buffer.from(data, "base64") };
  throw invalidParameter(blob.at("data"), "invalid_value", "expected base64, found other characters");
}

/** A text or reasoning part that the next parts may continue. */
interface OpenText {
  readonly kind: "text" | "reasoning";
  readonly part: ContentPart;
}

/** Reads one message of the model, of one or more contents. */
class AnswerReader {
  readonly content: ContentPart[] = [];
  readonly paths: string[] = [];
  readonly #index: number;
  readonly #calls: OpenCalls;
  readonly #context: ReadingContext;
  #open: OpenText | undefined;

  /** @param index Index of the message, for the ids of calls that have none. */
  constructor(index: number, calls: OpenCalls, context: ReadingContext) {
    this.#index = index;
    this.#calls = calls;
    this.#context = context;
  }

  add(part: ProtoFields): void {
    if (part.has("text")) return this.#addText(part);
    const read = part.has("functionCall") ? this.#readCall(part) : this.#readOther(part);
    if (read !== undefined) this.#push(read, part.path);
  }

  /** Clients return a streamed text as one part for each event, and its signature in the last one. */
  #addText(part: ProtoFields): void {
    const text = part.requireString("text");
    const thought = part.boolean("thought") ?? false;
    const signature = readSignature(part, thought ? { thought } : {}, this.#context);
    if (text === "" && signature === undefined) return;
    const kind = thought ? "reasoning" : "text";
    // A text that Gemini signed must be sent back as it was.
    const isSeparate = !thought && signature?.kind === "gemini";
    const open = this.#open?.kind === kind && !isSeparate ? this.#open : this.#begin(kind, part.path);
    extendText(open.part, text);
    if (signature === undefined) return;
    this.#insert(attach(open.part, signature), part.path);
    this.#open = undefined;
  }

  #begin(kind: OpenText["kind"], path: string): OpenText {
    const part =
      kind === "text" ? createTextPart("") : createPart({ part: { case: "reasoning", value: { text: "" } } });
    // Gemini accepts its thoughts back without a signature.
    if (kind === "reasoning" && isGemini(this.#context))
      part.providerState = this.#context.createState({ part: { thought: true } });
    this.#push(part, path);
    this.#open = { kind, part };
    return this.#open;
  }

  #pushAll(parts: readonly ContentPart[], path: string): void {
    for (const part of parts) this.#push(part, path);
  }

  /** Adds reasoning before the last part. */
  #insert(reasoning: readonly ContentPart[], path: string): void {
    this.content.splice(-1, 0, ...reasoning);
    this.paths.splice(-1, 0, ...reasoning.map(() => path));
  }

  #push(part: ContentPart, path: string): void {
    this.content.push(part);
    this.paths.push(path);
    this.#open = undefined;
  }

  #readCall(part: ProtoFields): ContentPart {
    const call = part.object("functionCall") ?? part.missing("functionCall", "an object");
    const name = call.requireString("name", { min: 1 });
    const given = call.string("id") ?? "";
    const id = given || `call_${this.#index}_${this.content.length}`;
    this.#calls.add(id, name);
    const args = call.object("args")?.text() ?? "";
    const value = create(ToolCallSchema, { id, name, input: { case: "argumentsJson", value: args } });
    const read = createPart({ part: { case: "toolCall", value } });
    const functionCall: JsonObject = given === "" || GIVEN_ID.test(given) ? {} : { id: given };
    const signature = readSignature(part, { functionCall }, this.#context);
    if (signature !== undefined) this.#pushAll(attach(read, signature), part.path);
    return read;
  }

  #readOther(part: ProtoFields): ContentPart | undefined {
    const [kind] = part.getOthers(DESCRIPTIONS);
    if (kind === undefined) return undefined;
    const media = readMedia(part);
    const read = media ?? (isGemini(this.#context) ? readNative(part, this.#context) : undefined);
    if (read?.part.case === "image" || read?.part.case === "native") {
      const signature = readSignature(part, {}, this.#context);
      if (signature !== undefined && read.part.case === "image")
        this.#pushAll(attach(read, signature), part.path);
      return read;
    }
    const message = `a part of the kind ${quote(kind)} is not supported by this model; it was left out`;
    this.#context.notes.warn(part.path, "unsupported_content", message);
    return undefined;
  }
}

/** The ids that Outrigger gives to calls without one. These are not sent to Gemini. */
const GIVEN_ID = /^call_[0-9a-f]{32}(_\d+)?$/;

function extendText({ part }: ContentPart, text: string): void {
  if (part.case === "text") part.value += text;
  else if (part.case === "reasoning") part.value.text += text;
}

/**
 * Restores the state of a part from its signature. Some clients move the signature of a thought that they drop to the
 * part after it.
 * @returns Reasoning that belongs before the part, and whose state was in the part's signature.
 */
function attach(part: ContentPart, signature: ReadSignature): readonly ContentPart[] {
  if (signature.kind === "gemini") {
    part.providerState = signature.state;
    return [];
  }
  const isReasoning = part.part.case === "reasoning";
  const reasoning = signature.states.filter((carried) => carried.part === undefined && !isReasoning);
  const carried = signature.states.find((each) => isReasoning || each.part !== undefined);
  if (carried !== undefined) part.providerState = carried.state;
  if (carried !== undefined && part.part.case === "reasoning") {
    part.part.value.text ||= carried.text;
    part.part.value.redacted = carried.redacted;
  }
  return reasoning.map(({ text, redacted, state }) =>
    createPartWithState({ case: "reasoning", value: { text, redacted } }, state),
  );
}
