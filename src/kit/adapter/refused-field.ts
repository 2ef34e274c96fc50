/** The field of a request that a provider refused: from names of its wire API to names of the contract. */
import { ErrorKind } from "../../gen/outrigger/v1/error_pb.ts";
import type { Request } from "../../gen/outrigger/v1/request_pb.ts";

/**
 * Fields of a wire API's request, by the beginning of their paths, with the fields of the contract that they are
 * written from. The first entry that fits is taken.
 */
export type FieldNames = readonly (readonly [wire: string, contract: string])[];

const REQUEST_KINDS: ReadonlySet<ErrorKind> = new Set([
  ErrorKind.INVALID_REQUEST,
  ErrorKind.CONTEXT_LENGTH,
  ErrorKind.CONTENT_FILTER,
  ErrorKind.NOT_FOUND,
]);

const MAX_PATH_CHARS = 128;

/** Names of fields with indices: `tools[0].parameters`. */
const PATH = /^[A-Za-z_]\w*(?:\.\w+|\[\d+\])*$/;

/**
 * Returns the path in the contract. Undefined if the provider names no field, or the failure is not about the request.
 * For messages, only the list is named unless `elementFields` knows the element, since adapters join and split
 * messages.
 * @param path As the provider wrote it: `messages.1.content`, `tools[0].parameters`, `generationConfig.topP`.
 * @param options Name under which options of the provider are in the request.
 */
export function toContractField(
  path: string,
  names: FieldNames,
  {
    kind,
    options,
    request,
    elementFields = [],
  }: {
    readonly kind: ErrorKind;
    readonly options: string;
    readonly request: Request;
    /** See `WireRequest`. */
    readonly elementFields?: readonly (string | undefined)[] | undefined;
  },
): string | undefined {
  const wire = path.replace(/\.(?:(\d+)(?=\.|$)|\[(\d+)\])/g, "[$1$2]").slice(0, MAX_PATH_CHARS);
  if (!REQUEST_KINDS.has(kind) || !PATH.test(wire)) return undefined;
  const [, contract] = names.find(([name]) => beginsWith(wire, name)) ?? [];
  if (contract === undefined) return `provider_options_json["${options}"].${wire}`;
  const [, index] = /^\w+\[(\d+)\]/.exec(wire) ?? [];
  if (contract === "messages" && index !== undefined) return elementFields[Number(index)] ?? contract;
  const isElement = contract === "tools" && index !== undefined && sendsToolsInOrder(request, Number(index));
  return isElement ? `tools[${index}]` : contract;
}

function beginsWith(path: string, name: string): boolean {
  return path === name || path.startsWith(`${name}.`) || path.startsWith(`${name}[`);
}

/**
 * Reports whether tools up to this index keep their order. The caller's tools do; a hosted tool may be dropped or
 * split.
 */
function sendsToolsInOrder({ tools }: Request, index: number): boolean {
  const before = tools.slice(0, index + 1);
  return (
    index < tools.length && before.every(({ tool }) => tool.case === "function" || tool.case === "custom")
  );
}
