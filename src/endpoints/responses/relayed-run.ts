/**
 * Runs whose request goes unchanged to a provider that speaks the API of the caller. The engine runs them like all others
 * that are not stored; only the client that it calls, and the answer, know the form of the caller.
 */
import { create } from "@bufbuild/protobuf";
import { validateAhead } from "../../client/validate.ts";
import type { CallOptions, CallTarget } from "../../core/adapter.ts";
import type { Batched } from "../../core/batches.ts";
import { InvalidRequestError } from "../../core/errors.ts";
import type { RestoredState, SourceForm } from "../../core/source-form.ts";
import { GenerationOptionsSchema, RetryPolicySchema } from "../../gen/outrigger/v1/generation_pb.ts";
import type { Request } from "../../gen/outrigger/v1/request_pb.ts";
import type { Response } from "../../gen/outrigger/v1/response_pb.ts";
import { CreateRunRequestSchema } from "../../gen/outrigger/v1/run_service_pb.ts";
import type { StreamEvent } from "../../gen/outrigger/v1/stream_event_pb.ts";
import type { ModelClient } from "../../generation/loop/model-calls.ts";
import type { EndpointRequest } from "../../http/endpoint.ts";
import { type JsonObject, objectsIn } from "../../kit/json/json.ts";
import type { ModelTarget } from "../models/model-directory.ts";
import type { Fields } from "../openai/fields.ts";
import { placeOfItem } from "../openai/ids.ts";
import { createForm, createStandIn, type FormSource } from "../relay/caller-form.ts";
import { OPENAI_HEADERS } from "../relay/openai-headers.ts";
import { type CallerForm, RelayedCall } from "../relay/relayed-call.ts";
import { isCompaction } from "./compaction.ts";
import { isCarried } from "./provider-state.ts";
import type { ReadRequest } from "./read-request.ts";
import { defaultSettings } from "./settings.ts";

/** A body that may be relayed, and the model that it names. */
export interface RelayableRequest extends FormSource {
  readonly target: ModelTarget;
  readonly form: CallerForm;
}

/**
 * Returns a body in the form of its caller. Undefined if its provider has another API, or if the sidecar has a part in
 * the answer: it stores the response, executes tools, or knows items that the provider does not.
 * @throws InvalidRequestError for a second model.
 */
export function findRelayable(fields: Fields, target: ModelTarget): RelayableRequest | undefined {
  const isSame = target.served.api === "openai-responses";
  if (!isSame || !storesNothing(fields) || executesTools(fields) || hasOurItems(fields)) return undefined;
  const source = { api: "openai-responses", headers: OPENAI_HEADERS, fields } as const;
  return { ...source, target, form: createForm(source, undefined) };
}

function storesNothing(fields: Fields): boolean {
  const isAlone = !fields.has("previous_response_id") && !fields.has("conversation");
  return fields.get("store") === false && isAlone && (fields.get("background") ?? false) === false;
}

function executesTools(fields: Fields): boolean {
  return objectsIn(fields.get("tools")).some(({ type }) => type === "mcp");
}

function hasOurItems(fields: Fields): boolean {
  return objectsIn(fields.get("input")).some(isOurItem);
}

/** Whether only the sidecar understands an item, or might complete it: without its content, reasoning cannot be found. */
function isOurItem({ type, id, encrypted_content: encrypted, content }: JsonObject): boolean {
  if (typeof id === "string" && placeOfItem(id) !== undefined) return true;
  if (typeof encrypted === "string") return isCarried(encrypted) || isCompaction(encrypted);
  return type === "reasoning" && objectsIn(content).length === 0;
}

/** Stands in for a request that could not be read, which the provider may accept nevertheless. */
export function createStandInRequest({ fields, target }: RelayableRequest): ReadRequest {
  const { messages, ...request } = createStandIn(fields, target);
  const options = create(GenerationOptionsSchema, {
    request: { ...request, messages: [] },
    retry: create(RetryPolicySchema, { maxRetries: 0 }),
    maxToolRounds: 0,
  });
  return {
    input: {
      request: create(CreateRunRequestSchema, { store: false, options }),
      input: messages.map((message) => ({ message, originJson: "" })),
    },
    settings: defaultSettings,
    target,
    isStreamed: fields.get("stream") === true,
    streamOptions: { includeObfuscation: undefined },
    restoresReasoning: false,
    toBodyPath: (field) => field,
  };
}

/** Calls the model of one request, whose form it gives along. */
export class RelayingClient implements ModelClient {
  readonly #client: ModelClient;
  readonly #relayable: RelayableRequest;
  readonly #restored: RestoredState;
  readonly #headers: EndpointRequest["headers"];
  #call: RelayedCall | undefined;

  constructor(
    relayable: RelayableRequest,
    { restoresReasoning }: Pick<ReadRequest, "restoresReasoning">,
    { client, headers }: Pick<EndpointRequest, "client" | "headers">,
  ) {
    this.#client = client;
    this.#relayable = relayable;
    this.#restored = { hasReasoning: restoresReasoning, hasCallState: false };
    this.#headers = headers;
  }

  /** The call, if the model has been called. */
  get call(): RelayedCall | undefined {
    return this.#call;
  }

  complete(request: Request, options?: CallOptions): Promise<Response> {
    const source = this.#begin(request);
    return this.#client.complete(source.request, { ...options, source });
  }

  stream(request: Request, options?: CallOptions): Batched<StreamEvent> {
    const source = this.#begin(request);
    return this.#client.stream(source.request, { ...options, source });
  }

  resolveModel(name: CallTarget): CallTarget {
    return this.#client.resolveModel?.(name) ?? name;
  }

  #begin(request: Request): SourceForm {
    this.#call = this.#createCall(request);
    return this.#call.source;
  }

  /** The provider decides what it accepts. */
  #createCall(request: Request): RelayedCall {
    const { form, fields, target } = this.#relayable;
    const restored = this.#restored;
    try {
      validateAhead(request);
      return new RelayedCall(form, { request, restored }, this.#headers);
    } catch (thrown) {
      if (!(thrown instanceof InvalidRequestError)) throw thrown;
      const invalid = { ...form, untranslatable: form.untranslatable ?? thrown };
      return new RelayedCall(invalid, { request: createStandIn(fields, target), restored }, this.#headers);
    }
  }
}
