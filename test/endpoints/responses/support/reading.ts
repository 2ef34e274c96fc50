import { create } from "@bufbuild/protobuf";
import { NotFoundError } from "../../../../src/core/errors.ts";
import { MemoryAccount } from "../../../../src/core/memory-account.ts";
import { Fields } from "../../../../src/endpoints/openai/fields.ts";
import { type ReadRequest, readRequest } from "../../../../src/endpoints/responses/read-request.ts";
import { CreateRunRequestSchema } from "../../../../src/gen/outrigger/v1/run_service_pb.ts";
import type { OpenConversation, RunWithOrigin } from "../../../../src/runs/engine.ts";
import { HistoryMemory, HistoryShare } from "../../../../src/runs/limits.ts";
import { getFirstCallId } from "../../../../src/runs/store/bodies.ts";
import type { StoredMessage } from "../../../../src/runs/store.ts";
import { createDirectory } from "../../support/directory.ts";

/** Four providers, one for each wire API; `openai` is the default. */
const directory = createDirectory({
  providers: new Map([
    ["openai", "openai-responses"],
    ["anthropic", "anthropic-messages"],
    ["gemini", "gemini"],
    ["local", "openai-chat"],
  ]),
  aliases: { fast: { provider: "gemini", model: "gemini-3-flash" } },
});

/** The stored data of earlier responses. */
export interface Kept {
  readonly runs?: readonly RunWithOrigin[];
  readonly messages?: readonly StoredMessage[];
}

/** Reads a body. A text is read as it is. */
export function read(
  body: object | string | Uint8Array | Fields,
  { runs = [], messages = [] }: Kept = {},
): Promise<ReadRequest> {
  const isRead = body instanceof Uint8Array || body instanceof Fields;
  const bytes = isRead ? body : Buffer.from(typeof body === "string" ? body : JSON.stringify(body));
  return readRequest(bytes, {
    models: directory,
    owner: "key",
    engine: {
      openConversation: async (owner, { previousRunId }) =>
        openConversation(previousRunId === "" ? undefined : await find(owner, runs, previousRunId)),
      threads: {
        listMessages: async () => ({ elements: messages, hasMore: false }),
        getMessage: (owner, id) => find(owner, messages, id),
        findCall: async (owner, id) =>
          messages.findLast((message) => owner === "key" && getFirstCallId(message) === id),
      },
    },
  });
}

/** Creates a conversation with separate memory. */
export function openConversation(run: RunWithOrigin | undefined): OpenConversation {
  const share = new HistoryShare(new HistoryMemory(new MemoryAccount()), "key");
  const request = create(CreateRunRequestSchema);
  return { previous: run && { run, owner: "key", request, origin: run.origin }, share };
}

async function find<Kind extends { readonly id: string }>(
  owner: string,
  all: readonly Kind[],
  id: string,
): Promise<Kind> {
  const found = all.find((each) => each.id === id);
  if (found === undefined || owner !== "key") throw new NotFoundError(`there is no ${id}`);
  return found;
}

/** The input of a request to a model, as the messages of the contract without their envelopes. */
export async function toInput(input: unknown, model = "gpt-5.2", kept?: Kept) {
  const request = await read({ model, input }, kept);
  return (request.input.input ?? []).map(({ message }) => message);
}
