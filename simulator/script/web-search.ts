import type { ScriptInput } from "./script-input.ts";
import type { Citation, WebSearchPart } from "./turn.ts";

/** A result of a simulated search. */
interface Page {
  readonly url: string;
  readonly title: string;
}

/** Number of citations after a search, unless the option `citations` is set. */
const defaultCitations = 2;

/** Simulates a web search for the question, with the pages that the answer will cite. */
export function searchWeb(input: ScriptInput): WebSearchPart {
  const query = input.prompt.question.slice(0, 120);
  return {
    kind: "web_search",
    query,
    sources: Array.from({ length: citationCount(input, true) }, (_, i) => pageAt(i)),
  };
}

/** Returns the number of sources that an answer cites. */
export function citationCount(input: ScriptInput, searched: boolean): number {
  return input.options.citations ?? (searched ? defaultCitations : 0);
}

/**
 * Inserts a sentence with its source before a text for each citation. The sentences come first and are ASCII, so that
 * their positions are the same in bytes, UTF-16 units and code points.
 */
export function citeSources(text: string, count: number): { text: string; citations: Citation[] } {
  const citations: Citation[] = [];
  let cited = "";
  for (let index = 0; index < count; index += 1) {
    const page = pageAt(index);
    const mark = `([${new URL(page.url).hostname}](${page.url}))`;
    cited += `Source ${index + 1} agrees. `;
    citations.push({ start: cited.length, end: cited.length + mark.length, ...page });
    cited += `${mark}\n`;
  }
  return { text: cited === "" ? text : `${cited}\n${text}`, citations };
}

function pageAt(index: number): Page {
  return {
    url: `https://www.example.com/pages/${index + 1}?utm_source=simulator`,
    title: `Example page ${index + 1}`,
  };
}
