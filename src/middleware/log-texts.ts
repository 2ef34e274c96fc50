import { type ContentPart, type Message, RoleSchema } from "../gen/outrigger/v1/message_pb.ts";
import type { Request } from "../gen/outrigger/v1/request_pb.ts";
import type { Response } from "../gen/outrigger/v1/response_pb.ts";

/** A message in the form for logs. */
export interface LoggedMessage {
  /** `system`, `user`, `assistant`, `tool` or `developer`. */
  readonly role: string;
  readonly text: string;
}

/**
 * Matches texts that look like a key: of the providers, of AWS, GitHub and Slack, JSON web tokens, and bearer tokens.
 */
const KEYS =
  /\b(?:[spr]k[-_]|AIza|AKIA|gh[pousr]_|xox[abprs]-|eyJ[\w-]{8,}\.)[\w.-]{12,}|\b(bearer\s+)[\w.~+/-]{12,}=*/gi;

/** The limit of a text may cut a key, so keys are also searched in this many further characters. */
const OVERLAP = 1024;

/** The texts of calls, bounded and without keys. */
export class LogTexts {
  readonly #maxLength: number;
  readonly #redact: (text: string) => string;

  /**
   * @param redact Changes texts from which keys were removed.
   */
  constructor(maxLength: number, redact: (text: string) => string = (text) => text) {
    this.#maxLength = maxLength;
    this.#redact = redact;
  }

  /** Returns the latest messages whose texts together are within the limit, in their order. */
  logMessages({ messages }: Request): LoggedMessage[] {
    const logged: LoggedMessage[] = [];
    let left = this.#maxLength;
    for (let index = messages.length - 1; index >= 0 && left > 0; index -= 1) {
      const message = messages[index];
      if (message === undefined) break;
      const text = this.#clean(collectTexts(message.content), left);
      logged.unshift({ role: getRoleName(message), text });
      left -= Math.max(1, text.length);
    }
    return logged;
  }

  logAnswer({ message }: Response): string {
    return this.#clean(collectTexts(message?.content ?? []), this.#maxLength);
  }

  #clean(texts: Iterable<string>, length: number): string {
    let text = "";
    for (const piece of texts) {
      text += piece.slice(0, length + OVERLAP - text.length);
      if (text.length >= length + OVERLAP) break;
    }
    const withoutKeys = text.replace(KEYS, (_key, bearer: string | undefined) => `${bearer ?? ""}[redacted]`);
    return this.#redact(withoutKeys).slice(0, length).toWellFormed();
  }
}

function getRoleName({ role }: Message): string {
  return (RoleSchema.value[role]?.localName ?? "unknown").toLowerCase();
}

/** Yields the texts of parts, and the kind of a part instead of its bytes. */
function* collectTexts(parts: readonly ContentPart[]): Generator<string> {
  for (const { part } of parts) {
    switch (part.case) {
      case "text":
        yield part.value;
        break;
      case "reasoning":
        yield part.value.text;
        break;
      case "toolCall":
        yield `${part.value.name}(${part.value.input.value ?? ""})`;
        break;
      case "toolResult":
        yield* collectTexts(part.value.content);
        break;
      default:
        yield `[${part.case ?? "empty"}]`;
    }
  }
}
