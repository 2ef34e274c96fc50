import type { Citation } from "../../gen/outrigger/v1/message_pb.ts";

/** The unit of a provider's citation indices. */
export type IndexUnit = "code_points" | "utf8_bytes" | "utf16_units";

/** A cited span in the provider's unit. The end is exclusive. */
export interface ProviderSpan {
  readonly start: number;
  readonly end: number;
}

/**
 * Converts spans of one text into Unicode code points, which `Citation` counts. The text is indexed once, at the first
 * span that needs it, so that many citations of a long text cost one pass over it and a binary search each.
 */
export class SpanConverter {
  readonly #text: string;
  readonly #unit: IndexUnit;
  /** Offset of each code point in the provider's unit, and the length of the text. */
  #offsets: Uint32Array | undefined;

  constructor(text: string, unit: IndexUnit) {
    this.#text = text;
    this.#unit = unit;
  }

  /** Returns the span in code points; undefined if it does not fit the text or cuts a character. */
  convert({ start, end }: ProviderSpan): ProviderSpan | undefined {
    if (!(start >= 0 && start <= end)) return undefined;
    this.#offsets ??= countOffsets(this.#text, this.#unit);
    const [from, to] = [toOffset(this.#offsets, start), toOffset(this.#offsets, end)];
    return from === undefined || to === undefined ? undefined : { start: from, end: to };
  }
}

/** Sets a citation's indices if the span fits the text. */
export function setSpan(citation: Citation, span: ProviderSpan | undefined, converter: SpanConverter): void {
  const converted = span === undefined ? undefined : converter.convert(span);
  if (converted === undefined) return;
  citation.startIndex = converted.start;
  citation.endIndex = converted.end;
}

function countOffsets(text: string, unit: IndexUnit): Uint32Array {
  const offsets = new Uint32Array(text.length + 1);
  let count = 0;
  let offset = 0;
  for (let at = 0; at < text.length; count += 1) {
    const point = text.codePointAt(at) ?? 0;
    offsets[count] = offset;
    offset += getSize(point, unit);
    at += point > 0xffff ? 2 : 1;
  }
  offsets[count] = offset;
  return offsets.subarray(0, count + 1);
}

function getSize(point: number, unit: IndexUnit): number {
  if (unit === "code_points") return 1;
  if (unit === "utf16_units") return point > 0xffff ? 2 : 1;
  if (point < 0x80) return 1;
  if (point < 0x800) return 2;
  return point < 0x10000 ? 3 : 4;
}

/** Returns the code point at an offset; undefined if none begins there. */
function toOffset(offsets: Uint32Array, offset: number): number | undefined {
  let [low, high] = [0, offsets.length - 1];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((offsets[middle] ?? 0) < offset) low = middle + 1;
    else high = middle;
  }
  return offsets[low] === offset ? low : undefined;
}
