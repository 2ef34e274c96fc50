/**
 * Restores data of the model's stored or recent messages that clients do not return. Some return all items but only the
 * fields that they know, some drop the ids of items, some return a call with its `call_id` and nothing else. A message
 * is found by the id of an item or of a call; its parts are then recognized by their content.
 */
import { isDeepStrictEqual } from "node:util";
import { getCatalogProvider } from "../../client/providers.ts";
import { type ContentPart, type Message, Role, type ToolCall } from "../../gen/outrigger/v1/message_pb.ts";
import { readCustomInput } from "../../kit/adapter/custom-tool.ts";
import { getOrigin } from "../../kit/adapter/state-origin.ts";
import { asObject, tryParseJson, without } from "../../kit/json/json.ts";
import type { EarlierMessage, EarlierMessages } from "../answers/earlier-messages.ts";
import type { ServedModel } from "../models/model-directory.ts";
import { type Draft, type MessageDrafts, ModelTurn, type ReturnedPart } from "./message-drafts.ts";
import type { ContinuedConversation } from "./read-history.ts";
import { removeRepeatedItems } from "./repeated-items.ts";

/** A part that the client returned, and the message that it is from. */
interface FoundPart {
  readonly turn: ModelTurn;
  readonly returned: ReturnedPart;
}

/** A message of an earlier response. */
class FoundMessage {
  readonly id: string;
  readonly content: readonly ContentPart[];
  /** The parts that the client returned, by their indices. */
  readonly parts = new Map<number, FoundPart>();
  /** Indices of its parts by their keys, the last one first. */
  readonly #indices = new Map<string, number[]>();
  /** Indices of its calls by their ids. */
  readonly #calls = new Map<string, number>();

  constructor({ id, message }: EarlierMessage) {
    this.id = id;
    this.content = message.content;
    for (const [index, part] of [...message.content.entries()].reverse()) {
      for (const key of createKeys(part)) this.#add(key, index);
      if (part.part.case === "toolCall") this.#calls.set(part.part.value.id, index);
    }
  }

  has(key: string): boolean {
    return this.#indices.has(key);
  }

  /** Index of the first part with a key that has not been returned yet. */
  next(key: string): number | undefined {
    const indices = this.#indices.get(key) ?? [];
    for (let index = indices.pop(); index !== undefined; index = indices.pop())
      if (!this.parts.has(index)) return index;
    return undefined;
  }

  /** Index of a call. Undefined if the message does not have it, or another turn has returned it. */
  findCall({ part }: ContentPart, turn: ModelTurn): number | undefined {
    const index = part.case === "toolCall" ? this.#calls.get(part.value.id) : undefined;
    const kept = this.content[index ?? -1]?.part;
    if (index === undefined || part.case !== "toolCall" || kept?.case !== "toolCall") return undefined;
    const isTaken = (this.parts.get(index)?.turn ?? turn) !== turn;
    return isTaken || !isSameCall(part.value, kept.value) ? undefined : index;
  }

  #add(key: string, index: number): void {
    const indices = this.#indices.get(key);
    if (indices === undefined) this.#indices.set(key, [index]);
    else indices.push(index);
  }
}

/** Restores the model's messages of one request. */
export class PartRestorer {
  readonly #sources: readonly EarlierMessages[];
  readonly #served: ServedModel;
  readonly #found = new Map<string, FoundMessage>();
  /** The message that the parts of a turn are from. */
  readonly #origins = new Map<ModelTurn, FoundMessage>();
  #hasAdded = false;

  /** @param sources Sources of messages, which are searched in this order. */
  constructor(sources: readonly EarlierMessages[], served: ServedModel) {
    this.#sources = sources;
    this.#served = served;
  }

  /** Whether parts were added that the client had left out. */
  get hasAdded(): boolean {
    return this.#hasAdded;
  }

  /**
   * Restores the data that stored parts have in addition to their content, and adds parts that clients do not return.
   * Leaves out messages that the conversation already has.
   * @param conversation The conversation that the request continues.
   */
  async restore(drafts: MessageDrafts, conversation: ContinuedConversation | undefined): Promise<void> {
    // The latest first: they matter most if the request looks up too much.
    for (const turn of drafts.turns.toReversed()) await this.#matchTurn(turn);
    this.#joinTurns(drafts);
    const repeated = conversation && (await removeRepeatedItems(drafts, this.#found, conversation));
    for (const [id, found] of this.#found) if (repeated?.has(id) !== true) this.#addMissing(found);
  }

  async #matchTurn(turn: ModelTurn): Promise<void> {
    const sources = new Set<FoundMessage>();
    const loose: ReturnedPart[] = [];
    for (const returned of turn.returned) {
      const found = await this.#findMessage(returned, sources);
      if (found !== undefined) sources.add(found);
      const { location } = returned;
      if (found === undefined || location?.messageId !== found.id || isEmptyText(returned.part))
        loose.push(returned);
      else this.#take(found, { turn, returned }, location.part);
    }
    for (const returned of loose) this.#matchByContent(sources, { turn, returned });
  }

  /** Joins the calls of a message that the client returned in several turns, each with its result. */
  #joinTurns(drafts: MessageDrafts): void {
    const joined = new Set<Draft>();
    let first: ModelTurn | undefined;
    for (const draft of drafts.all) {
      if (draft.message.role === Role.TOOL) continue;
      const turn = draft instanceof ModelTurn ? draft : undefined;
      if (first !== undefined && turn !== undefined && this.#moveCalls(turn, first)) joined.add(turn);
      else first = turn;
    }
    drafts.remove(joined);
  }

  /** Moves the calls of a turn to another one. Returns false if it has other parts than calls of the same message. */
  #moveCalls(turn: ModelTurn, first: ModelTurn): boolean {
    const origin = this.#origins.get(first);
    const { content } = turn.message;
    const remaining = new Set(content);
    const calls = turn.returned.filter(({ part }) => remaining.has(part));
    const indices = calls.map(({ part }) => origin?.findCall(part, turn));
    if (origin === undefined || calls.length < content.length || indices.includes(undefined)) return false;
    for (const [position, returned] of calls.entries()) {
      first.add(returned, turn.parts[position] ?? turn.path);
      const index = indices[position] ?? -1;
      origin.parts.delete(index);
      this.#take(origin, { turn: first, returned }, index);
    }
    return true;
  }

  async #findMessage(
    { part: { part }, location }: ReturnedPart,
    sources: ReadonlySet<FoundMessage>,
  ): Promise<FoundMessage | undefined> {
    if (location !== undefined) {
      const { messageId } = location;
      const found = await this.#find((source) => source.withId(messageId));
      if (found !== undefined) return found;
    }
    if (part.case !== "toolCall") return undefined;
    const call = part.value;
    const isKnown = [...sources].some((source) => source.has(callKey(call.id)));
    if (isKnown) return undefined;
    // Some servers number the calls of each conversation from the start, so an id alone may find another call.
    return this.#find(
      (source) => source.withCall(call.id),
      (message) => hasCall(message, call),
    );
  }

  async #find(
    lookUp: (source: EarlierMessages) => Promise<EarlierMessage | undefined>,
    matches: (message: Message) => boolean = () => true,
  ): Promise<FoundMessage | undefined> {
    for (const source of this.#sources) {
      const kept = await lookUp(source);
      if (kept !== undefined && matches(kept.message)) return this.#register(kept);
    }
    return undefined;
  }

  #register(kept: EarlierMessage): FoundMessage {
    const known = this.#found.get(kept.id);
    if (known !== undefined) return known;
    const found = new FoundMessage(kept);
    this.#found.set(kept.id, found);
    return found;
  }

  #matchByContent(sources: ReadonlySet<FoundMessage>, found: FoundPart): void {
    const [key = ""] = createKeys(found.returned.part);
    for (const source of sources) {
      const index = source.next(key);
      if (index !== undefined) return this.#take(source, found, index);
    }
  }

  /** Records that a part was returned, and restores it if it is unchanged, since a signature covers its content. */
  #take(message: FoundMessage, found: FoundPart, index: number): void {
    const stored = message.content[index];
    if (stored === undefined && isCarrier(found.returned.part)) found.turn.remove(found.returned);
    if (stored === undefined || message.parts.has(index)) return;
    message.parts.set(index, found);
    this.#origins.set(found.turn, message);
    if (isSame(found.returned.part, stored)) restorePart(found.returned.part, stored);
  }

  /** Adds the parts of a message that have no item, or whose items clients leave out, if the model needs them back. */
  #addMissing({ content, parts }: FoundMessage): void {
    const returned = [...parts.keys()].sort((left, right) => left - right);
    for (const [index, part] of content.entries()) {
      if (parts.has(index) || !isLeftOut(part) || !this.#isFromModel(part)) continue;
      const next = returned.find((each) => each > index);
      const neighbour = parts.get(next ?? returned.at(-1) ?? -1);
      neighbour?.turn.insert(part, neighbour.returned, next === undefined ? "after" : "before");
      this.#hasAdded ||= neighbour !== undefined;
    }
  }

  /** Reports whether the model that serves the request wrote a part. */
  #isFromModel(part: ContentPart): boolean {
    const { provider, model, api } = this.#served;
    const catalog = (api && getCatalogProvider(api)) ?? provider;
    return getOrigin(part, { owners: [provider, catalog], model, catalog }) === "current_model";
  }
}

/** Returns the keys by which a part is recognized. A returned part is looked up by its first key. */
function createKeys({ part }: ContentPart): readonly string[] {
  switch (part.case) {
    case "text":
      return [`text ${part.value}`];
    case "reasoning":
      // Some clients return it without its text.
      return part.value.text === "" ? ["reasoning"] : [`reasoning ${part.value.text}`, "reasoning"];
    case "toolCall":
      return [callKey(part.value.id)];
    case "native":
      return [`${part.value.kind} ${JSON.stringify(withoutId(part.value.dataJson))}`];
    default:
      return [];
  }
}

function callKey(id: string): string {
  return `call ${id}`;
}

/** The item of a block of OpenAI's API has an id of this API, so ids are not compared. */
function withoutId(dataJson: string): unknown {
  const block = asObject(tryParseJson(dataJson));
  return block === undefined ? dataJson : without(block, "id");
}

/** Reports whether clients may leave out a part: reasoning, or an empty text. */
function isLeftOut(part: ContentPart): boolean {
  if (part.providerState === undefined) return false;
  return part.part.case === "reasoning" || isEmptyText(part);
}

/** Reports whether a part is an empty text. It has no item: the item with its id only carries its state. */
function isEmptyText({ part }: ContentPart): boolean {
  return part.case === "text" && part.value === "";
}

/** Reports whether a part comes from an item that only carries state, which the stored parts already have. */
function isCarrier({ part }: ContentPart): boolean {
  return part.case === "reasoning" && part.value.text === "";
}

/** Reports whether the client returned the content unchanged. */
function isSame({ part: returned }: ContentPart, { part: kept }: ContentPart): boolean {
  switch (kept.case) {
    case "reasoning":
      // Clients return a reasoning item without its text if they do not know the field that has it.
      return returned.case === "reasoning" && ["", kept.value.text].includes(returned.value.text);
    case "toolCall":
      return returned.case === "toolCall" && isSameCall(returned.value, kept.value);
    case "native":
      return (
        returned.case === "native" &&
        isDeepStrictEqual(withoutId(returned.value.dataJson), withoutId(kept.value.dataJson))
      );
    default:
      return isDeepStrictEqual(returned, kept);
  }
}

function hasCall({ content }: Message, call: ToolCall): boolean {
  return content.some(
    ({ part }) => part.case === "toolCall" && part.value.id === call.id && isSameCall(call, part.value),
  );
}

/** Items of MCP servers do not show the id of the call. Some clients drop the namespace of a tool. */
function isSameCall(returned: ToolCall, kept: ToolCall): boolean {
  const isNamed = returned.name === kept.name || kept.name.endsWith(`__${returned.name}`);
  return isNamed && isSameInput(returned, kept);
}

/** Some clients parse the arguments and serialize them again. A custom tool may be a function for the provider. */
function isSameInput(returned: ToolCall, kept: ToolCall): boolean {
  const [input = "", keptInput = ""] = [returned.input.value, kept.input.value];
  if (returned.input.case === "text" && kept.input.case !== "text")
    return input === readCustomInput(keptInput);
  if (returned.input.case !== kept.input.case) return false;
  if (input === keptInput) return true;
  const value = tryParseJson(input);
  return value !== undefined && isDeepStrictEqual(value, tryParseJson(keptInput));
}

/** Replaces a part with the stored one. A call keeps the returned id, since the results refer to it. */
function restorePart(returned: ContentPart, kept: ContentPart): void {
  const id = returned.part.case === "toolCall" ? returned.part.value.id : "";
  returned.part =
    kept.part.case === "toolCall" ? { case: "toolCall", value: { ...kept.part.value, id } } : kept.part;
  returned.citations = kept.citations;
  returned.refusal = kept.refusal;
  if (kept.providerState !== undefined) returned.providerState = kept.providerState;
}
