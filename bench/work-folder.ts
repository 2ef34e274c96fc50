import { mkdirSync } from "node:fs";
import { fileURLToPath } from "node:url";

/** The project's folder. */
export const PROJECT_FOLDER = fileURLToPath(new URL("..", import.meta.url));

/** Where bundles, binaries and profiles go: a folder that no tool looks into. Made where it is not there. */
export const WORK_FOLDER = `${PROJECT_FOLDER}node_modules/.cache/outrigger-bench`;

mkdirSync(WORK_FOLDER, { recursive: true });
