import { create } from "@bufbuild/protobuf";
import { type ProviderState, ProviderStateSchema } from "../../gen/outrigger/v1/message_pb.ts";
import type { ServedModel } from "../models/model-directory.ts";
import type { MessageSource } from "./kept-messages.ts";
import type { ContinuedConversation } from "./read-history.ts";
import type { RequestNotes } from "./request-notes.ts";
import type { ToolNames } from "./tool-names.ts";

/** What reading the input of a request needs. */
export interface ReadingParts {
  /** The model that will read it. */
  readonly served: ServedModel;
  readonly names: ToolNames;
  readonly notes: RequestNotes;
  /** Whether the caller leaves the conversation to the store, where the state of earlier items is found. */
  readonly isStateful: boolean;
  /** Finds messages that are kept. */
  readonly messages: MessageSource;
  /** The stored conversation that the input continues. */
  readonly conversation?: ContinuedConversation | undefined;
  /** Ids of the searches of tools in the previous response that the client runs. */
  readonly searches?: readonly string[];
}

/** What reading the input of a request needs, with derived values. */
export class ReadingContext implements ReadingParts {
  readonly served: ServedModel;
  readonly names: ToolNames;
  readonly notes: RequestNotes;
  readonly isStateful: boolean;
  readonly messages: MessageSource;
  readonly conversation: ContinuedConversation | undefined;
  readonly searches: readonly string[];

  constructor({ served, names, notes, isStateful, messages, conversation, searches = [] }: ReadingParts) {
    this.conversation = conversation;
    this.searches = searches;
    this.served = served;
    this.names = names;
    this.notes = notes;
    this.isStateful = isStateful;
    this.messages = messages;
  }

  /** Whether an API of OpenAI's kind serves the model, which takes its own items back as they are. */
  get isOpenAi(): boolean {
    return this.served.api === "openai-responses";
  }

  /**
   * Provider state as if this model had written it. Undefined if another API than OpenAI's Responses serves the model.
   */
  ownState(data: object): ProviderState | undefined {
    const { provider, model } = this.served;
    if (!this.isOpenAi) return undefined;
    return create(ProviderStateSchema, { provider, model, dataJson: JSON.stringify(data) });
  }
}
