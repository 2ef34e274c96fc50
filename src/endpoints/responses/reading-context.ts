import { create } from "@bufbuild/protobuf";
import { type ProviderState, ProviderStateSchema } from "../../gen/outrigger/v1/message_pb.ts";
import type { MessageSource } from "../answers/earlier-messages.ts";
import type { ServedModel } from "../models/model-directory.ts";
import type { RequestNotes } from "../openai/request-notes.ts";
import type { ContinuedConversation } from "./read-history.ts";
import type { ToolNames } from "./tool-names.ts";

/** The inputs for reading the input of a request. */
export interface ReadingParts {
  /** The model that will read it. */
  readonly served: ServedModel;
  readonly names: ToolNames;
  readonly notes: RequestNotes;
  /** Whether the caller leaves the conversation to the store, which then has the state of earlier items. */
  readonly isStateful: boolean;
  /** Finds stored messages. */
  readonly messages: MessageSource;
  /** Finds recent answers that are not stored. */
  readonly recent?: MessageSource | undefined;
  /** The stored conversation that the input continues. */
  readonly conversation?: ContinuedConversation | undefined;
  /** Ids of the tool searches in the previous response that the client runs. */
  readonly searches?: readonly string[];
}

/** The inputs for reading the input of a request, with derived values. */
export class ReadingContext implements ReadingParts {
  readonly served: ServedModel;
  readonly names: ToolNames;
  readonly notes: RequestNotes;
  readonly isStateful: boolean;
  readonly messages: MessageSource;
  readonly recent: MessageSource | undefined;
  readonly conversation: ContinuedConversation | undefined;
  readonly searches: readonly string[];

  constructor(parts: ReadingParts) {
    this.conversation = parts.conversation;
    this.searches = parts.searches ?? [];
    this.served = parts.served;
    this.names = parts.names;
    this.notes = parts.notes;
    this.isStateful = parts.isStateful;
    this.messages = parts.messages;
    this.recent = parts.recent;
  }

  /** Whether OpenAI's Responses API serves the model, so that its items are sent unchanged. */
  get isOpenAi(): boolean {
    return this.served.api === "openai-responses";
  }

  /**
   * Creates provider state as if this model had written it. Undefined if another API than OpenAI's Responses serves the
   * model.
   */
  toModelState(data: object): ProviderState | undefined {
    const { provider, model } = this.served;
    if (!this.isOpenAi) return undefined;
    return create(ProviderStateSchema, { provider, model, dataJson: JSON.stringify(data) });
  }
}
