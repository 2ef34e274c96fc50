import { splitTokens } from "./tokens.ts";

/** The way in which a text is split into deltas. */
export interface DeltaStyle {
  /** Minimum length of the first delta, in UTF-16 units; 0 for no minimum. */
  readonly firstDelta: number;
  /** Whether to split the two surrogates of each character outside the Basic Multilingual Plane. */
  readonly halfSurrogates: boolean;
}

const surrogatePair = /(?<=[\ud800-\udbff])(?=[\udc00-\udfff])/;

/** Yields the deltas of a text, one per token. Concatenated they are the text. */
export function* splitDeltas(text: string, style: DeltaStyle): Generator<string> {
  if (style.firstDelta > 0) yield text.slice(0, style.firstDelta);
  for (const token of splitTokens(text.slice(style.firstDelta))) {
    if (style.halfSurrogates) yield* token.split(surrogatePair);
    else yield token;
  }
}
