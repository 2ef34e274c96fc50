/**
 * The data that a provider needs back, in the `thoughtSignature` of the part that it belongs to. Clients of Gemini
 * return signatures unchanged. Gemini's models get the fields that they wrote. For models of other providers, the
 * signature is the state of the part, in base64 as in the API, since some clients decode it.
 */
import type { ContentPart, ProviderState } from "../../gen/outrigger/v1/message_pb.ts";
import { dataOfState } from "../../kit/adapter/part-state.ts";
import { asObject, type JsonObject } from "../../kit/json/json.ts";
import { type CarriedState, encodeReasoning, encodeTogether } from "../responses/provider-state.ts";
import type { ReadingContext } from "../stateless/reading-context.ts";
import type { ProtoFields } from "./fields.ts";

/** Reports whether the provider of the model speaks the Gemini API itself. */
export function isGemini({ served }: ReadingContext): boolean {
  return served.api === "gemini";
}

/** The first bytes of encoded state, and the characters with which their base64 begins, whatever follows. */
const MARK = Buffer.from("or1.");
const MARK_BASE64 = "b3IxL";

/**
 * Writes the state of one answer's parts. The state of thoughts that have no text, or that the caller does not get, is
 * in the signature of the text or the call after them, as in Gemini's answers: some clients drop a call without a
 * signature if another part has one, and Google's client for Go forgets an answer that has a part without text.
 */
export class StateFields {
  readonly #hidesThoughts: boolean;
  /** The first reasoning part with state: whether other parts need their ids depends on it. */
  #reasoning: readonly ContentPart[] = [];
  /** Thoughts whose state is written with the next part that can take it. */
  #hidden: ContentPart[] = [];

  /** @param hidesThoughts Whether the caller does not get thoughts. */
  constructor(hidesThoughts: boolean) {
    this.#hidesThoughts = hidesThoughts;
  }

  /** Returns the fields of a wire part besides its content. Must be called for all parts in their order. */
  write(part: ContentPart): JsonObject {
    const { case: kind, value } = part.part;
    if (kind === "reasoning" && part.providerState !== undefined && this.#reasoning.length === 0)
      this.#reasoning = [part];
    const fields = getGeminiFields(part.providerState);
    if (fields !== undefined) return fields;
    if (kind === "reasoning") {
      if (!this.#hidesThoughts && value.text !== "") return toFields(encodeReasoning(part));
      this.#hidden.push(part);
      return {};
    }
    const takesHidden = kind === "toolCall" || (kind === "text" && value !== "");
    const hidden = takesHidden ? this.#hidden.splice(0) : [];
    return toFields(encodeTogether(hidden, [...this.#reasoning, part]));
  }

  /** Returns the state of the thoughts at the end of an answer as a part; undefined if there is none. */
  end(): JsonObject | undefined {
    const fields = toFields(encodeTogether(this.#hidden.splice(0), []));
    return "thoughtSignature" in fields ? { text: "", thought: true, ...fields } : undefined;
  }
}

function toFields(state: string | null): JsonObject {
  return state === null ? {} : { thoughtSignature: toSignature(state) };
}

/** Returns the fields that Gemini wrote alongside a part's content; undefined for parts of other providers. */
function getGeminiFields(state: ProviderState | undefined): JsonObject | undefined {
  const { item, part } = dataOfState(state);
  return item === undefined ? asObject(part) : undefined;
}

function toSignature(state: string): string {
  const bytes = Buffer.from(state.slice(MARK.length), "base64url");
  return Buffer.concat([MARK, bytes]).toString("base64");
}

/** The signature of a part that a client returned. */
export type ReadSignature =
  | { readonly kind: "gemini"; readonly state: ProviderState }
  | { readonly kind: "carried"; readonly states: readonly CarriedState[] };

/** Values that clients send in place of a missing signature, so that the API does not refuse the part. */
const PLACEHOLDERS: readonly string[] = [
  "skip_thought_signature_validator",
  "context_engineering_is_the_way_to_go",
].flatMap((text) => [text, Buffer.from(text).toString("base64")]);

/**
 * Reads the signature of a part. Undefined if it has none.
 * @param rest Fields that Gemini needs back with it.
 */
export function readSignature(
  part: ProtoFields,
  rest: JsonObject,
  context: ReadingContext,
): ReadSignature | undefined {
  const thoughtSignature = part.string("thoughtSignature") ?? "";
  if (thoughtSignature === "" || PLACEHOLDERS.includes(thoughtSignature)) return undefined;
  if (thoughtSignature.startsWith(MARK_BASE64)) {
    const bytes = Buffer.from(thoughtSignature, "base64");
    const data = `${MARK.toString()}${bytes.subarray(MARK.length).toString("base64url")}`;
    return { kind: "carried", states: context.readCarried(data, part.at("thoughtSignature")) };
  }
  const provider = isGemini(context) ? context.served.provider : "gemini";
  const state = context.createState({ part: { ...rest, thoughtSignature } }, provider);
  return { kind: "gemini", state };
}
