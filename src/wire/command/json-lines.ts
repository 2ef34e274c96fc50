/** Lines of a program that writes JSON, in the form that this project reads. All fields are optional. */
export interface JsonLine {
  /** The next piece of the answer. */
  readonly text: string;
  /** The same as `text`, or a list of blocks with a `text`. */
  readonly content: string | readonly { readonly text: string }[];
  /** The next piece of the reasoning. */
  readonly reasoning: string;
  /** The failure, if there is no answer. */
  readonly error: string | { readonly message: string; readonly code: string };
  /** Tokens of the whole answer. */
  readonly usage: { readonly input_tokens: number; readonly output_tokens: number };
  /** The kind of the line, if it has none of the other fields. */
  readonly type: string;
}
