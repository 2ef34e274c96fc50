import type { ModelOptions } from "./model-options.ts";
import type { ReceivedRequest, WholeAnswer, WireFormat } from "./wire-format.ts";

/**
 * Returns the error response that the option `status` asks for, with headers and body; undefined if the option is
 * unset.
 */
export function failedStatus(
  format: WireFormat,
  request: ReceivedRequest,
  options: ModelOptions,
): WholeAnswer | undefined {
  if (options.status === undefined) return undefined;
  const { status, code, retry_after: seconds, retry_after_ms: milliseconds } = options;
  const retryAfterMs = milliseconds ?? (seconds === undefined ? undefined : seconds * 1000);
  const answer = format.reject(
    { kind: "status", status, code, retryAfterMs, shape: options.error_shape },
    request,
  );
  return withBody(
    { ...answer, headers: { ...answer.headers, ...retryHeaders(options) } },
    options.error_body ?? "json",
  );
}

function retryHeaders(options: ModelOptions): Record<string, string> {
  const { retry_after: seconds, retry_after_ms: milliseconds } = options;
  return {
    ...(seconds === undefined ? {} : { "retry-after": String(seconds) }),
    ...(milliseconds === undefined ? {} : { "retry-after-ms": String(milliseconds) }),
  };
}

/** Replaces the provider's body with the body that a proxy in front of the provider would send. */
function withBody(answer: WholeAnswer, kind: NonNullable<ModelOptions["error_body"]>): WholeAnswer {
  switch (kind) {
    case "json":
      return answer;
    case "empty":
      return { ...answer, body: "" };
    case "html":
      return {
        ...answer,
        headers: { ...answer.headers, "content-type": "text/html" },
        body: `<html>\r\n<head><title>${answer.status}</title></head>\r\n<body><center><h1>${answer.status}</h1></center><hr><center>proxy</center></body>\r\n</html>\r\n`,
      };
    default:
      return kind satisfies never;
  }
}
