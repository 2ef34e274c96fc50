import { create, isMessage, type MessageInitShape } from "@bufbuild/protobuf";
import { durationFromMs } from "@bufbuild/protobuf/wkt";
import { toJsonText } from "../core/json-text.ts";
import type { MessageInput } from "../core/message.ts";
import { type Request, RequestSchema, type Timeouts } from "../gen/outrigger/v1/request_pb.ts";
import type { ToolSchema } from "../gen/outrigger/v1/tool_pb.ts";
import type { HttpTimeouts } from "../kit/http/timeouts.ts";
import { checkInput, listNames } from "./check-input.ts";
import { Violations } from "./violations.ts";

/** The contract's form of a request as a plain object. */
type RequestInit = Exclude<MessageInitShape<typeof RequestSchema>, Request>;

/** The fields that a plain object has in the contract's form. */
type ContractFields = {
  readonly [Name in keyof RequestInit as Exclude<Name, "$typeName" | keyof LibraryFields>]?:
    | RequestInit[Name]
    | undefined;
};

/** A tool, or a plain object for one. */
export type ToolInput = MessageInitShape<typeof ToolSchema>;

/** Fields whose form in TypeScript differs from the contract. */
interface LibraryFields {
  /** Name of the model. Default: the newest model of the provider in the catalog. docs/models.md has the rule. */
  readonly model?: string | undefined;
  /** The conversation so far, oldest first. */
  readonly messages: readonly MessageInput[];
  /** Tools that the model may call. */
  readonly tools?: readonly ToolInput[] | undefined;
  /** Texts at which the model stops. */
  readonly stopSequences?: readonly string[] | undefined;
  /** Time limits of this call, in milliseconds; those left out are the adapter's. 0 switches one off. */
  readonly timeouts?: Partial<HttpTimeouts> | Timeouts | undefined;
  /** Fields that the contract does not model: by provider, an object that is merged into the body of its request. */
  readonly providerOptions?: Readonly<Record<string, object>> | undefined;
}

/**
 * A Request, or a plain object for one:
 *
 * ```ts
 * const request: RequestInput = {
 *   model: "gpt-5.2",
 *   messages: [userMessage("hi")],
 *   maxTokens: 1000,
 *   timeouts: { requestMs: 30_000 },
 *   providerOptions: { openai: { service_tier: "flex" } },
 * };
 * ```
 */
export interface RequestInput extends ContractFields, LibraryFields {}

/**
 * Converts the request of a TypeScript or JavaScript program to a message. A message is returned as it is.
 * @param names The fields that a program may set, listed in the error about an unknown one.
 * @throws InvalidRequestError with every unknown field and every wrong type in `violations`.
 */
export function toRequest(input: RequestInput, names: readonly string[] = requestFields): Request {
  if (isMessage(input, RequestSchema)) return input;
  const violations = new Violations();
  const fields = contractForm(input, violations);
  checkInput(RequestSchema, fields, "", violations, names);
  violations.throwIfAny();
  // The message is created from exactly the fields that were checked.
  return create(RequestSchema, fields as RequestInit);
}

/** The fields of a request that a program may set. */
export const requestFields: readonly string[] = [...listNames(RequestSchema), "providerOptions"];

/** Returns the input in the contract's form. Values that cannot be converted are left for the check. */
function contractForm(input: unknown, violations: Violations): unknown {
  if (!isRecord(input)) return input;
  const { providerOptions, timeouts, ...rest } = input;
  return {
    ...rest,
    ...(providerOptions === undefined
      ? {}
      : { providerOptionsJson: optionTexts(providerOptions, rest.providerOptionsJson, violations) }),
    ...(timeouts === undefined
      ? {}
      : { timeouts: isRecord(timeouts) ? durations(timeouts, violations) : timeouts }),
  };
}

function optionTexts(options: unknown, texts: unknown, violations: Violations): unknown {
  const given = isRecord(texts) ? texts : {};
  if (!isRecord(options)) {
    violations.add("providerOptions", `expected an object, found a ${typeof options}`);
    return given;
  }
  const written = Object.entries(options).map(([provider, entry]) => {
    const field = `providerOptions[${JSON.stringify(provider.slice(0, 48))}]`;
    if (provider in given)
      violations.add(field, "is also in providerOptionsJson, expected it in only one of them");
    if (!isRecord(entry)) violations.add(field, `expected an object, found a ${typeof entry}`);
    return [provider, toJsonText(entry)];
  });
  return { ...given, ...Object.fromEntries(written) };
}

/** The contract's field of each limit. */
const DURATIONS: Readonly<Record<string, keyof Timeouts>> = {
  connectMs: "connect",
  requestMs: "request",
  betweenBytesMs: "betweenBytes",
};

/** Limits in milliseconds as durations. Other members are passed on. */
function durations(timeouts: Readonly<Record<string, unknown>>, violations: Violations): unknown {
  const entries = Object.entries(timeouts).flatMap(([name, limit]) => {
    const field = DURATIONS[name];
    if (field === undefined && typeof limit === "number") {
      violations.add(`timeouts.${name}`, `expected a Duration, found ${limit}; ${name}Ms takes milliseconds`);
      return [];
    }
    if (field === undefined) return [[name, limit] as const];
    if (limit === undefined) return [];
    if (typeof limit === "number" && limit >= 0 && limit < Infinity)
      return [[field, durationFromMs(Math.ceil(limit))] as const];
    violations.add(`timeouts.${name}`, `expected milliseconds, at least 0, found ${found(limit)}`);
    return [];
  });
  return Object.fromEntries(entries);
}

function found(value: unknown): string {
  return typeof value === "number" ? String(value) : `a ${typeof value}`;
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
