// Written by scripts/generate-clients.ts.

/** Version of this package, which the user agent of every call names. */
export const VERSION = "0.1.0";
