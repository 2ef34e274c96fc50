import { type ContentPart, type Message, Role, type ToolResult } from "../../gen/outrigger/v1/message_pb.ts";
import type { NewMessage } from "../../runs/engine.ts";
import { createMessage } from "../answers/create-request.ts";
import type { Fields } from "../openai/fields.ts";
import { type ItemLocation, parseItemId } from "../openai/ids.ts";
import { createPart, type ReadPart } from "./read-content.ts";

/** The paths of a message in the body. */
export interface MessagePaths {
  readonly path: string;
  readonly parts: readonly string[];
}

/** A part that the model wrote, as returned by a client. */
export interface ReturnedPart {
  readonly part: ContentPart;
  /** The location of the stored part, if its item has an id of this API. */
  readonly location: ItemLocation | undefined;
}

/** A message of the model, as returned by a client. */
export class ModelTurn {
  readonly message = createMessage({ role: Role.ASSISTANT, content: [] });
  /** Path of its first item. */
  readonly path: string;
  /** Paths of its parts. */
  readonly parts: string[] = [];
  readonly originJson = "";
  readonly returned: ReturnedPart[] = [];

  constructor(path: string) {
    this.path = path;
  }

  add(returned: ReturnedPart, path: string): void {
    this.message.content.push(returned.part);
    this.parts.push(path);
    this.returned.push(returned);
  }

  /** Adds a part next to a returned one. */
  insert(part: ContentPart, neighbour: ReturnedPart, side: "before" | "after"): void {
    let index = this.message.content.indexOf(neighbour.part);
    const path = this.parts[index] ?? this.path;
    if (side === "after") index += 1;
    this.message.content.splice(index, 0, part);
    this.parts.splice(index, 0, path);
  }

  /** Removes a part. */
  remove({ part }: ReturnedPart): void {
    const index = this.message.content.indexOf(part);
    if (index < 0) return;
    this.message.content.splice(index, 1);
    this.parts.splice(index, 1);
  }

  /** Removes all reasoning. */
  removeReasoning(): void {
    for (const returned of this.returned) if (returned.part.part.case === "reasoning") this.remove(returned);
  }
}

/** A message of an input. */
export interface Draft extends NewMessage {
  readonly message: Message;
  readonly path: string;
  readonly parts: string[];
}

/** The messages of an input under construction. Consecutive items of the model form one message. */
export class MessageDrafts {
  #drafts: Draft[] = [];
  readonly #turns: ModelTurn[] = [];
  /** The assistant's message that further items of the turn are added to. */
  #turn: ModelTurn | undefined;
  #span: ContentPart[] = [];

  /** The messages so far. */
  get messages(): readonly NewMessage[] {
    return this.#drafts.map(({ message, originJson }) => ({ message, originJson }));
  }

  /** The paths of the messages in the body. */
  get paths(): readonly MessagePaths[] {
    return this.#drafts;
  }

  /** The messages so far, with their locations. */
  get all(): readonly Draft[] {
    return this.#drafts;
  }

  /** The message that further items of the model are added to. Undefined if they begin a new message. */
  get turn(): ModelTurn | undefined {
    return this.#turn;
  }

  /** The messages of the model. */
  get turns(): readonly ModelTurn[] {
    return this.#turns;
  }

  /** The model's parts since the last message of another role, without tool results. Append-only. */
  get span(): readonly ContentPart[] {
    return this.#span;
  }

  /** Removes messages. */
  remove(drafts: ReadonlySet<Draft>): void {
    this.#drafts = this.#drafts.filter((draft) => !drafts.has(draft));
  }

  /** Adds a message of another role than the assistant. @param originJson See StoredMessage. */
  add(role: Role, parts: readonly ReadPart[], path: string, originJson = ""): void {
    const message = createMessage({ role, content: parts.map(({ part }) => part) });
    this.addWhole(
      message,
      path,
      parts.map((part) => part.path),
      originJson,
    );
  }

  /** Adds the result of a tool. @param originJson See StoredMessage. */
  addResult(value: ToolResult, path: string, originJson = ""): void {
    const content = [createPart({ part: { case: "toolResult", value } })];
    const message = createMessage({ role: Role.TOOL, toolCallId: value.toolCallId, content });
    this.addWhole(message, path, [path], originJson);
  }

  /** Adds a message unchanged. */
  addWhole(message: Message, path: string, parts: string[], originJson = ""): void {
    this.#turn = undefined;
    if (message.role !== Role.TOOL) this.#span = [];
    this.#drafts.push({ message, path, parts, originJson });
  }

  /** Adds a part to the model's output in its turn. @param item The item that contains the part. */
  addToTurn(part: ContentPart, item: Fields, path = item.path): void {
    const turn = this.#turn ?? this.#begin(item.path);
    const id = item.get("id");
    turn.add({ part, location: typeof id === "string" ? parseItemId(id) : undefined }, path);
    this.#span.push(part);
  }

  #begin(path: string): ModelTurn {
    const turn = new ModelTurn(path);
    this.#drafts.push(turn);
    this.#turns.push(turn);
    this.#turn = turn;
    return turn;
  }
}
