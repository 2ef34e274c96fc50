import { parse } from "@bufbuild/cel";
import { invalidField } from "../../../core/errors.ts";

/** A node of an expression. */
export type Expr = ReturnType<typeof parse>["expr"];

/** A position in a text, with line and column from 1. */
interface Position {
  readonly line: number;
  readonly column: number;
}

/** An expression that is syntactically correct. */
export interface ParsedExpression {
  readonly expr: Expr;
  /** Returns the position of a node in the text. Undefined if the library does not know it. */
  readonly findPosition: (id: bigint) => Position | undefined;
}

/** Deepest nesting of brackets and operators, since the parser, the checks and the evaluation recurse. */
const MAX_DEPTH = 64;

/** @throws InvalidRequestError for the field if the text is not an expression, or is nested too deeply. */
export function parseExpression(text: string, field: string): ParsedExpression {
  const { expr, sourceInfo } = parsed(text, field);
  if (isDeeper(expr, MAX_DEPTH)) throw tooDeep(field);
  const findPosition = (id: bigint) => {
    const offset = sourceInfo?.positions[String(id)];
    return offset === undefined ? undefined : positionAt(text, offset);
  };
  return { expr, findPosition };
}

function parsed(text: string, field: string): ReturnType<typeof parse> {
  try {
    return parse(text);
  } catch (thrown) {
    if (thrown instanceof RangeError) throw tooDeep(field);
    const { line, column } = getStart(thrown);
    throw invalidField(field, `line ${line}, column ${column}: syntax error in the CEL expression`);
  }
}

function tooDeep(field: string): Error {
  return invalidField(field, `expected at most ${MAX_DEPTH} levels of nesting, found more`);
}

/** Returns the position of a syntax error. Its message is not used: it quotes the text. */
function getStart(thrown: unknown): Position {
  if (!(thrown instanceof Error) || !("location" in thrown)) throw thrown;
  const { start } = Object(thrown.location);
  return { line: Number(start?.line), column: Number(start?.column) };
}

function positionAt(text: string, offset: number): Position {
  const before = text.slice(0, offset).split(/\r\n|\r|\n/);
  return { line: before.length, column: (before.at(-1) ?? "").length + 1 };
}

function isDeeper(expr: Expr, levels: number): boolean {
  return levels === 0 || getChildren(expr).some((child) => isDeeper(child, levels - 1));
}

/** Returns the nodes directly below a node. */
export function getChildren({ exprKind: { case: kind, value } }: Expr): Expr[] {
  switch (kind) {
    case "selectExpr":
      return defined([value.operand]);
    case "callExpr":
      return defined([value.target, ...value.args]);
    case "listExpr":
      return value.elements;
    case "structExpr":
      return value.entries.flatMap(({ keyKind, value: entry }) =>
        defined([keyKind.case === "mapKey" ? keyKind.value : undefined, entry]),
      );
    case "comprehensionExpr":
      return defined([value.iterRange, value.accuInit, value.loopCondition, value.loopStep, value.result]);
    default:
      return [];
  }
}

function defined(nodes: readonly (Expr | undefined)[]): Expr[] {
  return nodes.filter((node) => node !== undefined);
}
