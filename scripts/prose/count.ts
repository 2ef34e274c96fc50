import { type Comment, parseSync, Visitor } from "oxc-parser";

/** A piece of prose or a name, with its line for the report. */
interface Piece {
  readonly text: string;
  readonly line: number;
}

/** The prose of one file. */
export interface Text {
  readonly path: string;
  readonly lines: number;
  /** Names of functions and methods. */
  readonly names: readonly Piece[];
  /** Comments of a program, paragraphs of a document. */
  readonly comments: readonly Piece[];
  /** Titles of tests and of their groups. */
  readonly titles: readonly Piece[];
  /** Uses of the word "own" in names and prose. */
  readonly own: readonly Piece[];
}

/** How often something occurs. */
export interface Figure {
  readonly name: string;
  readonly count: number;
  readonly value: number;
  readonly unit: string;
  /** `path:line: text` of each occurrence. */
  readonly places: readonly string[];
}

/** `Object.hasOwn` is a name of JavaScript. */
const OWN = /\bown(?:\b|(?=[A-Z]))|(?<!\bObject\.ha)[a-z]Own(?=[A-Z]|\b)/g;

/** Reads the names, comments and test titles of a program. */
export function readSource(path: string, text: string): Text {
  const { program, comments } = parseSync(path, text);
  const lines = text.split("\n");
  const lineAt = createLineLookup(lines);
  const names: Piece[] = [];
  const titles: Piece[] = [];
  new Visitor({
    FunctionDeclaration: ({ id }) => add(names, id),
    MethodDefinition: ({ key }) => add(names, key),
    TSMethodSignature: ({ key }) => add(names, key),
    VariableDeclarator: ({ id, init }) => holdsFunction(init) && add(names, id),
    Property: ({ key, value }) => holdsFunction(value) && add(names, key),
    PropertyDefinition: ({ key, value }) => holdsFunction(value) && add(names, key),
    CallExpression: ({ callee, arguments: [title] }) => {
      const isTest = /^(?:it|test|describe)\b/.test(text.slice(callee.start, callee.start + 10));
      if (isTest && title?.type === "Literal" && typeof title.value === "string")
        titles.push({ text: title.value, line: lineAt(title.start) });
    },
  }).visit(program);

  function add(pieces: Piece[], name: { type: string; name?: unknown; start: number } | null): void {
    if (typeof name?.name === "string") pieces.push({ text: name.name, line: lineAt(name.start) });
  }

  const own = [...text.matchAll(OWN)].map(({ index }) => {
    const line = lineAt(index);
    return { text: lines[line - 1]?.trim() ?? "", line };
  });
  return { path, lines: lines.length, names, comments: joinComments(text, comments, lineAt), titles, own };
}

/** Gives the line, counted from 1, of a place in a text. */
function createLineLookup(lines: readonly string[]): (offset: number) => number {
  const starts: number[] = [0];
  for (const line of lines) starts.push((starts.at(-1) ?? 0) + line.length + 1);
  return (offset) => {
    let [low, high] = [0, starts.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((starts[middle] ?? 0) <= offset) low = middle + 1;
      else high = middle;
    }
    return low;
  };
}

function holdsFunction(value: { readonly type: string } | null): boolean {
  return value?.type === "ArrowFunctionExpression" || value?.type === "FunctionExpression";
}

/** Reads the paragraphs of a document; its code blocks are no prose. */
export function readMarkdown(path: string, text: string): Text {
  const prose = text.replace(/^```[\s\S]*?^```/gm, (block) => block.replace(/[^\n]/g, ""));
  const comments: Piece[] = [];
  const own: Piece[] = [];
  let paragraph: string[] = [];
  prose.split("\n").forEach((line, index, all) => {
    if (line.match(OWN) !== null) own.push({ text: line.trim(), line: index + 1 });
    if (line.trim() !== "") paragraph.push(line.trim());
    if (paragraph.length > 0 && (line.trim() === "" || index === all.length - 1)) {
      const next = line.trim() === "" ? index + 1 : index + 2;
      comments.push({ text: paragraph.join(" "), line: next - paragraph.length });
      paragraph = [];
    }
  });
  return { path, lines: text.split("\n").length, names: [], comments, titles: [], own };
}

/** Reads the comments of a Protobuf file; lines that follow one another are one. */
export function readProto(path: string, text: string): Text {
  const lines = text.split("\n");
  const comments: { text: string; line: number }[] = [];
  const own: Piece[] = [];
  let previous = -1;
  for (const [index, line] of lines.entries()) {
    const [, comment] = /^\s*\/\/(.*)$/.exec(line) ?? [];
    if (comment === undefined) continue;
    const last = comments.at(-1);
    if (last !== undefined && previous === index - 1) last.text += ` ${cleanComment(comment)}`;
    else comments.push({ text: cleanComment(comment), line: index + 1 });
    previous = index;
    if (comment.match(OWN) !== null) own.push({ text: line.trim(), line: index + 1 });
  }
  return { path, lines: lines.length, names: [], comments, titles: [], own };
}

/** The comments of a program; line comments that follow one another are one. */
function joinComments(
  text: string,
  comments: readonly Comment[],
  lineAt: (offset: number) => number,
): Piece[] {
  const joined: { text: string; line: number; end: number }[] = [];
  for (const { type, value, start, end } of comments) {
    const last = joined.at(-1);
    if (type === "Line" && last !== undefined && /^\r?\n[ \t]*$/.test(text.slice(last.end, start))) {
      last.text += ` ${cleanComment(value)}`;
      last.end = end;
    } else joined.push({ text: cleanComment(value), line: lineAt(start), end });
  }
  return joined;
}

function cleanComment(comment: string): string {
  return comment
    .replace(/^\s*\*/gm, "")
    .replace(/\s+/g, " ")
    .trim();
}

/** Phrases for which the field has a plainer word: in progress, continue, no longer, is reported, next to. */
const DIALECT =
  /\bunder way\b|\b(?:go|goes|going|went) on\b|\bany more\b|\b(?:is|are|was|were) told\b|\bbeside\b/i;

/** Counts what makes names and prose hard to read. */
export function countPhrases(texts: readonly Text[]): Figure[] {
  const share = (name: string, kind: "names" | "comments" | "titles", pattern: RegExp): Figure => {
    const all = texts.flatMap((text) => text[kind].map((piece) => ({ ...piece, path: text.path })));
    const found = all.filter(({ text }) => pattern.test(text));
    return toFigure(name, found, (found.length / all.length) * 100, "%");
  };
  const own = texts.flatMap(({ path, own: pieces }) => pieces.map((piece) => ({ ...piece, path })));
  const lines = texts.reduce((sum, text) => sum + text.lines, 0);
  return [
    share("names that end in Of", "names", /Of$/),
    share('comments with "where"', "comments", /\bwhere\b/i),
    share('comments with "that of", "of it"', "comments", /\b(?:that|those) of\b|\bof (?:it|them)\b/i),
    share('comments that begin with "What"', "comments", /^What\b/),
    share('test titles with "where"', "titles", /\bwhere\b/i),
    share('comments with "under way", "goes on"', "comments", DIALECT),
    share('test titles with "under way", "goes on"', "titles", DIALECT),
    toFigure('"own"', own, (own.length / lines) * 1_000, "per 1,000 lines"),
  ];
}

function toFigure(
  name: string,
  found: readonly (Piece & { readonly path: string })[],
  value: number,
  unit: string,
): Figure {
  const places = found.map(({ path, line, text }) => `${path}:${line}: ${text.slice(0, 160)}`);
  return { name, count: found.length, value, unit, places };
}
