/**
 * The results of tool calls -> `functionResponse` parts. All results of one turn of the model
 * stand in one user content right behind it, in the order of its calls.
 */

import { invalidField } from "../../core/errors.ts";
import type { ContentPart, Message } from "../../gen/outrigger/v1/message_pb.ts";
import type { JsonObject } from "../../kit/json/json.ts";
import type { Content, Part } from "./wire.ts";

/** A call that waits for its result. */
export interface ExpectedCall {
  /** Our id of it. */
  readonly id: string;
  readonly name: string;
  /** The API's own id; undefined where it gave none. */
  readonly nativeId: string | undefined;
  /** Path of the call, for errors. */
  readonly field: string;
}

/** What a tool gave. */
export interface ToolOutput {
  readonly text: string;
  readonly isError: boolean;
  readonly media: readonly Part[];
  /** The whole `functionResponse` part in the caller's own words; undefined where it leaves that to us. */
  readonly verbatim: Part | undefined;
}

/** What a message says of one call. */
export interface Answer {
  readonly id: string;
  readonly parts: PlacedPart[];
  isError: boolean;
  /** Path of where it begins, for errors. */
  readonly field: string;
}

/** A part and its path in the request. */
export interface PlacedPart {
  readonly part: ContentPart;
  readonly field: string;
}

/** The answers in a message of role TOOL, each call once. Parts that are no `tool_result` answer the call that the message names. */
export function answersIn({ toolCallId, content }: Message, field: string): Iterable<Answer> {
  const answers = new Map<string, Answer>();
  const answerTo = (id: string, place: string) => {
    const answer = answers.get(id) ?? { id, parts: [], isError: false, field: place };
    answers.set(id, answer);
    return answer;
  };
  if (content.length === 0) answerTo(toolCallId, field);
  for (const { part, field: place } of placed(content, `${field}.content`)) {
    if (part.part.case !== "toolResult") {
      answerTo(toolCallId, field).parts.push({ part, field: place });
      continue;
    }
    const { value } = part.part;
    const answer = answerTo(value.toolCallId || toolCallId, `${place}.tool_result`);
    answer.parts.push(...placed(value.content, `${place}.tool_result.content`));
    answer.isError ||= value.isError;
  }
  return answers.values();
}

function placed(content: readonly ContentPart[], field: string): PlacedPart[] {
  return content.map((part, index) => ({ part, field: `${field}[${index}]` }));
}

/** A call and, once it came, what answers it: the response, and parts that go behind all responses. */
interface Slot {
  readonly call: ExpectedCall;
  response: Part | undefined;
  behind: readonly Part[];
}

/** Brings the results of a conversation behind the calls that they answer. */
export class ToolResults {
  readonly #turns: { readonly slots: readonly Slot[]; readonly parts: Part[] }[] = [];
  /** By the id of the call. Ids are unique within a turn; of two turns the later one is answered first. */
  readonly #waiting = new Map<string, Slot[]>();

  /** The content for the results of one turn's calls. It is filled at the end. */
  expect(calls: readonly ExpectedCall[]): Content {
    const parts: Part[] = [];
    const slots = calls.map((call): Slot => ({ call, response: undefined, behind: [] }));
    for (const slot of slots)
      this.#waiting.set(slot.call.id, [...(this.#waiting.get(slot.call.id) ?? []), slot]);
    this.#turns.push({ slots, parts });
    return { role: "user", parts };
  }

  /**
   * Adds a result to the last call that waits for it.
   * @param holdsMedia Whether a response can hold images and documents; else they go behind all responses of the turn.
   * @throws InvalidRequestError where no call waits for it.
   */
  answer(id: string, output: ToolOutput, holdsMedia: boolean, field: string): void {
    const slot = this.#waiting.get(id)?.pop();
    if (slot === undefined)
      throw invalidField(`${field}.tool_call_id`, "expected the id of a call that waits for its result");
    slot.response = responsePart(slot.call, output, holdsMedia ? output.media : []);
    if (!holdsMedia && output.media.length > 0)
      slot.behind = [{ text: `From the result of ${slot.call.name}:` }, ...output.media];
  }

  /** Called after the last message. Throws InvalidRequestError naming a call without a result, which the API refuses. */
  end(): void {
    for (const { slots, parts } of this.#turns)
      parts.push(...slots.map(responseIn), ...slots.flatMap(({ behind }) => behind));
  }
}

function responseIn({ call, response }: Slot): Part {
  if (response === undefined)
    throw invalidField(call.field, "expected a tool's result for every call, found none for this one");
  return response;
}

/** The API tells output and error apart by the key (provider documentation: "FunctionResponse"). */
function responsePart({ name, nativeId }: ExpectedCall, output: ToolOutput, media: readonly Part[]): Part {
  if (output.verbatim !== undefined) return output.verbatim;
  const response: JsonObject = { [output.isError ? "error" : "output"]: output.text };
  const id = nativeId === undefined ? {} : { id: nativeId };
  return { functionResponse: { ...id, name, response, ...(media.length === 0 ? {} : { parts: media }) } };
}
