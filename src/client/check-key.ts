/**
 * Describes a mistake in an API key: characters that were pasted along with it, or that editors changed. Shows nothing
 * of the key except a single character that no key has.
 * @returns Undefined if the key can be sent as it is.
 */
export function describeKeyMistake(key: string): string | undefined {
  if (/^(["'`]).*\1$/s.test(key)) return "expected a key, found one in quotes; write it without them";
  if (/^bearer\s/i.test(key)) return 'expected a key, found "Bearer" in front of it; write the key alone';
  if (/^\$\{?\w+\}?$/.test(key)) return "expected a key, found the name of a variable that was not replaced";
  if (/^[A-Z][A-Z0-9_]*_KEY=/.test(key))
    return "expected a key, found the name of a variable in front of it; write the key alone";
  if (/\s/.test(key)) return "expected one key, found spaces or line breaks in it";
  const index = [...key].findIndex((char) => !/^[!-~]$/.test(char));
  if (index === -1) return undefined;
  const code = ([...key][index] ?? "").codePointAt(0)?.toString(16).toUpperCase().padStart(4, "0");
  return `expected a key, found U+${code} as its character ${index + 1}, which keys do not have; copy the key again`;
}

/** Matches keys by the beginnings that providers give them. */
const KEY = /^(?:(?:sk|pk|rk|gsk|csk|xai|nvapi|hf)[-_]|AIza)[\w.-]{12,}$/;

/** Reports whether a text reads like a key, which may have been written into the field of something else. */
export function readsLikeKey(text: string): boolean {
  return KEY.test(text);
}
