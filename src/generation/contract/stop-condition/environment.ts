import {
  type CelEnv,
  type CelFunc,
  CelScalar,
  type CelType,
  type CelValue,
  celEnv,
  celFunc,
  celMethod,
  isCelError,
  isCelList,
  listType,
  objectType,
} from "@bufbuild/cel";
import { createRegistry } from "@bufbuild/protobuf";
import { withImports } from "../../../core/descriptor-files.ts";
import { file_outrigger_v1_generation, StepResultSchema } from "../../../gen/outrigger/v1/generation_pb.ts";
import { type Expr, getChildren } from "./parse-expression.ts";
import type { WorkMeter } from "./work-meter.ts";

const VARIABLES = { steps: listType(objectType(StepResultSchema)) };

/** The names that expressions may use: `steps`, the types of the contract by their names, and the functions of CEL. */
export type Environment = CelEnv<typeof VARIABLES>;

/** Creates an environment whose functions count their work. */
export function createEnvironment(meter: WorkMeter): Environment {
  const standard = [...celEnv().funcs].map((func) => metered(func, meter));
  return celEnv({
    namespace: file_outrigger_v1_generation.proto.package,
    registry: createRegistry(...withImports([file_outrigger_v1_generation]).values()),
    funcs: [...standard, createIterationCounter(meter)],
    variables: VARIABLES,
  });
}

/** A name that no expression can contain. */
const ITERATION = "@iteration";

function createIterationCounter(meter: WorkMeter): CelFunc {
  return celFunc(ITERATION, [CelScalar.BOOL], CelScalar.BOOL, (condition) => {
    meter.add(1);
    return condition;
  });
}

/** Makes each iteration of each loop count as work, through the loop's condition. Changes the expression. */
export function countIterations(expr: Expr): Expr {
  for (const child of getChildren(expr)) countIterations(child);
  const { exprKind } = expr;
  if (exprKind.case !== "comprehensionExpr") return expr;
  const { loopCondition } = exprKind.value;
  if (loopCondition === undefined) return expr;
  const value = { $typeName: "cel.expr.Expr.Call" as const, function: ITERATION, args: [loopCondition] };
  exprKind.value.loopCondition = { ...loopCondition, exprKind: { case: "callExpr", value } };
  return expr;
}

function metered(func: CelFunc, meter: WorkMeter): CelFunc {
  const { name, target, arguments: types, result } = func;
  const run = (self: CelValue | undefined, args: CelValue[]): CelValue => {
    meter.add(estimateWork(name, target, self === undefined ? args : [self, ...args]));
    const value = func.call(0, self, args);
    if (value === undefined) throw new Error("found no matching overload");
    // The error is created anew: the original one does not have the position in the expression.
    if (isCelError(value)) throw new Error(value.message);
    return value;
  };
  if (target === undefined) return celFunc(name, types, result, (...args) => run(undefined, args));
  return celMethod(name, target, types, result, function (...args) {
    return run(this, args);
  });
}

/** Characters that a function reads in about the time of one call. */
const CHARS_PER_UNIT = 32;

/** Work of a date in a time zone, in calls. */
const TIME_ZONE_WORK = 500;

function estimateWork(name: string, target: CelType | undefined, values: readonly CelValue[]): number {
  const lengths = values.map(getLength);
  if (name === "matches")
    return 1 + lengths.reduce((product, length) => product * length, 1) / CHARS_PER_UNIT;
  const isInTimeZone = target?.name === "google.protobuf.Timestamp" && values.length > 1;
  const length = lengths.reduce((sum, each) => sum + each, 0);
  return 1 + length / CHARS_PER_UNIT + (isInTimeZone ? TIME_ZONE_WORK : 0);
}

function getLength(value: CelValue): number {
  if (typeof value === "string" || value instanceof Uint8Array) return value.length;
  return isCelList(value) ? value.size : 0;
}
