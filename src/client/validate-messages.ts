import {
  type Audio,
  type ContentPart,
  type Document,
  type Image,
  type Message,
  Role,
  RoleSchema,
  type ToolCall,
  type ToolResult,
} from "../gen/outrigger/v1/message_pb.ts";
import { checkJson, listNames, quote, type Violations } from "./violations.ts";

/** The parts that a message of each role accepts (see `Role` in the contract). */
const LIMITS: ReadonlyMap<Role, PartLimits> = new Map([
  [Role.SYSTEM, createLimits(Role.SYSTEM, "text")],
  [Role.DEVELOPER, createLimits(Role.DEVELOPER, "text")],
  [Role.USER, createLimits(Role.USER, "text", "image", "audio", "document", "native")],
  [Role.ASSISTANT, createLimits(Role.ASSISTANT, "text", "image", "toolCall", "reasoning", "native")],
  [Role.TOOL, createLimits(Role.TOOL, "text", "toolResult", "native")],
]);

/** Which parts the answer to a tool call may hold (`ToolResult.content` in the contract). */
const RESULT_LIMITS: PartLimits = {
  allowed: new Set<PartKind>(["text", "image", "document", "native"]),
  place: "a tool result",
};

/** The state of a conversation that its message checks depend on. */
export interface ConversationState {
  /** Whether the provider stores earlier messages, whose tool calls the results here may answer. */
  readonly open: boolean;
  /** Whether calls may be answered later. Default false. */
  readonly continues?: boolean;
}

/** Checks messages, in one pass. */
export function checkMessages(
  messages: readonly Message[],
  { open, continues = false }: ConversationState,
  violations: Violations,
): void {
  // Most conversations have no tool calls.
  let calls: ToolCalls | undefined;
  for (const [index, message] of messages.entries()) {
    const field = `messages[${index}]`;
    const { role, content, toolCallId } = message;
    const limits = LIMITS.get(role);
    if (limits === undefined) {
      const found = RoleSchema.value[role]?.name ?? role;
      violations.add(`${field}.role`, `expected ${listNames(RoleSchema)}, found ${found}`);
      continue;
    }
    if (role !== Role.ASSISTANT) calls?.endTurn();
    if (role === Role.TOOL) {
      calls ??= new ToolCalls(open, violations);
      calls.addToolMessage(message, field);
    } else checkEnvelope(message, field, violations);
    for (const [partIndex, whole] of content.entries()) {
      const partField = `${field}.content[${partIndex}]`;
      const { part } = whole;
      checkPart(whole, partField, limits, violations);
      if (part.case === "toolCall" && role === Role.ASSISTANT) {
        calls ??= new ToolCalls(open, violations);
        calls.add(part.value, `${partField}.tool_call`);
      } else if (part.case === "toolResult" && role === Role.TOOL) {
        calls?.addResult(part.value.toolCallId, `${partField}.tool_result.tool_call_id`);
        checkToolResult(part.value, `${partField}.tool_result`, toolCallId, violations);
      }
    }
  }
  if (!continues) calls?.end();
}

function checkEnvelope({ role, content, toolCallId }: Message, field: string, violations: Violations): void {
  if (toolCallId !== "")
    violations.add(`${field}.tool_call_id`, "expected nothing unless the role is ROLE_TOOL");
  // An answer without any content exists, and comes back in the history.
  if (content.length === 0 && role !== Role.ASSISTANT)
    violations.add(`${field}.content`, "is empty, expected at least one part");
}

/**
 * Checks a tool result alone.
 * @param outerId Id of the call in the message that holds the result; empty if it has none.
 */
export function checkToolResult(
  { toolCallId, content }: ToolResult,
  field: string,
  outerId: string,
  violations: Violations,
): void {
  if (outerId !== "" && toolCallId !== "" && outerId !== toolCallId) {
    const expected = `${quote(outerId)} as in the message`;
    violations.add(`${field}.tool_call_id`, `expected ${expected}, found ${quote(toolCallId)}`);
  }
  for (const [index, part] of content.entries())
    checkPart(part, `${field}.content[${index}]`, RESULT_LIMITS, violations);
}

function createLimits(role: Role, ...kinds: PartKind[]): PartLimits {
  return {
    allowed: new Set(kinds),
    place: `a message of the role ${RoleSchema.value[role]?.localName.toLowerCase()}`,
  };
}

/**
 * The tool calls of a conversation. Checks that each has exactly one result after it. Providers disagree on how to
 * handle others: some refuse the request, some ignore a result, and some answer as if the tool had returned nothing.
 */
class ToolCalls {
  readonly #open: boolean;
  readonly #violations: Violations;
  /** Ids of the calls of the assistant's current turn. */
  readonly #turn = new Set<string>();
  /** Ids of all calls so far, and of the results that answer calls of an earlier part of the conversation. */
  readonly #known = new Set<string>();
  /** Paths of the calls that have no result yet, by id. Ids may repeat in later turns. */
  readonly #waiting = new Map<string, string[]>();

  /**
   * @param open Whether the results may also answer calls of an earlier part of the conversation, which the provider
   *   stores.
   */
  constructor(open: boolean, violations: Violations) {
    this.#open = open;
    this.#violations = violations;
  }

  /** Called with each message that is not the assistant's. */
  endTurn(): void {
    this.#turn.clear();
  }

  /** Records a call, and checks it. @param field Its path. */
  add(call: ToolCall, field: string): void {
    const { id, name, input } = call;
    if (id === "") this.#violations.add(`${field}.id`, "is empty, expected the id for the result");
    else if (this.#turn.has(id)) {
      this.#violations.add(`${field}.id`, `${quote(id)} is the id of an earlier call of the same turn`);
    }
    this.#turn.add(id);
    if (id !== "") this.#await(id, field);
    if (name === "") this.#violations.add(`${field}.name`, "is empty, expected the name of a tool");
    // Some models write no arguments at all for a tool without parameters.
    if (input.case === "argumentsJson" && input.value !== "" && !call.argumentsInvalid)
      checkJson(input.value, `${field}.arguments_json`, this.#violations);
  }

  #await(id: string, field: string): void {
    this.#known.add(id);
    const waiting = this.#waiting.get(id);
    if (waiting === undefined) this.#waiting.set(id, [field]);
    else waiting.push(field);
  }

  /** Records a message of ROLE_TOOL: either the whole message is the result of a call, or each of its parts. */
  addToolMessage({ content, toolCallId }: Message, field: string): void {
    if (content.every(({ part }) => part.case !== "toolResult"))
      return this.addResult(toolCallId, `${field}.tool_call_id`);
    // A text alongside results would belong to no result.
    for (const [index, { part }] of content.entries())
      if (part.case === "text")
        this.#violations.add(
          `${field}.content[${index}].text`,
          "is next to tool results, expected it in the content of one of them",
        );
  }

  /** Records a result, which belongs to the latest call with its id that waits for one. @param field Path of the id. */
  addResult(id: string, field: string): void {
    if (id === "") {
      this.#violations.add(field, "is empty, expected the id of the answered tool call");
    } else if (this.#waiting.get(id)?.pop() === undefined) {
      this.#checkUnexpected(id, field);
    }
  }

  /** Called after the last message: reports the calls without a result. */
  end(): void {
    for (const [id, fields] of this.#waiting)
      for (const field of fields)
        this.#violations.add(field, `${quote(id)} has no result, expected one in a later message`);
  }

  #checkUnexpected(id: string, field: string): void {
    if (this.#known.has(id)) {
      this.#violations.add(field, `${quote(id)} already has a result, expected one for each tool call`);
    } else if (!this.#open) {
      this.#violations.add(field, `${quote(id)} is not the id of an earlier tool call`);
    }
    if (this.#open) this.#known.add(id);
  }
}

/** The kinds of part that the contract knows. */
type PartKind = NonNullable<ContentPart["part"]["case"]>;

/** The kinds of part that one position accepts. */
interface PartLimits {
  readonly allowed: ReadonlySet<PartKind>;
  /** The position, for the error: `a message of the role user`. */
  readonly place: string;
}

/** Proto names of the parts. */
const PART_NAMES: Readonly<Record<PartKind, string>> = {
  text: "text",
  image: "image",
  audio: "audio",
  document: "document",
  toolCall: "tool_call",
  toolResult: "tool_result",
  reasoning: "reasoning",
  native: "native",
};

/** Checks whether a part is allowed at its position, and its content. Tool calls and results are checked elsewhere. */
function checkPart(whole: ContentPart, field: string, limits: PartLimits, violations: Violations): void {
  const { part, providerState } = whole;
  if (part.case === undefined) {
    violations.add(field, `is empty, expected one of ${listKinds(limits)}`);
  } else if (!limits.allowed.has(part.case)) {
    violations.add(
      `${field}.${PART_NAMES[part.case]}`,
      `does not belong in ${limits.place}, which takes ${listKinds(limits)}`,
    );
  } else if (part.case === "text") {
    if (!part.value.isWellFormed()) violations.add(`${field}.text`, "contains an unpaired surrogate");
  } else if (part.case === "native") {
    checkJson(part.value.dataJson, `${field}.native.data_json`, violations);
  } else if (part.case === "image" || part.case === "audio" || part.case === "document") {
    checkMedia(part.value, `${field}.${part.case}`, violations);
  }
  if (providerState !== undefined) {
    checkJson(providerState.dataJson, `${field}.provider_state.data_json`, violations);
  }
}

function listKinds({ allowed }: PartLimits): string {
  return [...allowed].map((kind) => PART_NAMES[kind]).join(", ");
}

function checkMedia(media: Image | Audio | Document, field: string, violations: Violations): void {
  const { source } = media;
  if (source.case === undefined) {
    violations.add(field, "has no source, expected url, data or file_id");
  } else if (source.value.length === 0) {
    violations.add(`${field}.${source.case === "fileId" ? "file_id" : source.case}`, "is empty");
  } else if (source.case === "data" && media.$typeName === "outrigger.v1.Audio" && media.mediaType === "") {
    violations.add(`${field}.media_type`, "is empty, expected a media type such as audio/wav with data");
  }
}
