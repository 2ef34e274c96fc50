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
  visit,
  type YAMLParseError,
} from "yaml";
import type { Environment } from "../client/from-env.ts";
import { formatPath, type Locate, type Path } from "./problems.ts";

/** The content of a configuration file. */
export interface YamlFile {
  /** The value, with variables filled in. An empty file is an empty mapping. */
  readonly value: unknown;
  /** Mistakes in the file: YAML that does not parse, variables that are not set. */
  readonly problems: readonly string[];
  /** Formatted paths of values whose variables are not set, which cannot be checked. */
  readonly unfilled: ReadonlySet<string>;
  /** Where a value is: `file:line:column` and its path. */
  readonly locate: Locate;
}

/**
 * Parses the text of a file and fills in its variables.
 * @param name Name of the file, for errors.
 */
export function parseYamlFile(name: string, text: string, environment: Environment): YamlFile {
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false });
  const place = (offset: number | undefined) => placeOf(name, lines, offset);
  const locate: Locate = (path) => `${place(offsetOf(document, path))} ${formatPath(path)}`.trimEnd();
  if (document.errors.length > 0) {
    const problems = meaningfulErrors(document.errors).map(
      (error) => `${place(error.pos[0])}: ${describe(error, text)}`,
    );
    return { value: {}, problems, unfilled: new Set(), locate };
  }
  const problems: string[] = [];
  const unfilled = new Set<string>();
  fillVariables(document, environment, (path, what) => {
    problems.push(`${locate(path)}: ${what}`);
    unfilled.add(formatPath(path));
  });
  return { value: document.toJS() ?? {}, problems, unfilled, locate };
}

/** Replaces the variables in all values. */
function fillVariables(
  document: Document,
  environment: Environment,
  problem: (path: Path, what: string) => void,
): void {
  visit(document, {
    Scalar(key, node, ancestors) {
      if (key === "key" || typeof node.value !== "string" || !node.value.includes("${")) return;
      const path = pathTo(key, ancestors);
      node.value = interpolate(node.value, environment, (what) => problem(path, what));
    },
  });
}

/** Fills `${NAME}`; `$${NAME}` stands for the text `${NAME}`. */
function interpolate(text: string, environment: Environment, problem: (what: string) => void): string {
  return text.replaceAll(/\$(\$?)\{([^}]*)\}?/g, (whole, escaped: string, name: string) => {
    if (escaped !== "") return whole.slice(1);
    if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(name) || !whole.endsWith("}")) {
      problem(`expected "\${NAME}" with the name of an environment variable, found "${whole.slice(0, 48)}"`);
      return "";
    }
    const value = environment[name];
    if (value === undefined || value === "") problem(`the environment variable ${name} is not set`);
    return value ?? "";
  });
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

/** The position of a value, or of the nearest enclosing node in the file. For a field without a value, of its name. */
function offsetOf(document: Document, path: Path): number | undefined {
  let node: unknown = document.contents;
  let offset = startOf(node);
  for (const step of path) {
    const parent = isAlias(node) ? node.resolve(document) : node;
    if (!isCollection(parent)) break;
    const name = isMap(parent)
      ? parent.items.find(({ key }) => isScalar(key) && key.value === step)?.key
      : undefined;
    node = parent.get(step, true);
    offset = startOf(name) ?? startOf(node) ?? offset;
  }
  return offset;
}

function startOf(node: unknown): number | undefined {
  if (typeof node !== "object" || node === null || !("range" in node)) return undefined;
  return Array.isArray(node.range) ? Number(node.range[0]) : undefined;
}

function placeOf(name: string, lines: LineCounter, offset: number | undefined): string {
  if (offset === undefined) return name;
  const { line, col } = lines.linePos(offset);
  return `${name}:${line}:${col}`;
}

/** Only the first syntax error: the errors after it are its consequences. */
function meaningfulErrors(errors: readonly YAMLParseError[]): YAMLParseError[] {
  const syntax = errors.find(({ code }) => code !== "DUPLICATE_KEY");
  return syntax === undefined ? [...errors] : [syntax];
}

/** The message of the parser without its quotes of the file, which may contain a key. */
function describe({ message, pos }: YAMLParseError, text: string): string {
  const [what = ""] = message.split(/: "/);
  const inFlow = text.slice(Math.max(0, pos[0] - 1), pos[0] + 1) === "${";
  const hint = inFlow ? `; between { } and [ ] a variable needs quotes: "\${NAME}"` : "";
  return `${what.charAt(0).toLowerCase()}${what.slice(1)}${hint}`;
}
