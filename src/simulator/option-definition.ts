import type { OptionKind } from "./option-kinds.ts";

/** One option of a model string. */
export interface OptionDefinition<Value> extends OptionKind<Value> {
  /**
   * `script` shapes what the model says, `pace` when it is sent, `fault` what goes wrong; a `quirk` is how a server that
   * is compatible with a provider differs from it.
   */
  readonly group: "script" | "pace" | "fault" | "quirk";
  /** What it does, in one sentence. */
  readonly summary: string;
}

/** An option that shapes what the model says. */
export function script<Value>(kind: OptionKind<Value>, summary: string): OptionDefinition<Value> {
  return { ...kind, group: "script", summary };
}

/** An option that says when the answer is sent. */
export function pace<Value>(kind: OptionKind<Value>, summary: string): OptionDefinition<Value> {
  return { ...kind, group: "pace", summary };
}

/** An option that makes something go wrong. The option `times` bounds how often. */
export function fault<Value>(kind: OptionKind<Value>, summary: string): OptionDefinition<Value> {
  return { ...kind, group: "fault", summary };
}

/** An option that makes the server differ from the provider that it is compatible with. */
export function quirk<Value>(kind: OptionKind<Value>, summary: string): OptionDefinition<Value> {
  return { ...kind, group: "quirk", summary };
}
