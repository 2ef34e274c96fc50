import { mistake } from "./fields.ts";

/** @throws InvalidRequestError if a body is announced as something other than JSON. */
export function checkContentType(type: string | undefined): void {
  if (type === undefined || /^application\/(.+\+)?json\s*(;|$)/i.test(type)) return;
  const found = JSON.stringify(type.slice(0, 100));
  throw mistake("", "invalid_value", `expected the content type application/json, found ${found}`);
}
