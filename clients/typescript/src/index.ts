/**
 * `@outrigger-inference/client`: calls a sidecar. Beside the Client it exports what `outrigger` does, the library that
 * calls the providers itself, so that a program changes from one to the other by its import.
 */

import { setModelClientSource } from "../../../src/generation/default-model-client.ts";
import { getDefaultClient, setDefaultClient } from "./default-client.ts";

export * from "../../../src/common.ts";
export { Client, type ClientOptions } from "./client.ts";
export { getDefaultClient, setDefaultClient };

setModelClientSource(getDefaultClient);
