/**
 * Regular expressions in time linear in the text. JavaScript's engine tries one alternative after the other, and some
 * patterns on some texts have exponentially many alternatives: a caller's `(a+)+$` on a model's text would block the
 * whole process. Here all alternatives advance through the text together, one character at a time (Thompson 1968).
 */
import { type CharacterTest, type Instruction, Match, type Program } from "./pattern-match.ts";
import { type Expression, PatternParser, UnsupportedPatternError } from "./pattern-parser.ts";

/** Maximum number of characters of a pattern, and of instructions that it may become: repetitions are written out. */
const MAX_PATTERN = 5000;
const MAX_INSTRUCTIONS = 20_000;

/** A regular expression. It matches anywhere in a text, as `RegExp.test` does. */
export class Pattern {
  readonly #program: Program = [];
  readonly #flags: string;
  readonly #tests = new Map<string, CharacterTest>();
  #size = 0;

  /**
   * @throws SyntaxError if it is not a regular expression.
   * @throws UnsupportedPatternError if it cannot be matched in linear time, or is too large.
   */
  constructor(source: string) {
    if (source.length > MAX_PATTERN) throw new UnsupportedPatternError();
    this.#flags = getFlags(source);
    const expression = new PatternParser(source, this.#flags === "u").parse();
    this.#write(expression, this.#program);
    this.#program.push({ kind: "match" });
  }

  /**
   * Reports whether the expression matches a text.
   * @param spend Called with the cost of the match. It may throw.
   */
  test(text: string, spend: (steps: number) => void): boolean {
    return new Match(text, this.#flags === "u", spend).isFound(this.#program, 0, true);
  }

  #write(expression: Expression, program: Program): void {
    switch (expression.kind) {
      case "character":
        return this.#add(program, { kind: "character", test: this.#compileTest(expression.source) });
      case "boundary":
        return this.#add(program, { kind: "boundary", test: BOUNDARIES[expression.source] });
      case "sequence":
        for (const part of expression.parts) this.#write(part, program);
        return;
      case "choice":
        return this.#writeChoice(expression.options, program);
      case "repeat":
        return this.#writeRepeat(expression, program);
      case "lookahead": {
        const inner: Program = [];
        this.#write(expression.part, inner);
        this.#add(inner, { kind: "match" });
        return this.#add(program, { kind: "lookahead", program: inner, isNegative: expression.isNegative });
      }
    }
  }

  #writeChoice(options: readonly Expression[], program: Program): void {
    const starts: number[] = [];
    const ends: number[][] = [];
    this.#add(program, { kind: "split", next: starts });
    for (const option of options) {
      starts.push(program.length);
      this.#write(option, program);
      const end: number[] = [];
      ends.push(end);
      this.#add(program, { kind: "split", next: end });
    }
    for (const end of ends) end.push(program.length);
  }

  #writeRepeat({ part, least, most }: Extract<Expression, { kind: "repeat" }>, program: Program): void {
    for (let count = 0; count < least; count += 1) this.#writeCounted(part, program);
    if (most === Infinity) {
      const start = program.length;
      const after: number[] = [start + 1];
      this.#add(program, { kind: "split", next: after });
      this.#writeCounted(part, program);
      this.#add(program, { kind: "split", next: [start] });
      after.push(program.length);
      return;
    }
    const skips: number[][] = [];
    for (let count = least; count < most; count += 1) {
      const skip = [program.length + 1];
      skips.push(skip);
      this.#add(program, { kind: "split", next: skip });
      this.#writeCounted(part, program);
    }
    for (const skip of skips) skip.push(program.length);
  }

  /** Counts each repetition, so that a repetition of nothing ends as well. */
  #writeCounted(part: Expression, program: Program): void {
    this.#count();
    this.#write(part, program);
  }

  #add(program: Program, instruction: Instruction): void {
    this.#count();
    program.push(instruction);
  }

  #count(): void {
    this.#size += 1;
    if (this.#size > MAX_INSTRUCTIONS) throw new UnsupportedPatternError();
  }

  #compileTest(source: string): CharacterTest {
    const known = this.#tests.get(source);
    if (known !== undefined) return known;
    const isLiteral = [...source].length === 1 && source !== ".";
    const test = isLiteral
      ? (character: string) => character === source
      : createClassTest(source, this.#flags);
    this.#tests.set(source, test);
    return test;
  }
}

/** Maximum number of results of a test for one character that are kept. */
const MAX_RESULTS = 256;

/**
 * Returns the test for a class of characters. A pattern for a single character takes constant time in JavaScript's
 * engine, too.
 */
function createClassTest(source: string, flags: string): CharacterTest {
  let pattern: RegExp | undefined;
  const results = new Map<string, boolean>();
  return (character) => {
    const known = results.get(character);
    if (known !== undefined) return known;
    pattern ??= new RegExp(`^${source}$`, flags);
    const result = pattern.test(character);
    if (results.size < MAX_RESULTS) results.set(character, result);
    return result;
  };
}

/**
 * Chooses the flags. JSON Schema asks for the flag `u`; patterns with escapes that it forbids, such as `\-`, are
 * common.
 */
function getFlags(source: string): string {
  try {
    new RegExp(source, "u");
    return "u";
  } catch {
    new RegExp(source);
    return "";
  }
}

const BOUNDARIES = {
  "^": (_text: string, at: number) => at === 0,
  $: (text: string, at: number) => at === text.length,
  "\\b": isWordBoundary,
  "\\B": (text: string, at: number) => !isWordBoundary(text, at),
};

function isWordBoundary(text: string, at: number): boolean {
  return /\w/.test(text.charAt(at - 1)) !== /\w/.test(text.charAt(at));
}
