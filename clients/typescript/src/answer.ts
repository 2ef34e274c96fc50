import type { CallOptions as ConnectCallOptions } from "@connectrpc/connect";
import { NotFoundError } from "../../../src/core/errors.ts";
import { toFailure } from "./failure.ts";

/** Options of a call about runs, threads or the catalog. */
export interface RunCallOptions {
  /** Cancels the call. A run in the background continues. */
  readonly signal?: AbortSignal | undefined;
}

/** Options of Connect for a call. */
function connectOptions({ signal }: RunCallOptions): ConnectCallOptions {
  return signal === undefined ? {} : { signal };
}

/** Makes a call with one answer. Throws the error of this package if it fails. */
export async function getAnswer<Answer>(
  call: RunCallOptions,
  make: (connect: ConnectCallOptions) => Promise<Answer>,
): Promise<Answer> {
  try {
    return await make(connectOptions(call));
  } catch (thrown) {
    throw toFailure(thrown, call.signal);
  }
}

/** Makes a call that looks something up. Returns undefined if the sidecar does not have it. */
export async function findAnswer<Answer>(
  call: RunCallOptions,
  make: (connect: ConnectCallOptions) => Promise<Answer>,
): Promise<Answer | undefined> {
  try {
    return await getAnswer(call, make);
  } catch (error) {
    if (error instanceof NotFoundError) return undefined;
    throw error;
  }
}
