import type { RunEngine } from "../../runs/run-engine.ts";
import type { RecentAnswers } from "../answers/recent-answers.ts";
import type { ResponseCache } from "../answers/response-cache.ts";
import type { ModelDirectory } from "../models/model-directory.ts";
import type { ReplayCheckpoints } from "./replay-checkpoints.ts";

/** The dependencies of the API. */
export interface ResponsesParts {
  readonly engine: RunEngine;
  /** Resolves the models that requests name. */
  readonly models: Pick<ModelDirectory, "resolve">;
  /** Whether a response that is not stored may continue stored ones. Default false. */
  readonly allowsUnstoredContinuation?: boolean | undefined;
  /** Checkpoints in the events of responses that were read before. */
  readonly checkpoints: ReplayCheckpoints;
  /** Responses that WebSockets may continue although they are not stored. */
  readonly responseCache: ResponseCache;
  /** Recent answers that are not stored. */
  readonly recentAnswers: RecentAnswers;
  /** Longest silence of a stream before a keep-alive comment is sent, in milliseconds. Default 15 seconds. */
  readonly keepAliveMs?: number | undefined;
}
