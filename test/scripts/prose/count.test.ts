/** The counts of words and names that the lint compares with its limits. */
import { describe, expect, it } from "vitest";
import { countPhrases, readMarkdown, readProto, readSource } from "../../../scripts/prose/count.ts";

const source = `/** What a caller sends. */
export function sizeOf(text: string): number {
  // The place where it begins,
  // and the end of it.
  return \`\${text} // where\`.length;
}

class Reader {
  #nameOf = () => "own";
  read(): void {}
}

export const toText = (ownName: string) => ownName;
export const isSet = Object.hasOwn({}, "set");
it("fails where it must", () => {});
it.each([1])("reads %d", () => {});
// It is told of runs under way,
// and goes on.
it("goes on", () => {});
`;

const document = `# Title

Each key has its own share, where there is one.

\`\`\`ts
const where = "that of";
\`\`\`
`;

function getFigures(...texts: Parameters<typeof countPhrases>[0]) {
  return Object.fromEntries(countPhrases(texts).map(({ name, ...figure }) => [name, figure]));
}

describe("the prose of a program", () => {
  const figures = getFigures(readSource("a.ts", source));

  it("has names of functions, methods and variables that hold functions", () => {
    expect(figures["names that end in Of"]).toMatchObject({
      count: 2,
      value: 50,
      places: ["a.ts:2: sizeOf", "a.ts:9: nameOf"],
    });
  });

  it("has comments, in which lines that follow one another count once, and no strings", () => {
    expect(figures['comments with "where"']).toMatchObject({
      count: 1,
      value: (1 / 3) * 100,
      places: ["a.ts:3: The place where it begins, and the end of it."],
    });
    expect(figures['comments with "that of", "of it"']?.count).toBe(1);
    expect(figures['comments that begin with "What"']?.places).toEqual(["a.ts:1: What a caller sends."]);
  });

  it("has titles of tests", () => {
    expect(figures['test titles with "where"']).toMatchObject({ count: 1, value: (1 / 3) * 100 });
  });

  it("has phrases with a plainer word", () => {
    expect(figures['comments with "under way", "goes on"']?.places).toEqual([
      "a.ts:17: It is told of runs under way, and goes on.",
    ]);
    expect(figures['test titles with "under way", "goes on"']?.places).toEqual(["a.ts:19: goes on"]);
  });

  it("has uses of a word, by the number of lines", () => {
    expect(figures['"own"']?.places).toEqual([
      'a.ts:9: #nameOf = () => "own";',
      "a.ts:13: export const toText = (ownName: string) => ownName;",
      "a.ts:13: export const toText = (ownName: string) => ownName;",
    ]);
  });
});

describe("the prose of a document", () => {
  it("has paragraphs, but not what stands in code blocks", () => {
    const figures = getFigures(readMarkdown("a.md", document));
    expect(figures['comments with "where"']?.places).toEqual([
      "a.md:3: Each key has its own share, where there is one.",
    ]);
    expect(figures['comments with "that of", "of it"']?.count).toBe(0);
    expect(figures['"own"']?.count).toBe(1);
  });
});

const proto = `// What a key is. Unset
// where there is none.
message Key {
  string id = 1; // not read: where

  // The key's own name.
  string name = 2;
}
`;

describe("the prose of a Protobuf file", () => {
  it("has a comment for each group of lines", () => {
    const figures = getFigures(readProto("a.proto", proto));
    expect(figures['comments with "where"']?.places).toEqual([
      "a.proto:1: What a key is. Unset where there is none.",
    ]);
    expect(figures['comments that begin with "What"']).toMatchObject({ count: 1, value: 50 });
    expect(figures['"own"']?.places).toEqual(["a.proto:6: // The key's own name."]);
  });
});
