import { MORE_WARNINGS, type WarningCode } from "../../kit/call/loss-report.ts";
import type { Fields } from "./fields.ts";

/** A setting or content without effect. */
export interface RequestWarning {
  /** The same codes as in the contract's warnings. */
  readonly code: string;
  /** Path in the body of the request: `input[2].content[0]`. */
  readonly param: string;
  readonly message: string;
}

/** Maximum number of warnings about one request. The last one says that there are more. */
const MAX_WARNINGS = 64;

/** Collects warnings about parts of a request that have no effect. */
export class RequestNotes {
  /** All warnings in their order. Only `warn` adds to them. */
  readonly warnings: RequestWarning[] = [];

  /** Warns about the fields of an object that are set and not known. */
  warnAboutOthers(fields: Fields, known: readonly string[]): void {
    for (const name of Object.keys(fields.value))
      if (!known.includes(name) && fields.has(name)) this.warnAboutField(fields.at(name));
  }

  /** Warns about a field of a part or a tool that is left out. @param param Path in the body. */
  warnAboutField(param: string): void {
    this.warn(param, "unsupported_setting", "the model's provider has no such field");
  }

  /** @param param Path in the body. */
  warn(param: string, code: WarningCode, message: string): void {
    if (this.warnings.length < MAX_WARNINGS - 1) this.warnings.push({ code, param, message });
    else if (this.warnings.length < MAX_WARNINGS)
      this.warnings.push({ code: "limit_reached", param: "", message: MORE_WARNINGS });
  }
}
