import { createRegistry, type Registry } from "@bufbuild/protobuf";
import { withImports } from "../../core/descriptor-files.ts";
import { CatalogService } from "../../gen/outrigger/v1/catalog_service_pb.ts";
import { InferenceService } from "../../gen/outrigger/v1/inference_service_pb.ts";
import { enumTypeIn } from "../internals/error-texts.ts";

/**
 * Lists the known values for a message about an enum value that does not parse: `; expected one of ROLE_SYSTEM,
 * ROLE_USER`. Empty for any other message. Hand-written JSON often has `"role": "user"`.
 */
export function enumHint(message: string): string {
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
