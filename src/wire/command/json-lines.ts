/** Lines of a program that writes JSON, as this project reads them. All fields are optional. */
export interface JsonLine {
  /** The next piece of the answer. */
  readonly text: string;
  /** The same, also as a list of blocks with a `text`. */
  readonly content: string | readonly { readonly text: string }[];
  /** The next piece of the reasoning. */
  readonly reasoning: string;
  /** Why there is no answer. */
  readonly error: string | { readonly message: string; readonly code: string };
  /** Tokens of the whole answer. */
  readonly usage: { readonly input_tokens: number; readonly output_tokens: number };
  /** What the line is, where it is none of these. */
  readonly type: string;
}
