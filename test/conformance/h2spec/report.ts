/** A case of h2spec, and its result. */
export interface CaseResult {
  /** Section of h2spec and what the client does, for instance `http2/3.5: Sends ...`. */
  readonly name: string;
  readonly passed: boolean;
}

/**
 * Reads a JUnit report of h2spec. It is not valid XML: failures quote received bytes without
 * escaping. Only the tags are needed, which each case has in one line.
 */
export function readReport(text: string): CaseResult[] {
  return [...text.matchAll(CASE)].map(([, section, title, problem]) => ({
    name: `${section}: ${title}`,
    passed: problem === undefined,
  }));
}

const CASE = /<testcase package="([^"]*)" classname="([^"]*)"[^>]*>\s*(<failure|<error)?/g;
