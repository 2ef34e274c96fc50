/**
 * Answers with tool calls that are not stored. Anthropic's models refuse to continue a tool loop without their
 * reasoning, and other models give worse answers, but some clients send `store: false` and return calls without the
 * reasoning items (LlamaIndex, Strands Agents). So these answers are kept in memory for some time, and are found by the
 * `call_id`.
 */
import { fromBinary, toBinary } from "@bufbuild/protobuf";
import { NotFoundError } from "../../core/errors.ts";
import { type Message, MessageSchema } from "../../gen/outrigger/v1/message_pb.ts";
import type { RunOptions } from "../../runs/engine.ts";
import type { MessageSource, MessageWithId } from "./earlier-messages.ts";
import type { CachedResponse, ResponseCache } from "./response-cache.ts";

/** How long an answer is kept after its last use, in milliseconds. A tool may wait for a person's approval. */
export const DEFAULT_KEEP_MS = 3_600_000;

const MAX_ANSWER_BYTES = 4 * 1024 * 1024;

/** Memory of an answer without its content: its object, its ids, and their places in maps. Estimated. */
const OVERHEAD_BYTES = 1024;

/** Options for keeping answers. */
export interface RecentAnswersOptions {
  /** How long an answer is kept after its last use, in milliseconds. 0: nothing is kept. */
  readonly keepMs: number;
  /** Clock, in milliseconds. Default: the monotonic clock of the process. */
  readonly now?: () => number;
}

/** The recent answers that are not stored, each for the access key that it was created with. */
export class RecentAnswers {
  readonly #cache: ResponseCache;
  readonly #keepMs: number;
  readonly #now: () => number;
  /** By owner and message id, the answer that was used longest ago first. */
  readonly #byId = new Map<string, RecentAnswer>();
  /** The latest answer by owner and the id of its first call. */
  readonly #byCall = new Map<string, RecentAnswer>();
  #timer: NodeJS.Timeout | undefined;

  constructor(cache: ResponseCache, { keepMs, now = () => performance.now() }: RecentAnswersOptions) {
    this.#cache = cache;
    this.#keepMs = keepMs;
    this.#now = now;
  }

  /** Returns a function that keeps the answers among the messages of a run. Undefined if nothing is kept. */
  createListener(owner: string): RunOptions["onMessages"] {
    if (this.#keepMs === 0) return undefined;
    return (messages) => {
      for (const { id, message } of messages) if (message !== undefined) this.add(owner, id, message);
    };
  }

  /**
   * Keeps an answer if it has a tool call and data that its provider needs back.
   * @param answerId The answer's id, or a function that creates it, which is called only if the answer is kept.
   */
  add(owner: string, answerId: string | (() => string), message: Message): void {
    const callId = getFirstCall(message);
    if (callId === undefined || !message.content.some((part) => part.providerState !== undefined)) return;
    const content = toBinary(MessageSchema, message);
    if (content.byteLength > MAX_ANSWER_BYTES) return;
    const id = typeof answerId === "string" ? answerId : answerId();
    const [idKey, callKey] = [createKey(owner, id), createKey(owner, callId)];
    const answer: RecentAnswer = {
      owner,
      id,
      content,
      lastUse: this.#now(),
      forget: () => {
        this.#cache.delete(answer);
        this.#byId.delete(idKey);
        if (this.#byCall.get(callKey) === answer) this.#byCall.delete(callKey);
      },
    };
    this.#byId.get(idKey)?.forget();
    if (!this.#cache.add(answer, content.byteLength + OVERHEAD_BYTES)) return;
    this.#byId.set(idKey, answer);
    this.#byCall.set(callKey, answer);
    this.#timer ??= setTimeout(() => this.#expire(), this.#keepMs).unref();
  }

  /** Returns a source of the answers of an access key. */
  createSource(owner: string): MessageSource {
    return {
      getMessage: async (id) => {
        const answer = this.#use(this.#byId.get(createKey(owner, id)));
        if (answer === undefined) throw new NotFoundError(`the recent answer ${id} does not exist`);
        return answer;
      },
      findCall: async (toolCallId) => this.#use(this.#byCall.get(createKey(owner, toolCallId))),
    };
  }

  #use(answer: RecentAnswer | undefined): MessageWithId | undefined {
    if (answer === undefined) return undefined;
    const now = this.#now();
    if (now - answer.lastUse >= this.#keepMs) {
      answer.forget();
      return undefined;
    }
    answer.lastUse = now;
    const idKey = createKey(answer.owner, answer.id);
    this.#byId.delete(idKey);
    this.#byId.set(idKey, answer);
    this.#cache.touch(answer);
    return { id: answer.id, message: fromBinary(MessageSchema, answer.content) };
  }

  /** Drops all answers. */
  close(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    for (const answer of this.#byId.values()) answer.forget();
  }

  /** Drops expired answers, so that none stays in memory if no further requests come. */
  #expire(): void {
    this.#timer = undefined;
    const now = this.#now();
    for (const answer of this.#byId.values()) {
      const rest = answer.lastUse + this.#keepMs - now;
      if (rest > 0) {
        this.#timer = setTimeout(() => this.#expire(), rest).unref();
        return;
      }
      answer.forget();
    }
  }
}

interface RecentAnswer extends CachedResponse {
  readonly id: string;
  /** The message in binary form, so that its size is exactly the counted bytes. */
  readonly content: Uint8Array;
  /** Time of the clock. */
  lastUse: number;
}

function getFirstCall({ content }: Message): string | undefined {
  for (const { part } of content) if (part.case === "toolCall") return part.value.id;
  return undefined;
}

/** Names of access keys have no NUL. */
function createKey(owner: string, id: string): string {
  return `${owner}\0${id}`;
}
