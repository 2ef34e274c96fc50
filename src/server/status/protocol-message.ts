import { createRegistry, type Registry } from "@bufbuild/protobuf";
import { withImports } from "../../core/descriptor-files.ts";
import { CatalogService } from "../../gen/outrigger/v1/catalog_service_pb.ts";
import { InferenceService } from "../../gen/outrigger/v1/inference_service_pb.ts";
import { enumTypeIn, tooLargeSizes, withoutQuotes } from "../internals/error-texts.ts";
import { boundedText } from "./bounded-text.ts";

/**
 * Returns the message for a request that Connect or protobuf-es could not read: their text, at most 384 bytes, without
 * the parts of the request that it quotes, since a text in place of a list of parts usually is the prompt. An unknown
 * enum value is kept, and the known values are added.
 */
export function protocolMessage(message: string): string {
  const sizes = tooLargeSizes(message);
  if (sizes !== undefined) return describeSizes(sizes);
  return boundedText(withoutQuotes(message), MAX_BYTES) + enumHint(message);
}

const MAX_BYTES = 384;

function describeSizes({ size, limit }: { size: string | undefined; limit: string }): string {
  const found = size === undefined ? "more" : `${size} bytes`;
  return `the message is too large: expected at most ${limit} bytes (limits.max_message_bytes), found ${found}`;
}

/**
 * Lists the known values for a message about an enum value that does not parse: `; expected one of ROLE_SYSTEM,
 * ROLE_USER`. Empty for any other message. Hand-written JSON often has `"role": "user"`.
 */
function enumHint(message: string): string {
  const typeName = enumTypeIn(message) ?? "";
  const values =
    enums()
      .getEnum(typeName)
      ?.values.filter(({ number }) => number !== 0) ?? [];
  return values.length === 0 ? "" : `; expected one of ${values.map(({ name }) => name).join(", ")}`;
}

let registry: Registry | undefined;

function enums(): Registry {
  registry ??= createRegistry(...withImports([InferenceService.file, CatalogService.file]).values());
  return registry;
}
