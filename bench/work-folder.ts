import { mkdirSync, rmSync } from "node:fs";
import { fileURLToPath } from "node:url";

/** The project's folder. */
export const PROJECT_FOLDER = fileURLToPath(new URL("..", import.meta.url));

/** Where profiles stay: a folder that no tool looks into. */
export const CACHE_FOLDER = `${PROJECT_FOLDER}node_modules/.cache/outrigger-bench`;

/**
 * Where this run has its programs and files, until it ends. What is measured stays as it was at
 * the start, also where somebody builds the project meanwhile.
 */
export const RUN_FOLDER = `${CACHE_FOLDER}/run-${process.pid}`;

mkdirSync(RUN_FOLDER, { recursive: true });
process.once("exit", () => rmSync(RUN_FOLDER, { recursive: true, force: true }));
