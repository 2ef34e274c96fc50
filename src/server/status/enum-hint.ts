import { createRegistry, type Registry } from "@bufbuild/protobuf";
import { CatalogService } from "../../gen/outrigger/v1/catalog_service_pb.ts";
import { InferenceService } from "../../gen/outrigger/v1/inference_service_pb.ts";
import { withImports } from "../services/descriptor-files.ts";

/**
 * What a message about an enum value that does not parse leaves open: which values there are,
 * for instance `; expected one of ROLE_SYSTEM, ROLE_USER`. Empty for any other message.
 * Whoever writes JSON by hand writes `"role": "user"` first.
 */
export function enumHint(message: string): string {
  const [, typeName = ""] = ENUM_ERROR.exec(message) ?? [];
  const values =
    enums()
      .getEnum(typeName)
      ?.values.filter(({ number }) => number !== 0) ?? [];
  return values.length === 0 ? "" : `; expected one of ${values.map(({ name }) => name).join(", ")}`;
}

// As protobuf-es words it.
const ENUM_ERROR = /^cannot decode enum ([\w.]+) from JSON: /;

let registry: Registry | undefined;

function enums(): Registry {
  registry ??= createRegistry(...withImports([InferenceService.file, CatalogService.file]).values());
  return registry;
}
