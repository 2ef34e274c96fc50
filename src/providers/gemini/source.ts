/** Requests of callers who speak the Gemini API themselves. */
import { type Message, Role } from "../../gen/outrigger/v1/message_pb.ts";
import type { SourceProtocol } from "../../kit/adapter/http-adapter.ts";
import { writeMembers } from "../../kit/adapter/source-body.ts";
import { asObject, tryParseJson } from "../../kit/json/json.ts";
import type { SseEvent } from "../../kit/stream/sse.ts";
import type { StreamChunk } from "../../wire/gemini/stream.ts";

/** @param toPath Returns the path of a model's method. */
export function createSourceProtocol(toPath: (model: string, streaming: boolean) => string): SourceProtocol {
  return {
    api: "gemini",
    toWire({ headers, restored, getMembers }, { model, messages }, streaming, models) {
      const source = getMembers();
      const contents = source.get("contents") ?? "";
      // Models that think refuse to continue a tool loop without their signatures.
      if (restored.hasReasoning || restored.hasCallState) return undefined;
      if (models.traitsOf(model).thoughtSignatures && lacksSignature(messages) && !PLACEHOLDER.test(contents))
        return undefined;
      if (EMPTY_TEXT.test(contents)) return undefined;
      // The path names the model.
      const members = [...source].filter(([name]) => name !== "model");
      const body = writeMembers(members);
      const relay = { reportsFailure, isThrown: () => false };
      return { path: toPath(model, streaming), headers, body, warnings: [], relay };
    },
  };
}

/**
 * Reports whether the first call of a step has no signature, nor an id by which it could be found: LangChain4j returns
 * neither. The adapter sends the documented placeholder.
 */
function lacksSignature(messages: readonly Message[]): boolean {
  return messages.some(({ role, content }) => {
    const call = content.find(({ part }) => part.case === "toolCall");
    return role === Role.ASSISTANT && call !== undefined && call.providerState === undefined;
  });
}

/** Matches the signatures that clients write themselves. */
const PLACEHOLDER = /skip_thought_signature_validator|context_engineering_is_the_way_to_go/;

/**
 * Matches an empty text. The API refuses parts with it, although it ends streams with one, which some clients return.
 */
const EMPTY_TEXT = /"text"\s*:\s*""/;

/**
 * Some of Google's clients take such an event for an answer without content, and throw only an error that is not an
 * event.
 */
function reportsFailure({ data }: SseEvent): boolean {
  return asObject(asObject<StreamChunk>(tryParseJson(data))?.error) !== undefined;
}
