/** Requests of callers who speak the Responses API themselves, and who store nothing. */
import { acceptsSampling, type ModelTraits } from "../../catalog/model-traits.ts";
import type { Request } from "../../gen/outrigger/v1/request_pb.ts";
import type { SourceProtocol } from "../../kit/adapter/http-adapter.ts";
import { requestsStream, writeMembers, writeSourceBody } from "../../kit/adapter/source-body.ts";
import { asObject, asString, tryParseJson } from "../../kit/json/json.ts";
import { splitElements, toMembers } from "../../kit/json/json-source.ts";
import type { SseEvent } from "../../kit/stream/sse.ts";
import type { StreamEvent } from "../../wire/openai-responses/stream.ts";
import { acceptsCallId } from "./context.ts";
import { ENCRYPTED_REASONING, RESPONSES_PATH } from "./request.ts";

/** @param store Whether the provider is asked to keep all responses, which the caller's request rules out. */
export function createSourceProtocol(store: boolean): SourceProtocol {
  return {
    api: "openai-responses",
    toWire({ headers, restored, getMembers }, request, streaming, models) {
      const traits = models.traitsOf(request.model);
      if (store || restored.hasReasoning || isRefused(request, traits)) return undefined;
      const members = getMembers();
      const input = members.get("input") ?? "";
      if (requestsStream(members) !== streaming || PARSED.test(input)) return undefined;
      const changes = {
        ...askForReasoning(members, traits),
        ...leaveOutIds(input),
      };
      const body = writeSourceBody(members, request, changes);
      return { path: RESPONSES_PATH, headers, body, warnings: [], relay: { reportsFailure, isThrown } };
    },
  };
}

/** Matches members that the official SDKs add to the items of answers. The API refuses them. */
const PARSED = /"parsed(?:_arguments)?"\s*:/;

/**
 * Reports whether the API is known to refuse settings with the model, or ids of calls, which are longer from other
 * providers.
 */
function isRefused(request: Request, traits: ModelTraits): boolean {
  const { temperature, topP, reasoningEffort, messages } = request;
  const hasSampling = temperature !== undefined || topP !== undefined;
  const takesCalls = messages.every(({ content }) =>
    content.every(({ part }) => part.case !== "toolCall" || acceptsCallId(part.value.id)),
  );
  return !takesCalls || (hasSampling && !acceptsSampling(traits, reasoningEffort));
}

/**
 * Asks for the encrypted content of reasoning, unless the request does or the model is known not to reason: it is not
 * stored, so the conversation could not be continued otherwise.
 */
function askForReasoning(
  members: ReadonlyMap<string, string>,
  { reasoningControl }: ModelTraits,
): Readonly<Record<string, string>> {
  const asked: unknown = tryParseJson(members.get("include") ?? "null") ?? [];
  if (reasoningControl === "none" || !Array.isArray(asked) || asked.includes(ENCRYPTED_REASONING)) return {};
  return { include: JSON.stringify([...asked, ENCRYPTED_REASONING]) };
}

/** Beginnings of the ids of items. The API refuses others, such as those that agents give to messages. */
const ID_PREFIXES: Readonly<Record<string, string>> = {
  message: "msg",
  reasoning: "rs",
  function_call: "fc",
  custom_tool_call: "ctc",
};

/** Matches an id with another beginning, if there is one. */
const OTHER_ID = new RegExp(`"id"\\s*:\\s*"(?!${Object.values(ID_PREFIXES).join("|")})`);

/** Leaves out the ids that the API is known to refuse. @param input JSON text of the field. */
function leaveOutIds(input: string): Readonly<Record<string, string>> {
  if (!OTHER_ID.test(input)) return {};
  const items = splitElements(input).map((item) => {
    const members = toMembers(item);
    const type = read(members, "type") ?? (members.has("role") ? "message" : "");
    const prefix = Object.hasOwn(ID_PREFIXES, type) ? ID_PREFIXES[type] : undefined;
    const isTaken = prefix === undefined || (read(members, "id") ?? prefix).startsWith(prefix);
    return isTaken ? item : writeMembers([...members].filter(([name]) => name !== "id"));
  });
  return { input: `[${items.join(",")}]` };
}

function read(members: ReadonlyMap<string, string>, name: string): string | undefined {
  return asString(tryParseJson(members.get(name) ?? "null"));
}

/** Types of the events that report a failure. */
const FAILURES: readonly (string | undefined)[] = [
  "error",
  "response.failed",
] satisfies StreamEvent["type"][];

/** Some servers name the event only in its data. */
function reportsFailure({ type, data }: SseEvent): boolean {
  if (FAILURES.includes(type)) return true;
  const event = asObject<StreamEvent>(tryParseJson(data));
  const kind = asString(event?.type) ?? type;
  return FAILURES.includes(kind) || (kind === "" && asObject(asObject(event)?.error) !== undefined);
}

/**
 * OpenAI's API puts the failure under `error`; other servers write what its documentation says, or a failed response.
 */
function isThrown({ data }: SseEvent): boolean {
  return asObject(asObject(tryParseJson(data))?.error) !== undefined;
}
