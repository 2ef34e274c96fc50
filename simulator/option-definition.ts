import type { OptionKind } from "./option-kinds.ts";

/** One option of a model string. */
export interface OptionDefinition<Value> extends OptionKind<Value> {
  /**
   * `script` determines the answer, `pace` the time when it is sent, `fault` the failure; a `quirk` is a difference
   * between a compatible server and the provider.
   */
  readonly group: "script" | "pace" | "fault" | "quirk";
  /** The effect of the option, in one sentence. */
  readonly summary: string;
}

/** Defines an option that determines the model's answer. */
export function script<Value>(kind: OptionKind<Value>, summary: string): OptionDefinition<Value> {
  return { ...kind, group: "script", summary };
}

/** Defines an option that determines when the answer is sent. */
export function pace<Value>(kind: OptionKind<Value>, summary: string): OptionDefinition<Value> {
  return { ...kind, group: "pace", summary };
}

/** Defines an option that injects a fault. The option `times` limits how often. */
export function fault<Value>(kind: OptionKind<Value>, summary: string): OptionDefinition<Value> {
  return { ...kind, group: "fault", summary };
}

/** Defines an option that makes the simulator differ from the provider, as a compatible server does. */
export function quirk<Value>(kind: OptionKind<Value>, summary: string): OptionDefinition<Value> {
  return { ...kind, group: "quirk", summary };
}
