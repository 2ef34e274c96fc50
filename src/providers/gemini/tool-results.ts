/**
 * The results of tool calls -> `functionResponse` parts. All results of one assistant message are in one `user` content
 * directly after it, in the order of its calls.
 */
import { invalidField } from "../../core/errors.ts";
import type { ContentPart, Message, NativePart } from "../../gen/outrigger/v1/message_pb.ts";
import { asString, isJson, type JsonObject } from "../../kit/json/json.ts";
import { sourceObject } from "../../kit/json/json-source.ts";
import type { Content, FunctionCall, Part } from "../../wire/gemini/request.ts";
import type { Untrusted } from "../../wire/untrusted.ts";
import type { RequestContext } from "./context.ts";
import type { MediaContext } from "./media.ts";
import { sameNativePart, toMediaOrNativePart } from "./user-content.ts";

/** A call that waits for its result. */
export interface ExpectedCall {
  /** Id of the call in the messages of the contract. */
  readonly id: string;
  readonly name: string;
  /** Id of the call in the API; undefined if it gave none. */
  readonly nativeId: string | undefined;
  /** Path of the call, for errors. */
  readonly field: string;
}

/** The result of one call, as in a message. */
export interface ToolResultParts {
  readonly id: string;
  readonly parts: PartWithField[];
  isError: boolean;
  /** Path of the result's first part, for errors. */
  readonly field: string;
}

/** A part and its path in the request. */
interface PartWithField {
  readonly part: ContentPart;
  readonly field: string;
}

/** The result of one call, translated. */
interface ToolOutput {
  readonly text: string;
  readonly isError: boolean;
  readonly media: readonly Part[];
  /** A native `functionResponse` part of the caller, which is sent unchanged; undefined if there is none. */
  readonly verbatim: Part | undefined;
}

/**
 * Returns the results in a message of role TOOL, one for each call. Other parts are the result of the call that the
 * message names.
 */
export function collectResults({ toolCallId, content }: Message, field: string): Iterable<ToolResultParts> {
  const results = new Map<string, ToolResultParts>();
  const toResult = (id: string, resultField: string) => {
    const result = results.get(id) ?? { id, parts: [], isError: false, field: resultField };
    results.set(id, result);
    return result;
  };
  if (content.length === 0) toResult(toolCallId, field);
  for (const { part, field: partField } of withFields(content, `${field}.content`)) {
    if (part.part.case !== "toolResult") {
      toResult(toolCallId, partField).parts.push({ part, field: partField });
      continue;
    }
    const { value } = part.part;
    const result = toResult(value.toolCallId || toolCallId, `${partField}.tool_result`);
    for (const entry of withFields(value.content, `${partField}.tool_result.content`))
      result.parts.push(entry);
    result.isError ||= value.failed;
  }
  return results.values();
}

function withFields(content: readonly ContentPart[], field: string): PartWithField[] {
  return content.map((part, index) => ({ part, field: `${field}[${index}]` }));
}

/** A call and, once it has arrived, its result: the response, and parts that follow all responses. */
interface Slot {
  readonly call: ExpectedCall;
  response: Part | undefined;
  following: readonly Part[];
}

/** The results of one assistant message's calls. */
interface ResultContent {
  readonly slots: readonly Slot[];
  readonly parts: Part[];
}

/** Puts the results of a conversation directly after their calls. */
export class ToolResults {
  readonly #context: RequestContext;
  readonly #media: MediaContext;
  readonly #contents: ResultContent[] = [];
  readonly #waiting = new WaitingCalls<Slot>();

  constructor(context: RequestContext, media: MediaContext) {
    this.#context = context;
    this.#media = media;
  }

  /** Creates the content for the results of one assistant message's calls. `end` fills it. */
  expect(calls: readonly ExpectedCall[]): Content {
    const parts: Part[] = [];
    const slots = calls.map((call): Slot => ({ call, response: undefined, following: [] }));
    for (const slot of slots) this.#waiting.add(slot.call.id, slot);
    this.#contents.push({ slots, parts });
    return { role: "user", parts };
  }

  /**
   * Adds a result to the last call with its id that waits for one.
   * @throws InvalidRequestError if no call waits for it.
   */
  async add(result: ToolResultParts): Promise<void> {
    const output = await this.#toOutput(result);
    const slot = this.#waiting.take(result.id);
    if (slot === undefined)
      throw invalidField(`${result.field}.tool_call_id`, "expected the id of a call without a result");
    const { toolResultMedia } = this.#context.traits;
    slot.response = responsePart(slot.call, output, toolResultMedia ? output.media : []);
    if (!toolResultMedia && output.media.length > 0)
      slot.following = [{ text: `From the result of ${slot.call.name}:` }, ...output.media];
  }

  /** Called after the last message. Throws InvalidRequestError naming a call that has no result. */
  end(): void {
    for (const { slots, parts } of this.#contents) {
      for (const slot of slots) parts.push(requireResponse(slot));
      for (const { following } of slots) for (const part of following) parts.push(part);
    }
  }

  /** A native `functionResponse` is the whole result: other parts alongside it are refused. */
  async #toOutput({ parts, isError, field }: ToolResultParts): Promise<ToolOutput> {
    const texts: string[] = [];
    const media: Part[] = [];
    let verbatim: Part | undefined;
    for (const { part: whole, field: partField } of parts) {
      const { part } = whole;
      if (part.case === "text") texts.push(part.value);
      else if (!isFunctionResponse(part)) {
        const translated = await toMediaOrNativePart(whole, partField, this.#context, this.#media);
        if (translated !== undefined) media.push(translated);
      } else if (parts.length === 1) verbatim = sameNativePart(whole, part.value, partField, this.#context);
      else throw invalidField(partField, "expected only a functionResponse part, found other parts");
    }
    if (media.length > 0 && !this.#context.traits.toolResultMedia)
      this.#context.loss.lose(field, "converted_content", MEDIA_FOLLOWS);
    return { text: texts.join("\n"), isError, media, verbatim };
  }
}

const MEDIA_FOLLOWS = "the model does not accept media in a tool result; they were sent after it";

function isFunctionResponse(part: ContentPart["part"]): part is { case: "native"; value: NativePart } {
  return part.case === "native" && part.value.kind === "functionResponse";
}

function requireResponse({ call, response }: Slot): Part {
  if (response === undefined)
    throw invalidField(call.field, "expected a tool result for every call, found none for this call");
  return response;
}

/**
 * Returns a result that is a JSON object or list in that form, with the caller's text: inside a string it would be
 * escaped.
 */
function toStructured(text: string): string | JsonObject {
  const isNested = /^\s*[{[]/.test(text) && isJson(text);
  return isNested ? sourceObject(text.trim()) : text;
}

/** The key says whether the result is output or an error (provider documentation: "FunctionResponse"). */
function responsePart({ name, nativeId }: ExpectedCall, output: ToolOutput, media: readonly Part[]): Part {
  if (output.verbatim !== undefined) return output.verbatim;
  const response = { [output.isError ? "error" : "output"]: toStructured(output.text) };
  const id = nativeId === undefined ? {} : { id: nativeId };
  return { functionResponse: { ...id, name, response, ...(media.length === 0 ? {} : { parts: media }) } };
}

/**
 * Returns the API's id of a call. Undefined for models before Gemini 3, which give none: the ids that callers see for
 * these were generated here, and are not sent.
 */
export function getNativeId(call: Untrusted<FunctionCall>): string | undefined {
  return asString(call.id);
}

/** Finds the calls of a conversation that wait for their results, by the ids that the caller uses. */
class WaitingCalls<Call> {
  /** Ids are unique within one assistant message; of two messages with the same id the later one is found first. */
  readonly #byId = new Map<string, Call[]>();

  /** Adds a call. */
  add(id: string, call: Call): void {
    const calls = this.#byId.get(id);
    if (calls === undefined) this.#byId.set(id, [call]);
    else calls.push(call);
  }

  /** Takes the call that a result belongs to; undefined if no call with that id waits. */
  take(id: string): Call | undefined {
    return this.#byId.get(id)?.pop();
  }
}
