import type { Implementation } from "../implementations/implementation.ts";
import { GatewayUnavailableError } from "./install.ts";
import { litellm } from "./litellm.ts";
import { portkey } from "./portkey.ts";

/**
 * Installs the gateways of others, in versions that are fixed here, and describes how to start them.
 * @param skip Told of each gateway that cannot be had, and why.
 */
export async function installGateways(skip: (line: string) => void): Promise<Implementation[]> {
  const installed: Implementation[] = [];
  for (const [name, install] of Object.entries({ litellm, portkey })) {
    try {
      installed.push(await install());
    } catch (error) {
      if (!(error instanceof GatewayUnavailableError)) throw error;
      skip(`${name} is skipped: ${error.message}`);
    }
  }
  return installed;
}
