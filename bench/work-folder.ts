import { mkdirSync, rmSync } from "node:fs";
import { fileURLToPath } from "node:url";

/** The project's folder. */
export const PROJECT_FOLDER = fileURLToPath(new URL("..", import.meta.url));

/** Folder for profiles, which no other tool reads. */
export const CACHE_FOLDER = `${PROJECT_FOLDER}node_modules/.cache/outrigger-bench`;

/**
 * Folder for the programs and files of this run, removed at its end. A copy, so that building the
 * project during a run does not change what is measured.
 */
export const RUN_FOLDER = `${CACHE_FOLDER}/run-${process.pid}`;

mkdirSync(RUN_FOLDER, { recursive: true });
process.once("exit", () => rmSync(RUN_FOLDER, { recursive: true, force: true }));
