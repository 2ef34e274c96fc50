/** Finds the places of a source file that can be changed, and the changes. */
import { parseAst } from "vitest/node";

/** One change of a source file. */
export interface Mutant {
  /** Path below the project's folder. */
  readonly file: string;
  /** Line of the change, from 1. */
  readonly line: number;
  /** That line, without indentation. */
  readonly lineText: string;
  /** Offsets of the text that is replaced. */
  readonly start: number;
  readonly end: number;
  readonly before: string;
  readonly after: string;
}

/** A node of the syntax tree (ESTree, with TypeScript's nodes). */
interface SyntaxNode {
  readonly type: string;
  readonly start: number;
  readonly end: number;
  readonly [field: string]: unknown;
}

type Change = readonly [target: SyntaxNode | { start: number; end: number }, after: string];

/** Lists all mutants of a file, in the order of their places. */
export function listMutants(file: string, text: string): Mutant[] {
  const changes: Change[] = [];
  visit(parseAst(text, { lang: "ts" }) as unknown as SyntaxNode, undefined, (node, parent) => {
    changes.push(...getChanges(node, parent, text));
  });
  return changes
    .map(([{ start, end }, after]) => toMutant(file, text, start, end, after))
    .filter(({ before, after }) => before !== after)
    .sort((a, b) => a.start - b.start || a.end - b.end);
}

/** Applies a mutant to the text of its file. */
export function applyMutant(text: string, { start, end, after }: Mutant): string {
  return text.slice(0, start) + after + text.slice(end);
}

function toMutant(file: string, text: string, start: number, end: number, after: string): Mutant {
  const line = text.slice(0, start).split("\n").length;
  const lineText = text.split("\n")[line - 1]?.trim() ?? "";
  return { file, line, lineText, start, end, before: text.slice(start, end), after };
}

/** TypeScript's nodes that contain code that runs. All others are types. */
const TYPESCRIPT_CODE = new Set(["TSAsExpression", "TSSatisfiesExpression", "TSNonNullExpression"]);

/** Parts of the module system: their strings are paths. */
const MODULE_NODES = new Set(["ImportDeclaration", "ExportAllDeclaration", "ImportExpression"]);

function visit(
  node: SyntaxNode,
  parent: SyntaxNode | undefined,
  onNode: (node: SyntaxNode, parent: SyntaxNode | undefined) => void,
): void {
  if (MODULE_NODES.has(node.type)) return;
  if (node.type.startsWith("TS") && !TYPESCRIPT_CODE.has(node.type) && node.type !== "TSParameterProperty") {
    return;
  }
  onNode(node, parent);
  for (const [field, value] of Object.entries(node)) {
    if (field === "source" && node.type === "ExportNamedDeclaration") continue;
    for (const child of Array.isArray(value) ? value : [value]) {
      if (isNode(child)) visit(child, node, onNode);
    }
  }
}

function isNode(value: unknown): value is SyntaxNode {
  return typeof value === "object" && value !== null && "type" in value && "start" in value;
}

/** Binary and logical operators, with their replacements. */
const OPERATORS: Readonly<Record<string, readonly string[]>> = {
  "<": ["<=", ">="],
  "<=": ["<", ">"],
  ">": [">=", "<="],
  ">=": [">", "<"],
  "===": ["!=="],
  "!==": ["==="],
  "+": ["-"],
  "-": ["+"],
  "*": ["/"],
  "/": ["*"],
  "%": ["*"],
  "&&": ["||"],
  "||": ["&&"],
  "+=": ["-="],
  "-=": ["+="],
  "++": ["--"],
  "--": ["++"],
};

function getChanges(node: SyntaxNode, parent: SyntaxNode | undefined, text: string): Change[] {
  switch (node.type) {
    case "IfStatement":
    case "ConditionalExpression":
      return [
        [node.test as SyntaxNode, "true"],
        [node.test as SyntaxNode, "false"],
      ];
    case "WhileStatement":
      return [[node.test as SyntaxNode, "false"]];
    case "BinaryExpression":
    case "LogicalExpression":
    case "AssignmentExpression":
      return changeOperator(node, text);
    case "UpdateExpression":
      return changeUpdate(node);
    case "UnaryExpression":
      return node.operator === "!" ? [[node, sliceNode(text, node.argument as SyntaxNode)]] : [];
    case "ExpressionStatement":
      return isRemovable(node) ? [[node, ";"]] : [];
    case "ReturnStatement":
    case "ThrowStatement":
    case "BreakStatement":
    case "ContinueStatement":
      return isConditional(parent) ? [[node, ";"]] : [];
    case "Literal":
      return changeLiteral(node, parent);
    default:
      return [];
  }
}

function sliceNode(text: string, { start, end }: SyntaxNode): string {
  return text.slice(start, end);
}

function changeOperator(node: SyntaxNode, text: string): Change[] {
  const [left, right] = [node.left as SyntaxNode, node.right as SyntaxNode];
  const operator = String(node.operator);
  if (operator === "??") return [[node, sliceNode(text, left)]];
  if (operator.startsWith("+") && [left, right].some(isText)) return [];
  // Comments may stand between the operands.
  const offset = text.slice(left.end, right.start).lastIndexOf(operator);
  if (offset < 0) return [];
  const start = left.end + offset;
  return (OPERATORS[operator] ?? []).map((after) => [{ start, end: start + operator.length }, after]);
}

function isText({ type, value }: SyntaxNode): boolean {
  return type === "TemplateLiteral" || (type === "Literal" && typeof value === "string");
}

function changeUpdate(node: SyntaxNode): Change[] {
  const start = node.prefix === true ? node.start : node.end - 2;
  return (OPERATORS[String(node.operator)] ?? []).map((after) => [{ start, end: start + 2 }, after]);
}

/**
 * Whether a statement can be removed: calls, assignments and counts, except calls that a constructor needs, and
 * directives.
 */
function isRemovable({ expression, directive }: SyntaxNode): boolean {
  if (directive !== undefined && directive !== null) return false;
  const { callee } = expression as { callee?: SyntaxNode };
  return callee?.type !== "Super";
}

/** Whether a statement is one of several ways: then the others go on. */
function isConditional(parent: SyntaxNode | undefined): boolean {
  if (parent?.type === "IfStatement") return true;
  return parent?.type === "SwitchCase";
}

function changeLiteral(node: SyntaxNode, parent: SyntaxNode | undefined): Change[] {
  const { value } = node;
  if (isKey(node, parent)) return [];
  if (typeof value === "boolean") return [[node, String(!value)]];
  if (typeof value === "string") return isWord(value) ? [[node, '""']] : [];
  if (typeof value !== "number") return [];
  if (value === 0) return [[node, "1"]];
  if (value === 1) return ["0", "2"].map((after) => [node, after]);
  // A limit may be needed, and it may be needed that it is not passed.
  return ["0", String(value * 1000)].map((after) => [node, after]);
}

/** Names of fields, and directives. */
function isKey(node: SyntaxNode, parent: SyntaxNode | undefined): boolean {
  if (parent === undefined || parent.type === "ExpressionStatement") return true;
  return parent.key === node && parent.computed !== true;
}

/** Text without spaces means something to a program. The rest is for readers, such as the messages of errors. */
function isWord(text: string): boolean {
  return text !== "" && !/\s/.test(text);
}
