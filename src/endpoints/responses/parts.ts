import type { RunEngine } from "../../runs/engine.ts";
import type { ModelDirectory } from "../models/model-directory.ts";

/** What the API is made of. */
export interface ResponsesParts {
  readonly engine: RunEngine;
  /** Where the models that requests name are. */
  readonly models: Pick<ModelDirectory, "resolve">;
  /** Longest silence of a stream before it says that it is alive, in milliseconds. Default 15 seconds. */
  readonly keepAliveMs?: number | undefined;
}
