import { create } from "@bufbuild/protobuf";
import type { ContentPart } from "../../gen/outrigger/v1/message_pb.ts";
import { FinishReasonSchema, type Response } from "../../gen/outrigger/v1/response_pb.ts";
import type { StreamWriter } from "./stream-writer.ts";

/** Writes a whole answer as the events of a stream, each text in one delta. */
export function replayResponse(response: Response, writer: StreamWriter): void {
  writer.start(response.model);
  for (const part of response.message?.content ?? []) replayPart(part, writer);
  const { id, model, usage, rawJson, providerRequestId, providerMetadataJson } = response;
  writer.finish({
    id,
    model,
    usage,
    rawJson,
    providerRequestId,
    providerMetadataJson,
    finishReason: response.finishReason ?? create(FinishReasonSchema),
  });
}

function replayPart(whole: ContentPart, writer: StreamWriter): void {
  const { part, citations, providerState, refusal } = whole;
  switch (part.case) {
    case "text": {
      const block = writer.startText(refusal);
      block.append(part.value);
      block.end({ citations, providerState });
      break;
    }
    case "reasoning": {
      const block = writer.startReasoning();
      block.append(part.value.text);
      block.end({ redacted: part.value.redacted, providerState });
      break;
    }
    case "toolCall": {
      const { id, name, input } = part.value;
      const block = writer.startToolCall({ id, name, inputKind: input.case ?? "argumentsJson" });
      block.append(input.value ?? "");
      block.end({ providerState });
      break;
    }
    default:
      writer.addPart(whole);
  }
}
