import { ConnectError, type HandlerContext } from "@connectrpc/connect";
import { withFieldPaths } from "../../../client/field-paths.ts";
import { invalidField, toSdkError } from "../../../core/errors.ts";
import type { RunOptions } from "../../../runs/engine.ts";
import type { RunEngine } from "../../../runs/run-engine.ts";
import { ServiceCall, type ServiceParts } from "../../calls/service-call.ts";

/** The parts that all calls of RunService share. Its client calls the models for runs whose callers wait for them. */
export interface RunParts extends ServiceParts {
  readonly engine: RunEngine;
}

/** One call of RunService, from its request to its status. */
export class RunCall extends ServiceCall {
  readonly engine: RunEngine;
  /** Name of the caller's access key. Data of other owners does not exist for this call. */
  readonly owner: string;

  constructor(parts: RunParts, context: HandlerContext) {
    super(parts, context, "runAnswers");
    this.engine = parts.engine;
    this.owner = this.served.recorder.call.caller.name;
  }

  /** Options for the runs that this call starts or continues. */
  get options(): RunOptions {
    const { owner, signal, deadline } = this;
    const { trace } = this.served.recorder;
    return { owner, signal, deadline, trace, client: this.record };
  }

  /** Reads stored data, within the memory for concurrent reads. */
  readStored<Value>(read: () => Promise<Value>): Promise<Value> {
    return this.served.share?.reads.read(read, this.signal) ?? read();
  }

  override fail(thrown: unknown): ConnectError {
    // The errors of limits and of malformed requests are statuses already.
    return thrown instanceof ConnectError && !this.signal.aborted ? thrown : super.fail(thrown);
  }
}

/** Returns an id that a request must have. @throws InvalidRequestError if it is empty. */
export function requireId(field: "run_id" | "thread_id" | "message_id", id: string): string {
  if (id !== "") return id;
  throw invalidField(field, `is empty, expected the id of a ${field.slice(0, -"_id".length)}`);
}

/**
 * Renames a field in errors to the name that callers know: the engine's `after` is `page_token`, the id of the last
 * element of the previous page.
 */
export async function withPageToken<Page>(page: Promise<Page>): Promise<Page> {
  try {
    return await page;
  } catch (thrown) {
    throw withFieldPaths(toSdkError(thrown), (field) => (field === "after" ? "page_token" : field));
  }
}
