import { isCelError, plan } from "@bufbuild/cel";
import { invalidField } from "../../../core/errors.ts";
import type { StepResult } from "../../../gen/outrigger/v1/generation_pb.ts";
import { checkExpression } from "./check-types.ts";
import { countIterations, createEnvironment } from "./environment.ts";
import { type ParsedExpression, parseExpression } from "./parse-expression.ts";
import { WorkMeter } from "./work-meter.ts";

const meter = new WorkMeter();
const environment = createEnvironment(meter);

/** Parses and checks an expression. See `compileStopCondition`. */
export function compileExpression(text: string, field: string): (steps: readonly StepResult[]) => boolean {
  const parsed = parseExpression(text, field);
  // The check compiles patterns, which counts as work too.
  meter.begin();
  const problem = checkExpression(parsed.expr, environment);
  if (problem !== undefined) throw invalidField(field, at(parsed, problem.id, problem.text));
  const evaluate = plan(environment, countIterations(parsed.expr));
  return (steps) => {
    meter.begin();
    const value = evaluate({ steps: [...steps] });
    if (typeof value === "boolean" && !meter.isExhausted) return value;
    const [id, text] = isCelError(value) ? [value.exprId, describe(value.message)] : [undefined, NOT_A_BOOL];
    throw invalidField(field, `${after(steps)}: ${at(parsed, id, meter.isExhausted ? TOO_MUCH_WORK : text)}`);
  };
}

const NOT_A_BOOL = "the result is not a bool";
const TOO_MUCH_WORK = "the evaluation takes too long; nested loops multiply their work";

// Other messages of the library quote values, which may be the model's answer.
const SHOWN = /^(index \S+ out of bounds|found no matching overload|\w+ (overflow|(divide|modulus) by zero))/;

function describe(message: string): string {
  return SHOWN.exec(message)?.[0] ?? "a value is missing or cannot be converted";
}

function after({ length }: readonly StepResult[]): string {
  return `failed after step ${length}`;
}

/** Prefixes a text with the position of an expression in the source. */
function at({ findPosition }: ParsedExpression, id: bigint | undefined, text: string): string {
  const position = id === undefined ? undefined : findPosition(id);
  return position === undefined ? text : `line ${position.line}, column ${position.column}: ${text}`;
}
