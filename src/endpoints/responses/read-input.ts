/** `input` -> messages. The model's output in one turn becomes one message of the assistant. */
import { create } from "@bufbuild/protobuf";
import { type ContentPart, Role } from "../../gen/outrigger/v1/message_pb.ts";
import { type ToolApproval, ToolApprovalSchema } from "../../gen/outrigger/v1/run_pb.ts";
import { decodeExactBase64 } from "../../kit/media/exact-base64.ts";
import type { NewMessage } from "../../runs/engine.ts";
import type { InputItem } from "../../wire/openai-responses/request.ts";
import { createMessage, createTextPart } from "../answers/create-request.ts";
import { EarlierMessages } from "../answers/earlier-messages.ts";
import { type Element, Fields, invalidParameter, joinWords, quote } from "../openai/fields.ts";
import { parseItemId } from "../openai/ids.ts";
import { decodeCompaction } from "./compaction.ts";
import { MessageDrafts, type MessagePaths, type ModelTurn } from "./message-drafts.ts";
import { type CarriedState, createEmptyPart, StateAttacher } from "./provider-state.ts";
import { readCall, readResult, readServerCall, readServerResult } from "./read-calls.ts";
import {
  createNativePart,
  createPart,
  isInputPart,
  type ReadPart,
  readContent,
  readInputPart,
  readOutputPart,
} from "./read-content.ts";
import { getProviderId, ReasoningReader } from "./read-reasoning.ts";
import type { ReadingContext } from "./reading-context.ts";
import { PartRestorer } from "./restore-parts.ts";

/** The input of a request. */
export interface ReadInput {
  readonly messages: readonly NewMessage[];
  /** Paths of the messages and of their parts in the body. */
  readonly paths: readonly MessagePaths[];
  /** Answers to calls that needed the caller's approval. */
  readonly approvals: readonly ToolApproval[];
  /** The ids of the approval requests that were answered with yes, by the ids of their calls. */
  readonly approved: Readonly<Record<string, string>>;
  /** Whether reasoning was put back that the client had left out. */
  readonly restoresReasoning: boolean;
}

/**
 * Reads `input`, or the items of a conversation.
 * @param name Name of the field.
 * @param getContext Returns the context for reading items. Not called for a text.
 */
export async function readInput(
  fields: Fields,
  name: string,
  getContext: () => ReadingContext,
): Promise<ReadInput> {
  if (typeof fields.get(name) !== "string")
    return new InputReader(getContext()).read(fields.list(name, {}, "a text or a list of items") ?? []);
  const path = fields.at(name);
  const content = [createTextPart(fields.requireString(name))];
  const messages = [{ message: createMessage({ role: Role.USER, content }), originJson: "" }];
  return {
    messages,
    paths: [{ path, parts: [path] }],
    approvals: [],
    approved: {},
    restoresReasoning: false,
  };
}

/** Items of the model that only OpenAI's API knows. */
const MODEL_ITEMS = [
  "file_search_call",
  "computer_call",
  "web_search_call",
  "tool_search_call",
  "tool_search_output",
  "code_interpreter_call",
  "local_shell_call",
  "shell_call",
  "apply_patch_call",
  "program",
  "program_output",
] satisfies InputItem["type"][];

/** Items of the caller that only OpenAI's API knows. */
const CALLER_ITEMS = [
  "computer_call_output",
  "local_shell_call_output",
  "shell_call_output",
  "apply_patch_call_output",
  "additional_tools",
  "configuration_update",
] satisfies InputItem["type"][];

/** Items of the caller that stand for a part of the conversation, so that omitting them would change it. */
const VITAL_ITEMS = ["compaction", "compaction_trigger"] satisfies InputItem["type"][];

const KNOWN_ITEMS: readonly string[] = [
  "message",
  "reasoning",
  "function_call",
  "function_call_output",
  "custom_tool_call",
  "custom_tool_call_output",
  "item_reference",
  "image_generation_call",
  "mcp_list_tools",
  "mcp_call",
  "mcp_approval_request",
  "mcp_approval_response",
  ...MODEL_ITEMS,
  ...CALLER_ITEMS,
  ...VITAL_ITEMS,
];

const modelItems: ReadonlySet<string> = new Set(MODEL_ITEMS);
const callerItems: ReadonlySet<string> = new Set(CALLER_ITEMS);
const vitalItems: ReadonlySet<string> = new Set(VITAL_ITEMS);

const ROLES = {
  user: Role.USER,
  system: Role.SYSTEM,
  developer: Role.DEVELOPER,
  assistant: Role.ASSISTANT,
} as const;

const ROLE_NAMES = ["user", "system", "developer", "assistant"] as const;

class InputReader {
  readonly #context: ReadingContext;
  readonly #drafts = new MessageDrafts();
  readonly #reasoning: ReasoningReader;
  readonly #states = new StateAttacher();
  readonly #kept: EarlierMessages;
  readonly #approvals: ToolApproval[] = [];
  /**
   * The items that were referenced. Each may be referenced once, since a reference adds a whole item: a small request
   * could become a huge one.
   */
  readonly #references = new Set<string>();
  readonly #approved = new Map<string, string>();
  /** The latest message with reasoning that has one of OpenAI's ids. */
  #reasoned: ModelTurn | undefined;
  /** Ids of the tool searches that the client runs. */
  readonly #searches: Set<string>;
  /** Ids of the approval requests among the items. */
  readonly #requests = new Set<string>();

  constructor(context: ReadingContext) {
    this.#context = context;
    this.#reasoning = new ReasoningReader(context);
    this.#kept = new EarlierMessages(context.messages);
    this.#searches = new Set(context.searches);
  }

  async read(elements: readonly Element[]): Promise<ReadInput> {
    let loose: ReadPart[] = [];
    for (const element of elements) {
      const fields = Fields.of(element);
      if (isInputPart(fields.get("type"))) {
        loose.push(readInputPart(element, this.#context));
        continue;
      }
      this.#addLoose(loose);
      loose = [];
      await this.#addItem(fields);
    }
    this.#addLoose(loose);
    const { isStateful, conversation, served, recent } = this.#context;
    const sources = [recent && new EarlierMessages(recent)];
    // A request that neither is stored nor continues stored ones does not need the store.
    if (isStateful || conversation !== undefined) sources.push(this.#kept);
    const known = sources.filter((source) => source !== undefined);
    const restorer = new PartRestorer(known, served);
    if (known.length > 0) await restorer.restore(this.#drafts, conversation);
    const { messages, paths } = this.#drafts;
    const approved = Object.fromEntries(this.#approved);
    return { messages, paths, approvals: this.#approvals, approved, restoresReasoning: restorer.hasAdded };
  }

  /** Parts directly in the list of items form a message of the user. */
  #addLoose(parts: readonly ReadPart[]): void {
    const [first] = parts;
    if (first !== undefined) this.#drafts.add(Role.USER, parts, first.path);
  }

  async #addItem(item: Fields): Promise<void> {
    const type = getType(item);
    switch (type) {
      case "message":
        return this.#addMessage(item);
      case "reasoning":
        return this.#addReasoning(item);
      case "function_call":
      case "custom_tool_call":
        return this.#drafts.addToTurn(readCall(item, this.#context, this.#idBesideReasoning(item)), item);
      case "function_call_output":
        return this.#addOutput(item);
      case "custom_tool_call_output":
        return this.#drafts.addResult(readResult(item, this.#context), item.path, item.text());
      case "image_generation_call":
        return this.#drafts.addToTurn(imagePart(item), item);
      case "item_reference":
        return await this.#addReference(item);
      case "mcp_approval_response":
        return await this.#addApproval(item);
      default:
        if (!this.#addServerItem(item, type)) this.#addOther(item, type);
    }
  }

  /** Adds the output of a call. Only OpenAI's API knows the output of a tool search that the client runs. */
  #addOutput(item: Fields): void {
    const result = readResult(item, this.#context);
    if (this.#searches.has(result.toolCallId)) this.#addNative(item);
    else this.#drafts.addResult(result, item.path);
  }

  #addMessage(item: Fields): void {
    const role = ROLES[item.word("role", ROLE_NAMES) ?? item.missing("role", joinWords(ROLE_NAMES))];
    if (role === Role.ASSISTANT) return this.#addAnswer(item);
    const parts = readContent(item, "content", readInputPart, this.#context);
    if (parts.length === 0)
      throw invalidParameter(item.at("content"), "invalid_value", "is empty, expected a part");
    this.#drafts.add(role, parts, item.path, parts.some(isNative) ? item.text() : "");
  }

  #addAnswer(item: Fields): void {
    const [id, phase] = [this.#idBesideReasoning(item), item.string("phase")];
    const fields = { ...(id && { id }), ...(phase !== undefined && { phase }) };
    for (const { part, path } of readContent(item, "content", readOutputPart, this.#context)) {
      if (Object.keys(fields).length > 0 || part.citations.length > 0) this.#keepFields(part, fields);
      this.#drafts.addToTurn(part, item, path);
    }
  }

  /** Stores the fields of a text that only OpenAI's API knows: its phase, its id, and the form of its sources. */
  #keepFields(part: ContentPart, fields: object): void {
    const item = { type: "message", role: "assistant", status: "completed", ...fields };
    const type = part.refusal ? "refusal" : "output_text";
    const state = this.#context.toModelState({ item, part: { type } });
    if (state !== undefined) part.providerState = state;
  }

  /**
   * Returns OpenAI's id of an item that follows reasoning with such an id: the API accepts both ids or neither. All
   * other ids are left out, since the API may not know them, such as ids of another account.
   */
  #idBesideReasoning(item: Fields): string | undefined {
    const isBeside = this.#reasoned !== undefined && this.#drafts.turn === this.#reasoned;
    return isBeside ? getProviderId(item, this.#context) : undefined;
  }

  #addReasoning(item: Fields): void {
    const { parts, carried } = this.#reasoning.read(item);
    for (const part of parts) this.#drafts.addToTurn(part, item);
    const hasId = parts.length > 0 && getProviderId(item, this.#context) !== undefined;
    if (hasId) this.#reasoned = this.#drafts.turn;
    for (const state of this.#states.attach(this.#drafts.span, carried)) this.#addLeft(state, item);
  }

  /** Adds the part of a state that belongs to an empty text, which has no item. Otherwise warns of a missing item. */
  #addLeft(state: CarriedState, item: Fields): void {
    const part = createEmptyPart(state);
    if (part !== undefined) return this.#drafts.addToTurn(part, item);
    const message = "the item that this state belongs to is missing or was changed; the state was left out";
    this.#context.notes.warn(item.path, "foreign_state_stripped", message);
  }

  /** Adds an item about a tool of an MCP server. Returns whether the item is one. */
  #addServerItem(item: Fields, type: string): boolean {
    // The tools of a server are listed again, or taken from the stored conversation.
    if (type === "mcp_list_tools") return true;
    if (type !== "mcp_call" && type !== "mcp_approval_request") return false;
    this.#drafts.addToTurn(readServerCall(item, this.#context), item);
    if (type === "mcp_call") this.#drafts.addResult(readServerResult(item), item.path);
    else this.#requests.add(item.requireString("id"));
    return true;
  }

  async #addApproval(item: Fields): Promise<void> {
    const id = item.requireString("approval_request_id", { min: 1 });
    const approve = item.boolean("approve") ?? item.missing("approve", "true or false");
    const reason = item.string("reason") ?? "";
    const toolCallId = this.#requests.has(id) ? id : await this.#findCall(id, item.at("approval_request_id"));
    this.#approvals.push(create(ToolApprovalSchema, { toolCallId, approve, reason }));
    if (approve) this.#approved.set(toolCallId, id);
  }

  /** Returns the id of the call that an approval request of an earlier response is about. */
  async #findCall(id: string, path: string): Promise<string> {
    const location = parseItemId(id);
    const message = location && (await this.#kept.find(location, id, path));
    const part = location && message?.content[location.part]?.part;
    if (part?.case === "toolCall") return part.value.id;
    throw invalidParameter(path, "invalid_value", `${quote(id)} is not the id of a request for approval`);
  }

  async #addReference(item: Fields): Promise<void> {
    const id = item.requireString("id", { min: 1 });
    const location = parseItemId(id);
    if (location === undefined) return this.#addForeignReference(item, id);
    const message = await this.#kept.find(location, id, item.at("id"));
    if (message.role !== Role.ASSISTANT) {
      this.#checkRepetition(location.messageId, id, item);
      return this.#drafts.addWhole(
        message,
        item.path,
        message.content.map(() => item.path),
      );
    }
    this.#checkRepetition(`${location.messageId}/${location.part}`, id, item);
    const part = message.content[location.part];
    // A reasoning item that only carries state is not a part, because the stored parts have their state.
    if (part !== undefined) this.#drafts.addToTurn(part, item);
  }

  #checkRepetition(target: string, id: string, item: Fields): void {
    if (this.#references.has(target))
      throw invalidParameter(
        item.at("id"),
        "invalid_value",
        `${quote(id)} is referenced twice, expected once`,
      );
    this.#references.add(target);
  }

  #addForeignReference(item: Fields, id: string): void {
    if (this.#context.isOpenAi) return this.#drafts.addToTurn(createNativePart(item), item);
    const message = `${quote(id)} is not the id of an item of an earlier response`;
    throw invalidParameter(item.at("id"), "invalid_value", message);
  }

  /** Adds an item that only OpenAI's API knows. The adapter of another API leaves it out with a warning. */
  #addOther(item: Fields, type: string): void {
    if (type.includes(":")) return this.#drafts.addToTurn(extensionPart(item, type), item);
    if (type === "tool_search_call") this.#searches.add(item.string("call_id") ?? "");
    if (modelItems.has(type)) return this.#drafts.addToTurn(createNativePart(item), item);
    if (vitalItems.has(type)) return this.#addVital(item, type);
    if (callerItems.has(type)) return this.#addNative(item);
    throw invalidParameter(
      item.at("type"),
      "invalid_value",
      `expected ${joinWords(KNOWN_ITEMS)}, found ${quote(type)}`,
    );
  }

  #addVital(item: Fields, type: string): void {
    const summary =
      type === "compaction" ? decodeCompaction(item.requireString("encrypted_content")) : undefined;
    if (summary !== undefined)
      return this.#drafts.add(
        Role.USER,
        [{ part: createTextPart(summary), path: item.path }],
        item.path,
        item.text(),
      );
    if (this.#context.isOpenAi) return this.#addNative(item);
    const problem = `cannot be read by the model's provider, and the conversation would be incomplete without it`;
    throw invalidParameter(item.path, "unsupported_value", `an item of type ${quote(type)} ${problem}`);
  }

  #addNative(item: Fields): void {
    const part = { part: createNativePart(item), path: item.path };
    this.#drafts.add(Role.USER, [part], item.path, item.text());
  }
}

function isNative({ part }: ReadPart): boolean {
  return part.part.case === "native";
}

/** Returns the type of an item. An item without a type is a message, or a reference if it has only an id. */
function getType(item: Fields): string {
  const type = item.string("type");
  if (type !== undefined) return type;
  if (item.has("role")) return "message";
  return item.has("id") ? "item_reference" : item.missing("type", joinWords(KNOWN_ITEMS));
}

/**
 * Creates a part for an image that a model generated. Without its bytes, only the API that created it can identify it.
 */
function imagePart(item: Fields): ContentPart {
  const value = decodeExactBase64(item.string("result"));
  if (value === undefined) return createNativePart(item);
  const mediaType = `image/${item.string("output_format", { max: 32 }) ?? "png"}`;
  return createPart({ part: { case: "image", value: { mediaType, source: { case: "data", value } } } });
}

/** Creates a part for a block of another provider, whose item has the type `provider:kind`. */
function extensionPart(item: Fields, type: string): ContentPart {
  const colon = type.indexOf(":");
  if (!item.has("data")) item.missing("data", "the block of the provider");
  const value = {
    provider: type.slice(0, colon),
    kind: type.slice(colon + 1),
    dataJson: item.spelled("data"),
  };
  return createPart({ part: { case: "native", value } });
}
