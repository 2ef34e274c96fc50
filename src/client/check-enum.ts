import type { DescEnum } from "@bufbuild/protobuf";
import type { Violations } from "./violations.ts";

/** Records a violation if the number is not a value of the enum: the client is newer, or sent garbage. */
export function checkEnum(schema: DescEnum, value: number, field: string, violations: Violations): void {
  if (schema.value[value] === undefined)
    violations.add(field, `expected ${listNames(schema)}, found ${value}`);
}

/** The names of an enum's values in JSON, without the unspecified one. */
export function listNames(schema: DescEnum): string {
  const names = schema.values.filter(({ number }) => number !== 0).map(({ name }) => name);
  return names.join(", ").replace(/, (?=[^,]*$)/, " or ");
}
