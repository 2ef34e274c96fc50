import manifest from "../../package.json" with { type: "json" };

/** Version of the program. */
export const version: string = manifest.version;
