import { createHash } from "node:crypto";
import type { AccessKey } from "../../../src/config/caller-grants.ts";

/** An access key as the configuration makes it. Without settings it has no limit, and may use every model. */
export function accessKey(
  name: string,
  keys: readonly string[],
  settings: Partial<Pick<AccessKey, "rateLimit" | "allowsModel">> = {},
): AccessKey {
  return {
    name,
    digests: keys.map((key) => createHash("sha256").update(key).digest()),
    rateLimit: settings.rateLimit,
    isRestricted: settings.allowsModel !== undefined,
    allowsModel: settings.allowsModel ?? (() => true),
  };
}
