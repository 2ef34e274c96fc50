/** Reasoning items -> reasoning parts, and the state of other parts that they carry. */
import type { ContentPart, ProviderState } from "../../gen/outrigger/v1/message_pb.ts";
import { objectsIn, textIn } from "../../kit/json/json.ts";
import type { ReasoningPart } from "../../wire/openai-responses/items.ts";
import { type Fields, invalidParameter } from "../openai/fields.ts";
import { parseItemId } from "../openai/ids.ts";
import { type CarriedState, countStateValues, decodeStates, isCarried } from "./provider-state.ts";
import { createPart } from "./read-content.ts";
import type { ReadingContext } from "./reading-context.ts";

/** The content of a reasoning item. */
export interface ReadReasoning {
  /** The reasoning itself. */
  readonly parts: readonly ContentPart[];
  /** State of parts before the item. */
  readonly carried: readonly CarriedState[];
}

/** Maximum number of JSON values in all states of a request: as many as a whole request may have by default. */
const MAX_STATE_VALUES = 250_000;

/** Reads the reasoning items of one request. */
export class ReasoningReader {
  readonly #context: ReadingContext;
  #values = 0;

  constructor(context: ReadingContext) {
    this.#context = context;
  }

  /** Reads an item. */
  read(item: Fields): ReadReasoning {
    const encrypted = item.string("encrypted_content");
    const text = toText(item);
    if (encrypted === undefined || !isCarried(encrypted))
      return { parts: this.#foreign(item, encrypted, text), carried: [] };
    const states = this.#decode(encrypted, item.at("encrypted_content"));
    const reasoning = states.filter(({ part }) => part === undefined);
    const parts = reasoning.map(({ state, text: kept, redacted }) =>
      createPart({
        part: { case: "reasoning", value: { text: kept || text, redacted } },
        providerState: state,
      }),
    );
    return { parts, carried: states.filter(({ part }) => part !== undefined) };
  }

  /** Reasoning that did not come from this API, or had no state. */
  #foreign(item: Fields, encrypted: string | undefined, text: string): ContentPart[] {
    const part = createPart({ part: { case: "reasoning", value: { text, redacted: text === "" } } });
    if (encrypted !== undefined || getProviderId(item, this.#context) !== undefined)
      part.providerState = this.#toState(item);
    // Without text, state or id there is nothing to send or to look up.
    return encrypted === undefined && text === "" && !item.has("id") ? [] : [part];
  }

  /** Converts OpenAI's encrypted reasoning. If another API serves the model, its adapter decides about the state. */
  #toState({ value: item }: Fields): ProviderState {
    const dataJson = JSON.stringify({ item });
    const state = this.#context.toModelState({ item });
    return state ?? { $typeName: "outrigger.v1.ProviderState", provider: "openai", model: "", dataJson };
  }

  #decode(encrypted: string, path: string): readonly CarriedState[] {
    const states = decodeStates(encrypted, MAX_STATE_VALUES - this.#values);
    for (const state of states ?? [])
      this.#values += countStateValues(state, MAX_STATE_VALUES - this.#values);
    if (states !== undefined && this.#values <= MAX_STATE_VALUES) return states;
    const expected = `expected the value from an earlier response, and at most ${MAX_STATE_VALUES} JSON values in all items`;
    throw invalidParameter(path, "invalid_value", `was changed or truncated, or is too large; ${expected}`);
  }
}

/** Returns the id that OpenAI gave an item. Undefined if this API issued the id, or another API serves the model. */
export function getProviderId(item: Fields, { isOpenAi }: ReadingContext): string | undefined {
  const id = item.get("id");
  return isOpenAi && typeof id === "string" && parseItemId(id) === undefined ? id : undefined;
}

/** Joins the parts of the summary and then the reasoning itself, with a blank line between them. */
function toText(item: Fields): string {
  const parts = ["summary", "content"].flatMap((name) => objectsIn<ReasoningPart>(item.get(name)));
  const texts = parts.map(({ text }) => textIn(text)).filter((text) => text !== "");
  return texts.join("\n\n").toWellFormed();
}
