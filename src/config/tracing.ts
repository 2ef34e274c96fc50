/**
 * Tracing by OpenTelemetry's environment variables
 * (https://opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables/).
 */
import type { Environment } from "../client/from-env.ts";

const PROTOCOLS = ["http/protobuf", "http/json", "grpc"] as const;

const SAMPLERS = [
  "always_on",
  "always_off",
  "traceidratio",
  "parentbased_always_on",
  "parentbased_always_off",
  "parentbased_traceidratio",
] as const;

/** Which calls are traced, and how the spans are sent. The exporter itself reads address, headers and certificates. */
export interface TracingConfig {
  readonly protocol: (typeof PROTOCOLS)[number];
  readonly sampler: (typeof SAMPLERS)[number];
  /** Share of the traces for samplers with a ratio, from 0 to 1. */
  readonly ratio: number;
  readonly batch: {
    /** Spans that wait to be sent; more are dropped. */
    readonly maxQueueSize: number;
    readonly maxExportBatchSize: number;
    /** Milliseconds. */
    readonly scheduledDelayMillis: number;
    /** Milliseconds. */
    readonly exportTimeoutMillis: number;
  };
  /** Whether texts of requests and answers are recorded. */
  readonly recordsContent: boolean;
}

/** The variables that name the collector. */
const ENDPOINTS = ["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT"];

/**
 * Reads the variables. Tracing is on if `OTEL_TRACES_EXPORTER` is `otlp`, or if the variables name a collector but no
 * exporter. Otherwise `tracing` is undefined.
 */
export function readTracing(environment: Environment): {
  readonly tracing: TracingConfig | undefined;
  readonly problems: readonly string[];
} {
  const reader = new VariableReader(environment);
  const exporter = reader.word("OTEL_TRACES_EXPORTER", ["otlp", "none"], undefined);
  const isNamed = ENDPOINTS.some((name) => reader.text(name) !== undefined);
  const isOn = exporter === "otlp" || (exporter === undefined && isNamed);
  if (!isOn || reader.flag("OTEL_SDK_DISABLED")) return { tracing: undefined, problems: reader.problems };
  for (const name of ENDPOINTS) reader.url(name);
  const protocol = reader.word("OTEL_EXPORTER_OTLP_PROTOCOL", PROTOCOLS, "http/protobuf");
  const tracing: TracingConfig = {
    protocol: reader.word("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", PROTOCOLS, protocol),
    sampler: reader.word("OTEL_TRACES_SAMPLER", SAMPLERS, "parentbased_always_on"),
    ratio: reader.number("OTEL_TRACES_SAMPLER_ARG", 1, [0, 1], "number"),
    batch: {
      maxQueueSize: reader.number("OTEL_BSP_MAX_QUEUE_SIZE", 2048, [1, 65_536]),
      maxExportBatchSize: reader.number("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", 512, [1, 65_536]),
      scheduledDelayMillis: reader.number("OTEL_BSP_SCHEDULE_DELAY", 5_000, [0, 600_000]),
      exportTimeoutMillis: reader.number("OTEL_BSP_EXPORT_TIMEOUT", 30_000, [1, 600_000]),
    },
    recordsContent: reader.flag("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"),
  };
  return { tracing, problems: reader.problems };
}

/** Reads variables and notes what is wrong with them. An empty variable counts as unset. */
class VariableReader {
  readonly problems: string[] = [];
  readonly #environment: Environment;

  constructor(environment: Environment) {
    this.#environment = environment;
  }

  text(name: string): string | undefined {
    return this.#environment[name]?.trim() || undefined;
  }

  flag(name: string): boolean {
    return this.word(name, ["true", "false"], "false", this.text(name)?.toLowerCase()) === "true";
  }

  word<Word extends string, Default extends Word | undefined>(
    name: string,
    words: readonly Word[],
    fallback: Default,
    text = this.text(name),
  ): Word | Default {
    if (text === undefined) return fallback;
    const word = words.find((known) => known === text);
    if (word === undefined) this.#note(name, words.join(", ").replace(/, ([^,]*)$/, " or $1"), text);
    return word ?? fallback;
  }

  number(
    name: string,
    fallback: number,
    [min, max]: readonly [min: number, max: number],
    kind: "number" | "whole number" = "whole number",
  ): number {
    const text = this.text(name);
    if (text === undefined) return fallback;
    const value = Number(text);
    const isValid = value >= min && value <= max && (kind === "number" || Number.isInteger(value));
    if (!isValid) this.#note(name, `a ${kind} from ${min} to ${max}`, text);
    return isValid ? value : fallback;
  }

  url(name: string): void {
    const text = this.text(name);
    const protocol = text === undefined ? "http:" : URL.parse(text)?.protocol;
    // An address can hold a password.
    if (protocol !== "http:" && protocol !== "https:") this.#note(name, "an http: or https: URL");
  }

  #note(name: string, expected: string, found?: string): void {
    const shown = found === undefined ? "another text" : JSON.stringify(found.slice(0, 64));
    this.problems.push(`${name}: expected ${expected}, found ${shown}`);
  }
}
