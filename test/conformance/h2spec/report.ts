/** A case of h2spec, and how it went. */
export interface CaseResult {
  /** Section of the specification and what the peer does, for instance `http2/3.5: Sends ...`. */
  readonly name: string;
  readonly passed: boolean;
}

/**
 * Reads a JUnit report of h2spec. It is no XML to a parser: failures quote the bytes that came
 * as they are. What is needed is in the tags, which every case has in one line.
 */
export function readReport(text: string): CaseResult[] {
  return [...text.matchAll(CASE)].map(([, section, title, problem]) => ({
    name: `${section}: ${title}`,
    passed: problem === undefined,
  }));
}

const CASE = /<testcase package="([^"]*)" classname="([^"]*)"[^>]*>\s*(<failure|<error)?/g;
