/** Relays requests and answers unchanged if the provider speaks the API of the caller. */
import { ProviderError, type SDKError } from "../../core/errors.ts";
import { createSourceForm, type SourceForm } from "../../core/source-form.ts";
import type { EndpointRequest, EndpointResponse } from "../../http/endpoint.ts";

/** The body of a request whose API is also a wire API of providers. */
export interface CallerForm {
  /** The API, by the name that a configuration has for it. */
  readonly api: string;
  /** The headers that go through unchanged. */
  readonly headers: RelayedHeaders;
  /** Returns the members of the body by their names, as spelled there. */
  readonly getMembers: () => ReadonlyMap<string, string>;
  /** Why the request cannot be translated. Default: it can. */
  readonly untranslatable?: SDKError | undefined;
}

/**
 * Headers of an API that are relayed, with names in lower case. A name that ends with `*` means all names with that
 * prefix.
 */
export interface RelayedHeaders {
  /** Headers of requests. They include no credentials and no names of accounts, which depend on routing. */
  readonly request: readonly string[];
  readonly answer: readonly string[];
}

/** Headers by which every API says when to try again. */
const RETRY_HEADERS: readonly string[] = ["retry-after", "retry-after-ms", "x-should-retry"];

/** Matches valid values of headers. Some servers send other characters. */
const VALID_VALUE = /^[\t\x20-\x7e]{0,4096}$/;

/**
 * Bytes of the relayed headers of an answer, with their names. Clients read a limited head, Node's for instance 16 KiB,
 * and the sidecar adds headers. Providers send less than 2 KiB.
 */
const MAX_HEADER_BYTES = 8192;

/** Bytes of a header without its name and its value. */
const SEPARATOR_BYTES = 4;

/** A call that may be relayed, and its answer in the form of the provider. */
export class RelayedCall {
  /** The `source` option for the client's call. */
  readonly source: SourceForm;
  readonly #headers: RelayedHeaders;

  constructor(
    { headers, ...form }: CallerForm,
    read: Pick<SourceForm, "request" | "restored">,
    given: EndpointRequest["headers"],
  ) {
    const passed: Record<string, string> = {};
    for (const name in given) add(passed, headers.request, name, given[name]);
    this.#headers = headers;
    this.source = createSourceForm({ ...form, ...read, headers: passed });
  }

  /** Headers of the answer; undefined if it is not relayed. */
  get answerHeaders(): Readonly<Record<string, string>> | undefined {
    const { head } = this.source.relay;
    if (head === undefined) return undefined;
    const passed: Record<string, string> = {};
    let bytes = 0;
    for (const names of [RETRY_HEADERS, this.#headers.answer])
      for (const [name, value] of head.headers) {
        const size = name.length + value.length + SEPARATOR_BYTES;
        if (bytes + size > MAX_HEADER_BYTES || !isListed(names, name)) continue;
        if (add(passed, names, name, head.withoutKeys(value))) bytes += size;
      }
    return passed;
  }

  /** Returns the whole answer, without `answerHeaders`; undefined if it is not relayed. */
  takeAnswer(): EndpointResponse | undefined {
    const { relay } = this.source;
    if (relay.head === undefined) return undefined;
    return { status: relay.head.status, headers: { "content-type": "application/json" }, body: relay.take() };
  }

  /** Returns the failed answer that caused an error; undefined if middleware refused another attempt after it. */
  takeFailure(error: SDKError): EndpointResponse | undefined {
    const { head, isFailed } = this.source.relay;
    const isAnswer = error instanceof ProviderError && error.httpStatusCode === head?.status;
    const answer = isFailed && isAnswer ? this.takeAnswer() : undefined;
    return answer && { ...answer, headers: { ...answer.headers, ...this.answerHeaders } };
  }
}

/** Adds a header if a list has its name. Returns whether it was added. */
function add(
  headers: Record<string, string>,
  names: readonly string[],
  name: string,
  value: string | undefined,
): boolean {
  if (value === undefined || !isListed(names, name) || !VALID_VALUE.test(value)) return false;
  headers[name] = value;
  return true;
}

function isListed(names: readonly string[], name: string): boolean {
  for (const each of names)
    if (each === name || (each.endsWith("*") && name.startsWith(each.slice(0, -1)))) return true;
  return false;
}
