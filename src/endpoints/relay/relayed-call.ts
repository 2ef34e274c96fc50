/** Relays requests and answers if the provider speaks the API of the caller: what goes through unchanged, and how. */
import type { HeaderList } from "../../core/answer-relay.ts";
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

/** Headers of an API that are relayed, with names in lower case. A name that ends with `*` stands for all with its beginning. */
export interface RelayedHeaders {
  /** Headers of requests. Credentials and names of accounts are not among them: routing decides about those. */
  readonly request: readonly string[];
  /** Headers of answers. */
  readonly answer: readonly string[];
}

/** Headers by which every API says when to try again. */
const RETRY_HEADERS: readonly string[] = ["retry-after", "retry-after-ms", "x-should-retry"];

/** Matches valid values of headers. Some servers send other characters. */
const VALID_VALUE = /^[\t\x20-\x7e]{0,4096}$/;

/** A call that may be relayed, and its answer in the form of the provider. */
export class RelayedCall {
  /** The option of the call. */
  readonly source: SourceForm;
  readonly #headers: RelayedHeaders;

  constructor(
    { headers, ...form }: CallerForm,
    read: Pick<SourceForm, "request" | "restored">,
    given: EndpointRequest["headers"],
  ) {
    const sent = Object.entries(given).flatMap(([name, value]) =>
      value === undefined ? [] : [[name, value] as const],
    );
    this.#headers = headers;
    this.source = createSourceForm({ ...form, ...read, headers: pick(sent, headers.request) });
  }

  /** Headers of the answer; undefined if it is not relayed. */
  get answerHeaders(): Readonly<Record<string, string>> | undefined {
    const { head } = this.source.relay;
    return head && pick(head.headers, [...this.#headers.answer, ...RETRY_HEADERS]);
  }

  /** Returns the whole answer; undefined if it is not relayed. */
  takeAnswer(): EndpointResponse | undefined {
    const { relay } = this.source;
    if (relay.head === undefined) return undefined;
    const headers = { "content-type": "application/json", ...this.answerHeaders };
    return { status: relay.head.status, headers, body: relay.take() };
  }

  /** Returns the failed answer that an error was made of; undefined if middleware refused another attempt after it. */
  takeFailure(error: SDKError): EndpointResponse | undefined {
    const { head, isFailed } = this.source.relay;
    const isAnswer = error instanceof ProviderError && error.httpStatusCode === head?.status;
    return isFailed && isAnswer ? this.takeAnswer() : undefined;
  }
}

function pick(headers: HeaderList, names: readonly string[]): Record<string, string> {
  const isPassed = (name: string) =>
    names.some((each) => (each.endsWith("*") ? name.startsWith(each.slice(0, -1)) : name === each));
  const passed = [...headers].filter(([name, value]) => isPassed(name) && VALID_VALUE.test(value));
  return Object.fromEntries(passed);
}
