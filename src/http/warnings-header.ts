/** Header of answers that lists the parts of the request that had no effect, as JSON. */
export const WARNINGS_HEADER = "outrigger-warnings";
