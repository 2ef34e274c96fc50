import { create } from "@bufbuild/protobuf";
import {
  type ContentPart,
  type Message,
  MessageSchema,
  Role,
  type ToolResult,
} from "../../gen/outrigger/v1/message_pb.ts";
import type { NewMessage } from "../../runs/engine.ts";
import type { Fields } from "./fields.ts";
import { type ItemPlace, placeOfItem } from "./ids.ts";
import { partOf, type ReadPart } from "./read-content.ts";

/** Where a message is in the body. */
export interface MessagePaths {
  readonly path: string;
  readonly parts: readonly string[];
}

/** A part of the model in an item with an id of this API. */
export interface IdentifiedPart {
  readonly part: ContentPart;
  readonly place: ItemPlace;
}

interface Draft extends NewMessage {
  readonly message: Message;
  readonly path: string;
  readonly parts: string[];
}

/** The messages of an input under construction. Items of the model that follow each other are one message. */
export class MessageDrafts {
  readonly #drafts: Draft[] = [];
  readonly #identified: IdentifiedPart[] = [];
  /** The assistant's message that further items of its turn join. */
  #turn: Draft | undefined;
  #span: ContentPart[] = [];

  /** The messages so far. */
  get messages(): readonly NewMessage[] {
    return this.#drafts.map(({ message, originJson }) => ({ message, originJson }));
  }

  /** Where they are in the body. */
  get paths(): readonly MessagePaths[] {
    return this.#drafts;
  }

  /** The parts of the model whose items have ids of this API. */
  get identified(): readonly IdentifiedPart[] {
    return this.#identified;
  }

  /** The model's parts since the last message of another role, without tool results. Append-only. */
  get span(): readonly ContentPart[] {
    return this.#span;
  }

  /** Adds a message of another role than the assistant. @param originJson See ThreadMessage. */
  add(role: Role, parts: readonly ReadPart[], path: string, originJson = ""): void {
    const message = create(MessageSchema, { role, content: parts.map(({ part }) => part) });
    this.addWhole(
      message,
      path,
      parts.map((part) => part.path),
      originJson,
    );
  }

  /** Adds the result of a tool. @param originJson See ThreadMessage. */
  addResult(value: ToolResult, path: string, originJson = ""): void {
    const content = [partOf({ part: { case: "toolResult", value } })];
    const message = create(MessageSchema, { role: Role.TOOL, toolCallId: value.toolCallId, content });
    this.addWhole(message, path, [path], originJson);
  }

  /** Adds a message as it is. */
  addWhole(message: Message, path: string, parts: string[], originJson = ""): void {
    this.#turn = undefined;
    if (message.role !== Role.TOOL) this.#span = [];
    this.#drafts.push({ message, path, parts, originJson });
  }

  /** Adds a part to what the model produced in its turn. @param item The item that it came in. */
  addToTurn(part: ContentPart, item: Fields, path = item.path): void {
    const turn = this.#turn ?? this.#begin(item.path);
    turn.message.content.push(part);
    this.#span.push(part);
    turn.parts.push(path);
    const id = item.get("id");
    const place = typeof id === "string" ? placeOfItem(id) : undefined;
    if (place !== undefined) this.#identified.push({ part, place });
  }

  #begin(path: string): Draft {
    const message = create(MessageSchema, { role: Role.ASSISTANT });
    const turn = { message, path, parts: [], originJson: "" };
    this.#drafts.push(turn);
    this.#turn = turn;
    return turn;
  }
}
