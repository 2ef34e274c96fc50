import type { Audio, ContentPart, Document, Image } from "../gen/outrigger/v1/message_pb.ts";
import { checkJson } from "./check-json.ts";
import type { Violations } from "./violations.ts";

/** The kinds of part that the contract knows. */
export type PartKind = NonNullable<ContentPart["part"]["case"]>;

/** The kinds of part that one position accepts. */
export interface PartLimits {
  readonly allowed: ReadonlySet<PartKind>;
  /** The position, for the error: `a message of ROLE_USER`. */
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
export function checkPart(
  whole: ContentPart,
  field: string,
  limits: PartLimits,
  violations: Violations,
): void {
  const { part, providerState } = whole;
  if (part.case === undefined) {
    violations.add(field, `is empty, expected one of ${listKinds(limits)}`);
  } else if (!limits.allowed.has(part.case)) {
    violations.add(
      `${field}.${PART_NAMES[part.case]}`,
      `does not belong in ${limits.place}, which takes ${listKinds(limits)}`,
    );
  } else {
    checkContent(part, field, violations);
  }
  if (providerState !== undefined) {
    checkJson(providerState.dataJson, `${field}.provider_state.data_json`, violations);
  }
}

function listKinds({ allowed }: PartLimits): string {
  return [...allowed].map((kind) => PART_NAMES[kind]).join(", ");
}

function checkContent(part: ContentPart["part"], field: string, violations: Violations): void {
  switch (part.case) {
    case "text":
      if (!part.value.isWellFormed()) violations.add(`${field}.text`, "contains an unpaired surrogate");
      break;
    case "image":
    case "audio":
    case "document":
      checkMedia(part.value, `${field}.${part.case}`, violations);
      break;
    case "native":
      checkJson(part.value.dataJson, `${field}.native.data_json`, violations);
      break;
    default:
      break;
  }
}

function checkMedia(media: Image | Audio | Document, field: string, violations: Violations): void {
  const { source } = media;
  if (source.case === undefined) {
    violations.add(field, "has no source, expected url, data or file_id");
  } else if (source.value.length === 0) {
    violations.add(`${field}.${source.case === "fileId" ? "file_id" : source.case}`, "is empty");
  } else if (source.case === "data" && media.$typeName === "outrigger.v1.Audio" && media.mediaType === "") {
    violations.add(`${field}.media_type`, "is empty, expected a media type such as audio/wav beside data");
  }
}
