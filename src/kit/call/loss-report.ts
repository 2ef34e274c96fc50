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
 * Maximum number of warnings about one request, and of violations in one refusal. The last one says that there are
 * more.
 */
const MAX_WARNINGS = 256;

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
    const { length } = this.#violations;
    if (length < MAX_WARNINGS - 1) this.#violations.push({ field, description: message });
    else if (length < MAX_WARNINGS)
      this.#violations.push({ field: "request", description: "has more parts that are not listed" });
  }

  /** Records something that the caller should know and that no policy refuses. */
  note(field: string, code: WarningCode, message: string): void {
    const { length } = this.warnings;
    if (length < MAX_WARNINGS - 1) this.warnings.push(warning(field, code, message));
    else if (length < MAX_WARNINGS) this.warnings.push(warning("", "limit_reached", MORE_WARNINGS));
  }

  /** Throws InvalidRequestError if anything was lost and the policy is REFUSE. Call it before anything is sent. */
  enforce(policy: LossPolicy): void {
    if (policy === LossPolicy.REFUSE && this.#violations.length > 0) throw invalidFields(this.#violations);
  }
}

/** The message of the warning after which no further ones are listed. */
export const MORE_WARNINGS = "there are more warnings";

/** Maximum number of warnings about changes that a provider made to the input. */
const MAX_CHANGES = 16;

/** Returns a warning for each different change that a provider reports to have made to the input. */
export function toChangeWarnings(changes: readonly string[]): Warning[] {
  const different = [...new Set(changes)].slice(0, MAX_CHANGES);
  return different.map((change) =>
    warning("messages", "input_transformed", `the provider changed the input: ${change}`),
  );
}

/** Creates a warning. */
export function warning(field: string, code: WarningCode, message: string): Warning {
  return create(WarningSchema, { field, code, message });
}
