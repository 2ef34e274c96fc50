import type { Request } from "../gen/outrigger/v1/request_pb.ts";
import { AnswerRelay } from "./answer-relay.ts";
import type { SDKError } from "./errors.ts";

/**
 * The form in which a caller wrote a request. A provider that speaks the caller's API gets it unchanged, except what
 * routing decides, and the answer is relayed as the provider wrote it. It is an option of a call and no part of the
 * contract: with any other provider, and if middleware changed more of the request than its destination, the request is
 * translated and the relay stays empty.
 */
export interface SourceForm {
  /** The caller's API, by the name that a configuration has for it: `anthropic-messages`. */
  readonly api: string;
  /** The request of the contract that was read from the same body. */
  readonly request: Request;
  /** Headers of the caller for the provider, with names in lower case. Never with credentials. */
  readonly headers: Readonly<Record<string, string>>;
  /** Returns the members of the body by their names, as the caller spelled them. */
  readonly getMembers: () => ReadonlyMap<string, string>;
  /** Parts of earlier answers that only the request has. */
  readonly restored: RestoredState;
  /** Why the request cannot be translated. Default: it can. */
  readonly untranslatable?: SDKError | undefined;
  /** Receives the answer. */
  readonly relay: AnswerRelay;
}

/** Parts of earlier answers that clients leave out, and that the sidecar has put back into a request. */
export interface RestoredState {
  /** Reasoning. */
  readonly hasReasoning: boolean;
  /** Signatures and other state of tool calls. */
  readonly hasCallState: boolean;
}

/** Creates the source form of one call. */
export function createSourceForm(form: Omit<SourceForm, "relay">): SourceForm {
  return { ...form, relay: new AnswerRelay() };
}

/** Throws the reason why a request cannot be translated, if there is one. */
export function checkTranslatable({ untranslatable }: SourceForm): void {
  if (untranslatable !== undefined) throw untranslatable;
}

/** Fields of a request that name only its destination. */
const DESTINATION: readonly string[] = ["provider", "model"] satisfies (keyof Request)[];

/**
 * Levels at which middleware may change a request in place (see `copyRequest`): the request, its messages, a message,
 * its parts. Everything below is shared, and replaced as a whole.
 */
const LEVELS = 4;

/** Reports whether a request says the same as the request of the source form, apart from its destination. */
export function isUnchanged(request: Request, { request: original }: SourceForm): boolean {
  return isSame(request, original, LEVELS, DESTINATION);
}

function isSame(left: unknown, right: unknown, levels: number, ignored: readonly string[] = []): boolean {
  if (left === right) return true;
  if (levels === 0 || !isObject(left) || !isObject(right)) return false;
  const keys = Object.keys(left);
  return (
    keys.length === Object.keys(right).length &&
    keys.every((key) => ignored.includes(key) || isSame(left[key], right[key], levels - 1))
  );
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null;
}
