/** Reads requests whose API is also a wire API of providers: those providers get them unchanged. */
import { InvalidRequestError, type SDKError } from "../../core/errors.ts";
import type { ReadRequest } from "../answers/answer-request.ts";
import { createForm, createPlaceholder, type FormSource, validateRead } from "../relay/caller-form.ts";
import type { ReadingContext } from "./reading-context.ts";

/** A request, and its form in the caller's API if it may be relayed. */
export type ReadForm = Pick<ReadRequest, "request" | "form" | "toBodyPath">;

/** The body that is read. */
export interface FormReading extends FormSource {
  readonly context: ReadingContext;
  /** Whether the request may be relayed. Default true. */
  readonly mayRelay?: boolean;
}

/**
 * Reads a body. If the provider speaks the API of the caller, it decides what it accepts: a request that cannot be read
 * is then relayed, but never translated. The same applies to a request with a field that no other API has.
 * @param read Reads a request of the contract from the fields.
 * @param findUntranslatable Returns the error of a request that only this API can express; undefined for others.
 * @throws InvalidRequestError that names the first invalid field.
 */
export function readForm(
  reading: FormReading,
  read: () => Omit<ReadForm, "form">,
  findUntranslatable: () => SDKError | undefined = () => undefined,
): ReadForm {
  const { api, fields, context, mayRelay = true } = reading;
  if (!mayRelay) return read();
  const isSame = context.served.api === api;
  let untranslatable: SDKError | undefined;
  try {
    untranslatable = findUntranslatable();
    if (untranslatable !== undefined && !isSame) throw untranslatable;
    const found = read();
    if (context.hasCarried && untranslatable !== undefined) throw untranslatable;
    if (context.hasCarried) return found;
    if (isSame) validateRead(found);
    return { ...found, form: createForm(reading, untranslatable) };
  } catch (thrown) {
    if (!isSame || context.hasCarried || !(thrown instanceof InvalidRequestError)) throw thrown;
    const form = createForm(reading, untranslatable ?? thrown);
    return { request: createPlaceholder(fields, context.target), form, toBodyPath: (field) => field };
  }
}
