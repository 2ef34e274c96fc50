/** The names under which a model gets the tools of MCP servers. */
import { createHash } from "node:crypto";

/** Longest function name that every provider accepts, in characters. */
const MAX_CHARS = 64;

const DIGEST_CHARS = 8;

/**
 * The name of a server's tool as a function: `label__tool`. Depends on nothing but label and tool, so that a call in the
 * history of a conversation has the name that its tool has now. Where a provider would refuse that name, a digest makes
 * up for what is replaced and cut.
 */
export function modelToolName(label: string, tool: string): string {
  const name = `${label}__${tool}`;
  return /^[A-Za-z0-9_-]+$/.test(name) && name.length <= MAX_CHARS ? name : digestedName(label, tool, 0);
}

/** The same, different from names that are taken. */
export function freeToolName(label: string, tool: string, taken: { has(name: string): boolean }): string {
  let name = modelToolName(label, tool);
  for (let attempt = 1; taken.has(name); attempt += 1) name = digestedName(label, tool, attempt);
  return name;
}

function digestedName(label: string, tool: string, attempt: number): string {
  const digest = createHash("sha256")
    .update(JSON.stringify([label, tool, attempt]))
    .digest("hex")
    .slice(0, DIGEST_CHARS);
  const readable = `${label}__${tool}`.replaceAll(/[^A-Za-z0-9_-]/g, "_");
  return `${readable.slice(0, MAX_CHARS - DIGEST_CHARS - 1)}_${digest}`;
}
