import type { OptionKind } from "./option-kinds.ts";

/** One option of a model string. */
export interface OptionDefinition<Value> extends OptionKind<Value> {
  /**
   * `script` determines what the model says, `pace` when it is sent, `fault` what goes wrong; a `quirk` is a difference
   * between a compatible server and the provider.
   */
  readonly group: "script" | "pace" | "fault" | "quirk";
  /** What it does, in one sentence. */
  readonly summary: string;
}

/** An option that determines what the model says. */
export function script<Value>(kind: OptionKind<Value>, summary: string): OptionDefinition<Value> {
  return { ...kind, group: "script", summary };
}

/** An option that determines when the answer is sent. */
export function pace<Value>(kind: OptionKind<Value>, summary: string): OptionDefinition<Value> {
  return { ...kind, group: "pace", summary };
}

/** An option that injects a fault. The option `times` limits how often. */
export function fault<Value>(kind: OptionKind<Value>, summary: string): OptionDefinition<Value> {
  return { ...kind, group: "fault", summary };
}

/** An option that makes the simulator differ from the provider, as a compatible server does. */
export function quirk<Value>(kind: OptionKind<Value>, summary: string): OptionDefinition<Value> {
  return { ...kind, group: "quirk", summary };
}
