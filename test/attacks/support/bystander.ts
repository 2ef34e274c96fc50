/** A well-behaved client of a sidecar under attack, in a separate process: see bystander-process.ts. */
import { fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";

/** The access key of the bystander, for sidecars that ask for one. */
export const BYSTANDER_KEY = "the-access-key-of-the-bystander";

/** The observations of the bystander. */
export interface Observed {
  /** Calls that were answered. */
  readonly calls: number;
  readonly slowestCallMs: number;
  /** Answers of `/livez`. */
  readonly probes: number;
  readonly slowestProbeMs: number;
  /** Calls and probes that failed or took longer than half a minute, by their reasons. */
  readonly failures: readonly string[];
}

/** The address that the bystander calls. */
export interface Target {
  readonly url: string;
  readonly adminUrl: string;
}

/** A running bystander. */
export interface Bystander {
  /** The provider of its calls, as an entry of `providers` in the configuration. */
  readonly provider: Readonly<Record<string, unknown>>;
  /** Makes the first calls of a sidecar, one after the other. */
  warmUp(target: Target): Promise<void>;
  /** Calls continuously while a function runs. */
  observe(target: Target, run: () => Promise<unknown>): Promise<Observed>;
  close(): Promise<void>;
}

/** The orders that the process gets, and its answers. */
export type Order = { readonly begin: Target } | { readonly warmUp: Target } | "end";
export type Answer = { readonly providerUrl: string } | { readonly observed: Observed };

/** Starts the process of a bystander. */
export async function startBystander(): Promise<Bystander> {
  const child = fork(fileURLToPath(new URL("./bystander-process.ts", import.meta.url)));
  const answer = async (): Promise<Answer> => {
    const [message] = await once(child, "message");
    return message;
  };
  const first = await answer();
  if (!("providerUrl" in first)) throw new Error("the bystander did not say where its provider is");
  return {
    provider: { api: "openai-responses", api_key: "sk-bystander", base_url: first.providerUrl },
    async warmUp(target) {
      const warm = answer();
      child.send({ warmUp: target } satisfies Order);
      const last = await warm;
      if (!("observed" in last) || last.observed.failures.length > 0)
        throw new Error(`the sidecar does not serve: ${JSON.stringify(last)}`);
    },
    async observe(target, run) {
      child.send({ begin: target } satisfies Order);
      let observed: Promise<Answer>;
      try {
        await run();
      } finally {
        observed = answer();
        child.send("end" satisfies Order);
      }
      const last = await observed;
      if (!("observed" in last)) throw new Error("the bystander did not say what it saw");
      return last.observed;
    },
    async close() {
      child.kill("SIGKILL");
      await once(child, "close");
    },
  };
}
