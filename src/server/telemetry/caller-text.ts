/** Removes the texts of a request from the message of an error, because providers quote prompts in their errors. */
import type { CallTarget } from "../../core/adapter.ts";
import { boundedText } from "../../core/text.ts";

const MAX_MESSAGE_BYTES = 300;

/**
 * Longest request whose texts are compared with a message, in UTF-16 code units. Bounds the time of the comparison.
 */
const MAX_REQUEST_CHARS = 256 * 1024;

/**
 * Returns the message of an error for the log: bounded, and without words of the request. Each word of three or more
 * characters that occurs in a text of the request becomes `…`, unless it is part of the names of the provider and the
 * model, or a common word of providers' errors. Returns undefined if the request is too long to be compared.
 */
export function withoutCallerText(message: string, request: CallTarget): string | undefined {
  const bounded = boundedText(message, MAX_MESSAGE_BYTES).replace(CONTROL, " ");
  const texts = collectTexts(request);
  if (texts === undefined) return undefined;
  const names = new Set(findWords(`${request.provider} ${request.model}`));
  const isKept = (word: string) => VOCABULARY.has(word) || names.has(word) || !occurs(word, texts);
  return bounded
    .replace(WORD, (word) => (isKept(word.toLowerCase()) ? word : ELLIPSIS))
    .replace(REPEATED_ELLIPSIS, ELLIPSIS);
}

const WORD = /[\p{L}\p{M}\p{N}]+/gu;
const CONTROL = /\p{Cc}+/gu;
const ELLIPSIS = "…";
const REPEATED_ELLIPSIS = /\u2026(?:[^\p{L}\p{N}\u2026]{0,3}\u2026)+/gu;
const ASCII = /^[\x20-\x7e]*$/;
const MIN_WORD_CHARS = 3;

function findWords(text: string): readonly string[] {
  return text.toLowerCase().match(WORD) ?? [];
}

/**
 * Reports whether a lower-case word occurs in the texts. Words that are not ASCII occur if two adjacent characters do,
 * since some scripts do not separate words.
 */
function occurs(word: string, texts: string): boolean {
  if (ASCII.test(word)) return word.length >= MIN_WORD_CHARS && texts.includes(word);
  for (let index = 0; index + 1 < word.length; index += 1)
    if (texts.includes(word.slice(index, index + 2))) return true;
  return texts.includes(word);
}

/** Returns all texts of a request in lower case, except the names of its provider and its model. */
function collectTexts(request: CallTarget): string | undefined {
  const texts: string[] = [];
  let chars = 0;
  const visit = (value: unknown): void => {
    if (chars > MAX_REQUEST_CHARS) return;
    if (typeof value === "string") {
      chars += value.length;
      texts.push(value);
    } else if (Array.isArray(value)) value.forEach(visit);
    else if (typeof value === "object" && value !== null && !ArrayBuffer.isView(value)) {
      for (const [name, field] of Object.entries(value)) {
        if (MESSAGE_FIELDS.has(name)) continue;
        visit(field);
      }
    }
  };
  const { provider: _, model: __, ...fields } = request;
  visit(fields);
  return chars > MAX_REQUEST_CHARS ? undefined : texts.join("\n").toLowerCase();
}

/** Fields of generated messages without texts of a caller. `case` is the name of the set member of a `oneof`. */
const MESSAGE_FIELDS: ReadonlySet<string> = new Set(["$typeName", "$unknown", "case"]);

/** Words that reveal nothing about a prompt, so that they are kept even if a prompt contains them. */
const VOCABULARY: ReadonlySet<string> = new Set(
  findWords(`
    a access account admin again all allowed already an and any api are argument array at authentication available be
    before below between body but by call calls cannot check client code completion connect connection content context
    could credit credits current currently day decrease denied deployment did disabled does down empty enabled error
    exceed exceeded exceeds exist existing exists expected expired failed failure false field file fields first for
    format found free from function gateway generate given greater has have header higher host hour however http id if
    image images in incorrect input internal invalid is it its json key keys large least length less limit limits long
    longer lower match max maximum may message messages min minimum minute missing model models more most must name
    network no none not null number object of off on one only google or organization out output
    over overloaded parameter parameters parse per permission please plan property prompt provider provided quota
    range rate reached reason received reduce refused region request requested requests required requires reset
    resource response retry role schema second seconds server service should size small stream string support supported
    supports system temperature than that the there this time timed timeout to token tokens too tool tools top true try
    type unable unavailable unexpected unknown unsupported upstream usage use used user valid value values was were
    when which while with within without you your
  `),
);
