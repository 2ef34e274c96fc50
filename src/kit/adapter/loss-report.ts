import { create } from "@bufbuild/protobuf";
import { type FieldViolation, invalidFields } from "../../core/errors.ts";
import { type Warning, WarningSchema } from "../../gen/outrigger/v1/response_pb.ts";

/**
 * Codes of `Warning.code`. Stable: programs branch on them. What each means stands in
 * docs/warnings.md.
 */
export type WarningCode =
  | "unsupported_setting"
  | "adjusted_setting"
  | "adjusted_schema"
  | "unsupported_content"
  | "converted_content"
  | "foreign_state_stripped"
  | "foreign_state_to_text"
  | "input_transformed"
  | "count_mismatch"
  | "provider_message"
  | "further_candidates";

/**
 * Collects what a provider cannot honour while a request is being translated: warnings for a
 * caller who takes what there is, a refusal for one who is strict.
 */
export class LossReport {
  /** What became of the request, in the order in which it was found. */
  readonly warnings: Warning[] = [];
  readonly #violations: FieldViolation[] = [];

  /** Something of the request is changed or left out. A strict request is refused for it. */
  lose(field: string, code: WarningCode, message: string): void {
    this.note(field, code, message);
    this.#violations.push({ field, description: message });
  }

  /** Something that the caller may want to know and that no strictness refuses. */
  note(field: string, code: WarningCode, message: string): void {
    this.warnings.push(warning(field, code, message));
  }

  /** Throws InvalidRequestError where anything was lost. For strict requests, before anything is sent. */
  refuse(): void {
    if (this.#violations.length > 0) throw invalidFields(this.#violations);
  }
}

/** One warning. */
export function warning(field: string, code: WarningCode, message: string): Warning {
  return create(WarningSchema, { field, code, message });
}
