/** Number of instructions that cost about as much as one step of a validation. */
const INSTRUCTIONS_PER_STEP = 8;

/** Whether an instruction accepts a character. */
export type CharacterTest = (character: string) => boolean;

/**
 * A step of a match. Each is followed by the next one, except `split`, which is followed by all steps that it names.
 */
export type Instruction =
  | { readonly kind: "character"; readonly test: CharacterTest }
  | { readonly kind: "boundary"; readonly test: (text: string, at: number) => boolean }
  | { readonly kind: "lookahead"; readonly program: Program; readonly isNegative: boolean }
  | { readonly kind: "split"; readonly next: number[] }
  | { readonly kind: "match" };

/** A regular expression as a list of instructions. The last one is `match`. */
export type Program = Instruction[];

/** The matches of one text. */
export class Match {
  readonly #text: string;
  readonly #isUnicode: boolean;
  readonly #spend: (steps: number) => void;

  constructor(text: string, isUnicode: boolean, spend: (steps: number) => void) {
    this.#text = text;
    this.#isUnicode = isUnicode;
    this.#spend = spend;
  }

  /** Reports whether a program matches at an index, or with `anywhere` at this index or a later one. */
  isFound(program: Program, start: number, anywhere: boolean): boolean {
    let current = new IndexSet(program.length);
    let next = new IndexSet(program.length);
    for (let at = start; ; ) {
      if (anywhere || at === start) this.#follow(program, current, 0, at);
      this.#spend((1 + current.size) / INSTRUCTIONS_PER_STEP);
      if (current.has(program.length - 1)) return true;
      if (at >= this.#text.length || (current.size === 0 && !anywhere)) return false;
      const character = this.#characterAt(at);
      at += character.length;
      this.#advance(program, current, next, character, at);
      [current, next] = [next, current];
      next.clear();
    }
  }

  #characterAt(at: number): string {
    return this.#isUnicode ? String.fromCodePoint(this.#text.codePointAt(at) ?? 0) : this.#text.charAt(at);
  }

  /** Adds the instructions that follow those that accept a character. */
  #advance(program: Program, current: IndexSet, next: IndexSet, character: string, at: number): void {
    for (let each = 0; each < current.size; each += 1) {
      const index = current.at(each);
      const instruction = program[index];
      if (instruction?.kind === "character" && instruction.test(character))
        this.#follow(program, next, index + 1, at);
    }
  }

  /** Adds an instruction and all that follow it without a character. */
  #follow(program: Program, reached: IndexSet, first: number, at: number): void {
    const open = [first];
    for (let index = open.pop(); index !== undefined; index = open.pop()) {
      const instruction = program[index];
      if (instruction === undefined || reached.has(index)) continue;
      reached.add(index);
      if (instruction.kind === "split") open.push(...instruction.next);
      else if (this.#isPassed(instruction, at)) open.push(index + 1);
    }
  }

  /** Reports whether an instruction lets a match continue without consuming a character. */
  #isPassed(instruction: Instruction, at: number): boolean {
    if (instruction.kind === "boundary") return instruction.test(this.#text, at);
    if (instruction.kind !== "lookahead") return false;
    return this.isFound(instruction.program, at, false) !== instruction.isNegative;
  }
}

/** A set of indexes below a limit, which is emptied and searched in constant time (Briggs 1993). */
class IndexSet {
  readonly #members: Uint16Array;
  readonly #positions: Uint16Array;
  #size = 0;

  constructor(limit: number) {
    this.#members = new Uint16Array(limit);
    this.#positions = new Uint16Array(limit);
  }

  get size(): number {
    return this.#size;
  }

  /** Returns the member at an index in the order of their addition. */
  at(position: number): number {
    return this.#members[position] ?? 0;
  }

  has(index: number): boolean {
    const position = this.#positions[index] ?? 0;
    return position < this.#size && this.#members[position] === index;
  }

  /** Adds an index that the set does not have yet. */
  add(index: number): void {
    this.#members[this.#size] = index;
    this.#positions[index] = this.#size;
    this.#size += 1;
  }

  clear(): void {
    this.#size = 0;
  }
}
