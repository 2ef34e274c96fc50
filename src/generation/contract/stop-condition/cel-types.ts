import { CelScalar, type CelType, listType, mapType, objectType } from "@bufbuild/cel";
import { type DescField, ScalarType } from "@bufbuild/protobuf";

/** The type of a message's field. */
export function typeOfField(field: DescField): CelType {
  switch (field.fieldKind) {
    case "scalar":
      return typeOfScalar(field.scalar);
    case "enum":
      return CelScalar.INT;
    case "message":
      return objectType(field.message);
    case "list":
      return listType(typeOfElement(field));
    case "map":
      return mapType(CelScalar.STRING, typeOfElement(field));
  }
}

function typeOfElement(field: DescField & { fieldKind: "list" | "map" }): CelType {
  if (field.message !== undefined) return objectType(field.message);
  return field.scalar === undefined ? CelScalar.INT : typeOfScalar(field.scalar);
}

function typeOfScalar(scalar: ScalarType): CelType {
  switch (scalar) {
    case ScalarType.BOOL:
      return CelScalar.BOOL;
    case ScalarType.STRING:
      return CelScalar.STRING;
    case ScalarType.BYTES:
      return CelScalar.BYTES;
    case ScalarType.DOUBLE:
    case ScalarType.FLOAT:
      return CelScalar.DOUBLE;
    case ScalarType.UINT32:
    case ScalarType.UINT64:
    case ScalarType.FIXED32:
    case ScalarType.FIXED64:
      return CelScalar.UINT;
    default:
      return CelScalar.INT;
  }
}

/** Whether a value of a type is allowed instead of another type. `dyn` is only checked when it is evaluated. */
export function isAssignable(type: CelType, expected: CelType): boolean {
  if (isDyn(type) || isDyn(expected)) return true;
  if (type.kind === "list" && expected.kind === "list") return isAssignable(type.element, expected.element);
  if (type.kind === "map" && expected.kind === "map")
    return isAssignable(type.key, expected.key) && isAssignable(type.value, expected.value);
  return type.name === expected.name;
}

/** Returns a type for values of both types; `dyn` if they have nothing in common. */
export function commonType(left: CelType, right: CelType): CelType {
  if (isDyn(left)) return right;
  if (left.kind === "list" && right.kind === "list") return listType(commonType(left.element, right.element));
  if (isAssignable(right, left)) return left;
  return CelScalar.DYN;
}

/** Whether two values may be compared for equality: both numbers, or both of one type that costs little to compare. */
export function isComparable(left: CelType, right: CelType): boolean {
  if (left.kind !== "scalar" || right.kind !== "scalar") return isTime(left) && isAssignable(left, right);
  return isAssignable(left, right) || (NUMBERS.has(left.name) && NUMBERS.has(right.name));
}

/** Whether a type is unknown before the evaluation. */
export function isDyn(type: CelType): boolean {
  return type.name === "dyn";
}

const NUMBERS: ReadonlySet<string> = new Set(["int", "uint", "double"]);

function isTime({ name }: CelType): boolean {
  return name === "google.protobuf.Timestamp" || name === "google.protobuf.Duration";
}
