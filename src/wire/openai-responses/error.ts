/** Failures ("Error codes"). The types come from OpenAI's SDK; the forms of other servers are added here. */
import type { ErrorObject as SDKErrorObject } from "openai/resources/shared";

/** The body of a failed HTTP answer ("Error codes"). */
export interface ErrorBody extends Partial<ErrorObject> {
  /** The failure. Some compatible servers give its message alone, others its fields at the top. */
  error?: ErrorObject | string | null;
  /** The message of servers that are built on FastAPI. */
  detail?: string;
}

/** The description of a failure ("Error codes"). */
export interface ErrorObject extends Omit<SDKErrorObject, "code"> {
  /** The code; some compatible servers give the HTTP status as a number. */
  code: string | number | null;
}
