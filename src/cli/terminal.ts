/** What a command reads and writes; `process` is one. */
export interface Terminal {
  readonly stdout: Writer;
  readonly stderr: Writer;
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** Takes texts. */
interface Writer {
  write(text: string): unknown;
}
