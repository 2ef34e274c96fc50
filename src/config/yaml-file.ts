/** Reads a configuration file: YAML with `${NAME}` for variables, and positions for errors. */
import {
  type Document,
  isAlias,
  isCollection,
  isMap,
  isPair,
  isScalar,
  LineCounter,
  type Node,
  parseDocument,
  type Scalar,
  visit,
  type visitorFn,
  type YAMLMap,
  type YAMLParseError,
} from "yaml";
import type { Environment } from "../client/from-env.ts";
import { formatPath, type Locate, MAX_DESCRIBED, type Path } from "./problems.ts";

/** The content of a configuration file. */
export interface YamlFile {
  /** The value, with variables filled in. An empty file is an empty mapping. */
  readonly value: unknown;
  /** Mistakes in the file: YAML that does not parse, variables that are not set. */
  readonly problems: readonly string[];
  /** Formatted paths of values whose variables are not set, which cannot be checked. */
  readonly unresolved: ReadonlySet<string>;
  /** Values that hold the value of a variable, which may be a key. */
  readonly substituted: ReadonlySet<unknown>;
  /** Names of the variables that the file refers to. */
  readonly variables: ReadonlySet<string>;
  /** Describes the location of a value: `file:line:column` and its path. */
  readonly locate: Locate;
}

/**
 * Parses the text of a file and fills in its variables.
 * @param name Name of the file, for errors.
 */
export function parseYamlFile(name: string, text: string, environment: Environment): YamlFile {
  const lines = new LineCounter();
  const position = (offset: number | undefined) => toPosition(name, lines, offset);
  try {
    // Duplicate names are found below, because the parser compares each name with all others.
    const document = parseDocument(text, { lineCounter: lines, prettyErrors: false, uniqueKeys: false });
    const locate: Locate = (path) => `${position(findOffset(document, path))} ${formatPath(path)}`.trimEnd();
    const [syntaxError] = document.errors;
    // Later errors are consequences of the first one.
    if (syntaxError !== undefined)
      return brokenFile(`${position(syntaxError.pos[0])}: ${describe(syntaxError, text)}`, locate);
    const interpolation = new Interpolation(environment, locate);
    visit(document, interpolation);
    const duplicates = interpolation.duplicates.map(
      (node) => `${position(getStart(node))}: map keys must be unique`,
    );
    return {
      ...interpolation,
      problems: [...duplicates, ...interpolation.problems],
      value: document.toJS() ?? {},
      locate,
    };
  } catch (error) {
    return brokenFile(`${name}: ${describeFailure(error)}`, () => name);
  }
}

function brokenFile(problem: string, locate: Locate): YamlFile {
  const none: ReadonlySet<string> = new Set();
  return { value: {}, problems: [problem], unresolved: none, substituted: none, variables: none, locate };
}

/** Fills in the variables of a document, as a visitor of its nodes. */
class Interpolation {
  readonly problems: string[] = [];
  readonly duplicates: unknown[] = [];
  readonly unresolved = new Set<string>();
  readonly substituted = new Set<unknown>();
  readonly variables = new Set<string>();
  readonly #environment: Environment;
  readonly #locate: Locate;

  constructor(environment: Environment, locate: Locate) {
    this.#environment = environment;
    this.#locate = locate;
  }

  readonly Map = (_key: unknown, { items }: YAMLMap): void => {
    const names = new Set<unknown>();
    for (const { key } of items) {
      const name = isScalar(key) ? key.value : key;
      const isDuplicate = names.has(name) && name !== "<<";
      if (isDuplicate && this.duplicates.length < MAX_DESCRIBED) this.duplicates.push(key);
      names.add(name);
    }
  };

  readonly Scalar: visitorFn<Scalar> = (key, node, ancestors) => {
    if (key === "key" || typeof node.value !== "string" || !node.value.includes("${")) return;
    const path = pathTo(key, ancestors);
    const text = this.#interpolate(node.value, (problem) => {
      if (this.problems.length < MAX_DESCRIBED) this.problems.push(`${this.#locate(path)}: ${problem}`);
      this.unresolved.add(formatPath(path));
    });
    node.value = text;
    if (text !== "") this.substituted.add(text);
  };

  /** Fills `${NAME}`; `$${NAME}` stands for the text `${NAME}`. */
  #interpolate(text: string, report: (problem: string) => void): string {
    return text.replaceAll(/\$(\$?)\{([^}]*)\}?/g, (whole, escaped: string, name: string) => {
      if (escaped !== "") return whole.slice(1);
      // The found text is not shown: people paste keys between the braces.
      if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(name) || !whole.endsWith("}")) {
        report(`expected "\${NAME}" with the name of an environment variable`);
        return "";
      }
      this.variables.add(name);
      const value = this.#environment[name];
      if (value === undefined || value === "") report(`the environment variable ${name} is not set`);
      return value ?? "";
    });
  }
}

function pathTo(
  key: number | "key" | "value" | null,
  ancestors: readonly (Document | Node | object)[],
): Path {
  const path: PropertyKey[] = [];
  for (const [index, ancestor] of ancestors.entries()) {
    const child = ancestors[index + 1];
    if (isPair(ancestor)) path.push(String(isScalar(ancestor.key) ? ancestor.key.value : ancestor.key));
    else if (isCollection(ancestor) && !isMap(ancestor)) {
      path.push(child === undefined ? Number(key) : ancestor.items.indexOf(child));
    }
  }
  return path;
}

/**
 * Returns the offset of a value, or of the nearest enclosing node in the file. For a field without a value, returns the
 * offset of its name.
 */
function findOffset(document: Document, path: Path): number | undefined {
  let node: unknown = document.contents;
  let offset = getStart(node);
  for (const step of path) {
    const parent = isAlias(node) ? node.resolve(document) : node;
    if (!isCollection(parent)) break;
    const name = isMap(parent)
      ? parent.items.find(({ key }) => isScalar(key) && key.value === step)?.key
      : undefined;
    node = parent.get(step, true);
    offset = getStart(name) ?? getStart(node) ?? offset;
  }
  return offset;
}

function getStart(node: unknown): number | undefined {
  if (typeof node !== "object" || node === null || !("range" in node)) return undefined;
  return Array.isArray(node.range) ? Number(node.range[0]) : undefined;
}

function toPosition(name: string, lines: LineCounter, offset: number | undefined): string {
  if (offset === undefined) return name;
  const { line, col } = lines.linePos(offset);
  return `${name}:${line}:${col}`;
}

/** Returns the parser's message without its excerpts of the file, which may contain a key. */
function describe({ message, pos }: YAMLParseError, text: string): string {
  // The parser reports an overflow of its stack as an error of the file.
  if (message.startsWith("Maximum call stack size exceeded")) return TOO_DEEP;
  const [what = ""] = message.split(/: "/);
  const inFlow = text.slice(Math.max(0, pos[0] - 1), pos[0] + 1) === "${";
  const hint = inFlow ? `; between { } and [ ] a variable needs quotes: "\${NAME}"` : "";
  return `${what.charAt(0).toLowerCase()}${what.slice(1)}${hint}`;
}

const TOO_DEEP = "expected fewer levels of nesting";

/** Describes why YAML cannot be read: too many aliases, or too many levels. */
function describeFailure(error: unknown): string {
  if (error instanceof RangeError) return TOO_DEEP;
  if (error instanceof ReferenceError)
    return "expected fewer uses of aliases (*name), which repeat a large part";
  throw error;
}
