import { create } from "@bufbuild/protobuf";
import { type FieldViolation, invalidFields } from "../../core/errors.ts";
import { LossPolicy } from "../../gen/outrigger/v1/request_pb.ts";
import { type Warning, WarningSchema } from "../../gen/outrigger/v1/response_pb.ts";

/**
 * Codes of `Warning.code`. Stable: programs branch on them. docs/warnings.md explains them.
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
  | "limit_reached"
  | "further_candidates"
  | "cache_hit"
  | "tool_rounds_exhausted"
  | "turn_paused"
  | "unknown_price"
  | "model_chosen";

/**
 * Collects the parts of a request that a provider cannot honour while the request is translated: warnings under
 * LOSS_POLICY_WARN, a refusal under LOSS_POLICY_REFUSE.
 */
export class LossReport {
  /** The warnings in the order of their detection. */
  readonly warnings: Warning[] = [];
  readonly #violations: FieldViolation[] = [];

  /** Records that a part of the request is changed or left out, which LOSS_POLICY_REFUSE refuses. */
  lose(field: string, code: WarningCode, message: string): void {
    this.note(field, code, message);
    this.#violations.push({ field, description: message });
  }

  /** Records something that the caller should know and that no policy refuses. */
  note(field: string, code: WarningCode, message: string): void {
    this.warnings.push(warning(field, code, message));
  }

  /** Throws InvalidRequestError if anything was lost and the policy is REFUSE. Call it before anything is sent. */
  enforce(policy: LossPolicy): void {
    if (policy === LossPolicy.REFUSE && this.#violations.length > 0) throw invalidFields(this.#violations);
  }
}

/** Creates a warning. */
export function warning(field: string, code: WarningCode, message: string): Warning {
  return create(WarningSchema, { field, code, message });
}
