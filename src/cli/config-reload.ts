import type { Logger } from "pino";
import { type Config, findChanges } from "../config/index.ts";
import { tryStat } from "../config/small-file.ts";
import { ConfigurationError } from "../core/errors.ts";
import { describeFault } from "../server/telemetry/logging.ts";
import type { Metrics } from "../server/telemetry/metrics.ts";

/** The parts that follow the configuration file. */
export interface ConfigReloadOptions {
  readonly config: Config;
  /** Reads the configuration again. @throws ConfigurationError with every mistake. */
  readonly load: () => Promise<Config>;
  /** Uses a configuration. @throws ConfigurationError if it cannot; nothing has changed then. */
  readonly use: (config: Config) => void;
  readonly logger: Logger;
  readonly metrics: Pick<Metrics, "configReloaded">;
}

const NEEDS_RESTART = "a change needs a restart; the changed file is not used before that";

/** Interval at which the file is checked, in milliseconds: one call of stat. */
const POLL_MS = 1000;

/**
 * Reads the configuration file again when it was replaced, and on request. A file is used as a whole or not at all:
 * with a mistake in it, or a change of a field that needs a restart, the previous configuration stays in use.
 */
export class ConfigReload {
  readonly #options: ConfigReloadOptions;
  readonly #timer: NodeJS.Timeout | undefined;
  #config: Config;
  /** Version of the file at the last check, and of the file that was read last. */
  #seen: string;
  #read: string;
  #running: Promise<void> = Promise.resolve();

  constructor(options: ConfigReloadOptions) {
    this.#options = options;
    this.#config = options.config;
    this.#seen = this.#read = this.#readVersion();
    const hasFile = options.config.path !== undefined;
    this.#timer = hasFile ? setInterval(() => this.checkFile(), POLL_MS).unref() : undefined;
  }

  /** Reads the file if it was replaced, once it is the same in two checks: an editor may still be writing it. */
  checkFile(): void {
    const version = this.#readVersion();
    const isSettled = version === this.#seen;
    this.#seen = version;
    if (isSettled && version !== this.#read) void this.reload();
  }

  /** Reads the file, whether it was replaced or not. Several calls read it one after the other. Never rejects. */
  reload(): Promise<void> {
    this.#running = this.#running.then(() => this.#reload());
    return this.#running;
  }

  /** Stops following the file. */
  close(): void {
    clearInterval(this.#timer);
  }

  async #reload(): Promise<void> {
    const { load, use, logger, metrics } = this.#options;
    const { path } = this.#config;
    // The version is read before the content, so that the next check notices a change in between.
    this.#read = this.#readVersion();
    try {
      const config = await load();
      const { live, fixed } = findChanges(this.#config, config);
      if (fixed.length > 0) throw new ConfigurationError(`${fixed.join(", ")}: ${NEEDS_RESTART}`);
      use(config);
      this.#config = config;
      metrics.configReloaded(true);
      for (const notice of config.notices) logger.warn(notice);
      logger.info({ path, changed: live }, "using the reloaded configuration");
    } catch (error) {
      metrics.configReloaded(false);
      const isMistake = error instanceof ConfigurationError;
      const reason = isMistake ? { problem: error.message } : { fault: describeFault(error) };
      logger.error({ path, ...reason }, "cannot use the changed configuration, keeping the previous one");
    }
  }

  #readVersion(): string {
    const { path } = this.#options.config;
    const stats = path === undefined ? path : tryStat(path);
    return stats === undefined ? "" : `${stats.dev} ${stats.ino} ${stats.size} ${stats.mtimeNs}`;
  }
}
