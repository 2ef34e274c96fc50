/**
 * What no finite automaton can do: to look around (`(?=`, `(?!`, `(?<=`, `(?<!`), to repeat what
 * a group found (`\\1`, `\\k`), to see the borders of words (`\\b`, `\\B`).
 */
const IRREGULAR = /\(\?<?[=!]|\\[1-9bBk]/;

/**
 * Whether a regular expression is one that providers can turn into a grammar. Careful rather than
 * exact: an escaped backslash before such a letter is taken for the letter's own.
 */
export function isRegular(pattern: string): boolean {
  return !IRREGULAR.test(pattern);
}
