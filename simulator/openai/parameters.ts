import type { Effort } from "../script/prompt.ts";
import { type Check, openObject, required, string } from "./check.ts";
import { invalidRequest } from "./problem.ts";

/** Efforts of reasoning. */
export const efforts: readonly Effort[] = ["none", "minimal", "low", "medium", "high", "xhigh", "max"];

/** Tiers of service. */
export const serviceTiers = ["auto", "default", "flex", "scale", "priority", "fast", "ultrafast"];

/** The characters of names of tools and of formats. */
export const namePattern = /^[a-zA-Z0-9_-]+$/;

/** The name of a format. */
export const formatName = required(string({ minimum: 1, maximum: 64, pattern: namePattern }));

/** `metadata`: 16 pairs of strings, with keys of 64 and values of 512 characters. */
export const metadata: Check = (value, path) => {
  openObject()(value, path);
  const entries = Object.entries(value as Readonly<Record<string, unknown>>);
  if (entries.length > 16) {
    const message = `Invalid '${path}': too many properties. Expected an object with at most 16 properties, but got an object with ${entries.length} properties instead.`;
    throw invalidRequest(message, path, "object_above_max_properties");
  }
  for (const [key, each] of entries) {
    string({ maximum: 64 })(key, path);
    string({ maximum: 512 })(each, `${path}.${key}`);
  }
};
