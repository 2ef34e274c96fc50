import { create } from "@bufbuild/protobuf";
import { type ProviderState, ProviderStateSchema } from "../../gen/outrigger/v1/message_pb.ts";
import type { ThreadMessage } from "../../gen/outrigger/v1/thread_pb.ts";
import type { ServedModel } from "../models/model-directory.ts";
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
  /** A message that is kept, by its id. Throws NotFoundError. */
  readonly lookUp: (messageId: string) => Promise<ThreadMessage>;
}

/** What reading the input of a request needs, with derived values. */
export class ReadingContext implements ReadingParts {
  readonly served: ServedModel;
  readonly names: ToolNames;
  readonly notes: RequestNotes;
  readonly isStateful: boolean;
  readonly lookUp: (messageId: string) => Promise<ThreadMessage>;

  constructor({ served, names, notes, isStateful, lookUp }: ReadingParts) {
    this.served = served;
    this.names = names;
    this.notes = notes;
    this.isStateful = isStateful;
    this.lookUp = lookUp;
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
