import { type CelFunc, CelScalar, type CelType, isCelError, listType, mapType } from "@bufbuild/cel";
import { commonType, isAssignable, isComparable, isDyn, typeOfField } from "./cel-types.ts";
import type { Environment } from "./environment.ts";
import type { Expr } from "./parse-expression.ts";

/** A problem of an expression. */
export interface TypeProblem {
  /** The node with the problem. */
  readonly id: bigint;
  /** Names the type that was found and the one that was expected. */
  readonly text: string;
}

/** Checks the types of an expression that must return a bool. Undefined if there is no problem. */
export function checkExpression(expr: Expr, environment: Environment): TypeProblem | undefined {
  try {
    const type = new TypeChecker(environment).getType(expr);
    if (isAssignable(type, CelScalar.BOOL)) return undefined;
    return { id: expr.id, text: `expected an expression of type bool, found ${type}` };
  } catch (thrown) {
    if (thrown instanceof TypeProblemError) return thrown.problem;
    throw thrown;
  }
}

class TypeProblemError extends Error {
  readonly problem: TypeProblem;

  constructor({ id }: Expr, text: string) {
    super(text);
    this.problem = { id, text };
  }
}

type Call = Extract<Expr["exprKind"], { case: "callExpr" }>["value"];
type Comprehension = Extract<Expr["exprKind"], { case: "comprehensionExpr" }>["value"];
type Select = Extract<Expr["exprKind"], { case: "selectExpr" }>["value"];
type Constant = Extract<Expr["exprKind"], { case: "constExpr" }>["value"];
type Struct = Extract<Expr["exprKind"], { case: "structExpr" }>["value"];

/** Maximum number of names of fields or functions that a problem lists. */
const MAX_LISTED = 24;

/**
 * Finds the type of each node, and throws for the first one without a type. The library checks types only during the
 * evaluation.
 */
class TypeChecker {
  readonly #environment: Environment;
  /** The variables of loops. Inner ones come later. */
  readonly #loopVariables: [name: string, type: CelType][] = [];

  constructor(environment: Environment) {
    this.#environment = environment;
  }

  getType(expr: Expr): CelType {
    const { exprKind } = expr;
    switch (exprKind.case) {
      case "constExpr":
        return typeOfConstant(exprKind.value);
      case "identExpr":
        return this.#typeOfName(expr, exprKind.value.name);
      case "selectExpr":
        return this.#typeOfSelect(expr, exprKind.value);
      case "callExpr":
        return this.#typeOfCall(expr, exprKind.value);
      case "listExpr":
        return listType(this.#typeOfAll(exprKind.value.elements));
      case "structExpr":
        return this.#typeOfStruct(expr, exprKind.value);
      case "comprehensionExpr":
        return this.#typeOfLoop(exprKind.value);
      default:
        throw new TypeProblemError(expr, "is not an expression");
    }
  }

  #typeOfName(expr: Expr, name: string): CelType {
    const type = this.#findVariable(name);
    if (type !== undefined) return type;
    throw new TypeProblemError(expr, `found the variable "${name}", expected "steps"`);
  }

  #findVariable(name: string): CelType | undefined {
    const loopVariable = this.#loopVariables.findLast(([variable]) => variable === name);
    return loopVariable?.[1] ?? this.#environment.variables.find(name);
  }

  #typeOfSelect(expr: Expr, { operand, field, testOnly }: Select): CelType {
    if (this.#isEnumValue(expr)) return CelScalar.INT;
    const type = this.#required(expr, operand);
    const found = this.#typeOfMember(expr, type, field);
    return testOnly ? CelScalar.BOOL : found;
  }

  #typeOfMember(expr: Expr, type: CelType, field: string): CelType {
    if (isDyn(type)) return CelScalar.DYN;
    if (type.kind === "map") return type.value;
    if (type.kind !== "object" || type.desc === undefined)
      throw new TypeProblemError(expr, `a value of type ${type} has no field "${field}"`);
    const found = type.desc.fields.find(({ name }) => name === field);
    if (found !== undefined) return typeOfField(found);
    const names = type.desc.fields.slice(0, MAX_LISTED).map(({ name }) => name);
    throw new TypeProblemError(expr, `${type} has no field "${field}", expected one of ${names.join(", ")}`);
  }

  /** Whether a chain of names is a value of an enum, such as `FinishReason.Reason.REASON_LENGTH`. */
  #isEnumValue(expr: Expr): boolean {
    const path = toPath(expr);
    const [root = ""] = path ?? [];
    if (path === undefined || this.#findVariable(root) !== undefined) return false;
    const typeName = path.slice(0, -1).join(".");
    const { registry, namespace } = this.#environment;
    const desc = registry.getEnum(`${namespace}.${typeName}`) ?? registry.getEnum(typeName);
    return desc?.values.some(({ name }) => name === path.at(-1)) ?? false;
  }

  #typeOfCall(expr: Expr, call: Call): CelType {
    switch (call.function) {
      case "_&&_":
      case "_||_":
      case "@not_strictly_false":
        for (const arg of call.args) this.#expectBool(arg);
        return CelScalar.BOOL;
      case "_?_:_":
        for (const condition of call.args.slice(0, 1)) this.#expectBool(condition);
        return this.#typeOfAll(call.args.slice(1));
      default:
        return this.#typeOfFunction(
          expr,
          call,
          call.args.map((arg) => this.getType(arg)),
        );
    }
  }

  #typeOfFunction(expr: Expr, call: Call, types: readonly CelType[]): CelType {
    const [first = CelScalar.DYN, second = CelScalar.DYN] = types;
    switch (call.function) {
      case "_[_]":
        return this.#typeOfIndex(expr, first, second);
      case "_==_":
      case "_!=_":
        if (!isComparable(first, second)) throw new TypeProblemError(expr, notComparable(first, second));
        return CelScalar.BOOL;
      case "@in":
        return this.#typeOfIn(expr, first, second);
      default:
        return this.#typeOfOverload(expr, call, types);
    }
  }

  #typeOfOverload(expr: Expr, call: Call, types: readonly CelType[]): CelType {
    const target = call.target === undefined ? undefined : this.getType(call.target);
    const overloads = this.#environment.funcs.find(call.function);
    if (overloads === undefined)
      throw new TypeProblemError(expr, `found the function "${call.function}", which does not exist`);
    const found = [...overloads].find(
      (each) =>
        (each.target === undefined) === (target === undefined) &&
        (each.target === undefined || isAssignable(target ?? CelScalar.DYN, each.target)) &&
        each.arguments.length === types.length &&
        each.arguments.every((expected, index) => isAssignable(types[index] ?? CelScalar.DYN, expected)),
    );
    if (found === undefined) {
      const operands = [...(target === undefined ? [] : [target]), ...types].join(", ");
      throw new TypeProblemError(expr, `"${getName(call.function)}" does not take (${operands})`);
    }
    if (call.function === "matches") for (const pattern of call.args) expectPattern(pattern, found);
    const [left, right] = types;
    return left?.kind === "list" && right?.kind === "list" ? commonType(left, right) : found.result;
  }

  #typeOfIndex(expr: Expr, type: CelType, index: CelType): CelType {
    if (isDyn(type)) return CelScalar.DYN;
    if (type.kind === "list" && isAssignable(index, CelScalar.INT)) return type.element;
    if (type.kind === "map" && isAssignable(index, type.key)) return type.value;
    throw new TypeProblemError(expr, `a value of type ${type} cannot be indexed by ${index}`);
  }

  #typeOfIn(expr: Expr, element: CelType, collection: CelType): CelType {
    const elements = splitElements(collection);
    if (elements === undefined || !isComparable(element, elements))
      throw new TypeProblemError(expr, `"in" does not take (${element}, ${collection})`);
    return CelScalar.BOOL;
  }

  #typeOfStruct(expr: Expr, { messageName, entries }: Struct): CelType {
    if (messageName !== "") throw new TypeProblemError(expr, "messages cannot be constructed");
    const keys = entries.flatMap(({ keyKind }) => (keyKind.case === "mapKey" ? [keyKind.value] : []));
    const values = entries.flatMap(({ value }) => value ?? []);
    const key = this.#typeOfAll(keys);
    const isKey = key.kind === "scalar" && KEYS.has(key.name);
    if (!isKey) throw new TypeProblemError(expr, `a map cannot have keys of type ${key}`);
    return mapType(CelScalar.DYN, this.#typeOfAll(values));
  }

  #typeOfLoop(loop: Comprehension): CelType {
    const { iterRange, accuInit, loopCondition, loopStep, result } = loop;
    const range = this.#required(iterRange, iterRange);
    const element = splitElements(range);
    if (iterRange !== undefined && element === undefined)
      throw new TypeProblemError(iterRange, `expected a list or a map to loop over, found ${range}`);
    const before = this.#loopVariables.length;
    this.#loopVariables.push([loop.accuVar, this.#required(accuInit, accuInit)]);
    this.#loopVariables.push([loop.iterVar, element ?? CelScalar.DYN]);
    if (loopCondition !== undefined) this.#expectBool(loopCondition);
    const step = this.#required(loopStep, loopStep);
    this.#loopVariables.length = before;
    this.#loopVariables.push([loop.accuVar, step]);
    const type = this.#required(result, result);
    this.#loopVariables.length = before;
    return type;
  }

  #required(parent: Expr | undefined, expr: Expr | undefined): CelType {
    if (expr !== undefined) return this.getType(expr);
    if (parent === undefined) return CelScalar.DYN;
    throw new TypeProblemError(parent, "is not complete");
  }

  #typeOfAll(exprs: readonly Expr[]): CelType {
    return exprs.map((expr) => this.getType(expr)).reduce<CelType>(commonType, CelScalar.DYN);
  }

  #expectBool(expr: Expr): void {
    const type = this.getType(expr);
    if (!isAssignable(type, CelScalar.BOOL))
      throw new TypeProblemError(expr, `expected a bool, found ${type}`);
  }
}

const KEYS: ReadonlySet<string> = new Set(["int", "uint", "bool", "string", "dyn"]);

function typeOfConstant({ constantKind }: Constant): CelType {
  switch (constantKind.case) {
    case "boolValue":
      return CelScalar.BOOL;
    case "bytesValue":
      return CelScalar.BYTES;
    case "doubleValue":
      return CelScalar.DOUBLE;
    case "int64Value":
      return CelScalar.INT;
    case "uint64Value":
      return CelScalar.UINT;
    case "stringValue":
      return CelScalar.STRING;
    case "nullValue":
      return CelScalar.NULL;
    default:
      return CelScalar.DYN;
  }
}

/** Returns the type of the elements of a value, for loops and for `in`. Undefined if it has no elements. */
function splitElements(type: CelType): CelType | undefined {
  if (isDyn(type)) return CelScalar.DYN;
  if (type.kind === "list") return type.element;
  return type.kind === "map" ? type.key : undefined;
}

/** A counted repetition is compiled to copies, so patterns with larger counts would take long to compile. */
const LARGE_COUNT = /\{\d{3}|,\d{3}/;

/** Compiles the pattern of `matches`, which must be known before the evaluation. */
function expectPattern(expr: Expr, matches: CelFunc): void {
  const pattern = getStringConstant(expr);
  if (pattern === undefined) throw new TypeProblemError(expr, "expected a string literal as the pattern");
  if (LARGE_COUNT.test(pattern)) throw new TypeProblemError(expr, "expected no more than 99 repetitions");
  if (isCelError(matches.call(0, "", [pattern])))
    throw new TypeProblemError(expr, "expected a pattern in the syntax of RE2");
}

/** The names of `a.b.c`. Undefined for other expressions. */
function toPath({ exprKind: { case: kind, value } }: Expr): string[] | undefined {
  if (kind === "identExpr") return [value.name];
  if (kind !== "selectExpr" || value.testOnly || value.operand === undefined) return undefined;
  const path = toPath(value.operand);
  return path === undefined ? undefined : [...path, value.field];
}

function getStringConstant({ exprKind }: Expr): string | undefined {
  const constant = exprKind.case === "constExpr" ? exprKind.value.constantKind : undefined;
  return constant?.case === "stringValue" ? constant.value : undefined;
}

/** Returns the name of a function, or an operator as it is written. */
function getName(name: string): string {
  return name.replaceAll("_", "") || name;
}

function notComparable(left: CelType, right: CelType): string {
  return `cannot compare ${left} with ${right}; expected two numbers, texts, bools or times`;
}
