import type { Warning } from "../../gen/outrigger/v1/response_pb.ts";
import type { RequestWarning } from "./request-notes.ts";

/** Longest value of the header, in bytes. Many proxies limit all headers together to 8 KiB. */
const MAX_BYTES = 4096;

/**
 * Writes warnings as the header `outrigger-warnings`: a JSON list in ASCII, without the warnings that do not fit. No
 * header if there are none.
 */
export function toWarningsHeader(warnings: readonly RequestWarning[]): Readonly<Record<string, string>> {
  const kept: string[] = [];
  let bytes = 2;
  for (const warning of warnings) {
    const text = toAscii(JSON.stringify(warning));
    bytes += text.length + 1;
    if (bytes > MAX_BYTES) break;
    kept.push(text);
  }
  return kept.length === 0 ? {} : { "outrigger-warnings": `[${kept.join(",")}]` };
}

/**
 * Returns the header with the warnings about a body and about its call.
 * @param read Converts fields to paths of the body.
 */
export function writeWarnings(
  read: { toBodyPath(field: string): string },
  bodyWarnings: readonly RequestWarning[],
  callWarnings: readonly Warning[],
): Readonly<Record<string, string>> {
  const converted = callWarnings.map(({ code, field, message }) => ({
    code,
    param: read.toBodyPath(field),
    message,
  }));
  return toWarningsHeader([...bodyWarnings, ...converted]);
}

/** Escapes all characters that headers cannot hold. */
function toAscii(json: string): string {
  return json.replace(/[^\x20-\x7e]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);
}
