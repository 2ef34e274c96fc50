import type { DescEnum } from "@bufbuild/protobuf";
import type { Violations } from "./violations.ts";

/** Notes a violation where the number is no value of the enum: it came from a newer or a broken client. */
export function checkEnum(schema: DescEnum, value: number, field: string, violations: Violations): void {
  if (schema.value[value] === undefined) violations.add(field, `expected ${namesOf(schema)}, found ${value}`);
}

/** The names of an enum's values as JSON spells them, without the unspecified one. */
export function namesOf(schema: DescEnum): string {
  const names = schema.values.filter(({ number }) => number !== 0).map(({ name }) => name);
  return names.join(", ").replace(/, (?=[^,]*$)/, " or ");
}
