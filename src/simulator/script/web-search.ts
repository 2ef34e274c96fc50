import type { Scene } from "./scene.ts";
import type { Citation, WebSearchPart } from "./turn.ts";

/** A page that a simulated search finds. */
interface Page {
  readonly url: string;
  readonly title: string;
}

/** Citations that an answer has after a search, unless the option `citations` says otherwise. */
const usualCitations = 2;

/** Searches the web for the question: finds the pages that the answer will cite. */
export function searchWeb(scene: Scene): WebSearchPart {
  const query = scene.prompt.question.slice(0, 120);
  return {
    kind: "web_search",
    query,
    sources: Array.from({ length: citationCount(scene, true) }, (_, i) => pageAt(i)),
  };
}

/** How many sources an answer cites. */
export function citationCount(scene: Scene, searched: boolean): number {
  return scene.options.citations ?? (searched ? usualCitations : 0);
}

/**
 * Puts a sentence with its source before a text for each citation. The sentences stand first and are free of
 * characters beyond the basic plane, so that their places are the same for whoever counts bytes of UTF-16 or code points.
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
