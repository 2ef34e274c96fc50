/** The environment and output of a command; `process` is one. */
export interface Terminal {
  readonly stdout: Writer;
  readonly stderr: Writer;
  readonly env: Readonly<Record<string, string | undefined>>;
}

interface Writer {
  write(text: string): unknown;
}
