/** Characters of a found value that an error shows at the most. */
const MAX_SHOWN = 48;

/** A value as an error may show it: quoted, one line, bounded. Never for prompts, answers or keys. */
export function quote(value: string): string {
  return JSON.stringify(value.length > MAX_SHOWN ? `${value.slice(0, MAX_SHOWN)}…` : value);
}
