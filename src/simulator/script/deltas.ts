import { splitTokens } from "./tokens.ts";

/** How a text is taken apart for a stream. */
export interface DeltaStyle {
  /** Length in UTF-16 units that the first delta has at least; 0 for no wish. */
  readonly firstDelta: number;
  /** Whether to part the two surrogates of each character beyond the basic plane. */
  readonly halfSurrogates: boolean;
}

const surrogatePair = /(?<=[\ud800-\udbff])(?=[\udc00-\udfff])/;

/** Yields the pieces in which a stream brings a text: one a token. Joined they are the text again. */
export function* deltasOf(text: string, style: DeltaStyle): Generator<string> {
  if (style.firstDelta > 0) yield text.slice(0, style.firstDelta);
  for (const token of splitTokens(text.slice(style.firstDelta))) {
    if (style.halfSurrogates) yield* token.split(surrogatePair);
    else yield token;
  }
}
