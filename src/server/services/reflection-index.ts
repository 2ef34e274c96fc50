import {
  type DescExtension,
  type DescField,
  type DescFile,
  type DescMessage,
  type DescService,
  toBinary,
} from "@bufbuild/protobuf";
import { nestedTypes } from "@bufbuild/protobuf/reflect";
import { FileDescriptorProtoSchema } from "@bufbuild/protobuf/wkt";
import { withImports } from "../../core/descriptor-files.ts";

/** The descriptors that reflection serves, by their names. */
export interface ReflectionIndex {
  /** Full names of the services, sorted. */
  readonly services: readonly string[];
  /** Returns a file by its path, for instance `outrigger/v1/request.proto`. */
  file(name: string): DescFile | undefined;
  /** Returns the file that declares a service, method, message, field, oneof, enum, enum value or extension. */
  findFileBySymbol(fullName: string): DescFile | undefined;
  /** Returns the file that extends a message by a field of this number. */
  findFileByExtension(message: string, fieldNumber: number): DescFile | undefined;
  /** Returns the numbers of the extensions of a message; undefined if there is no such message. */
  extensionNumbers(message: string): readonly number[] | undefined;
}

/**
 * Indexes the files of services and all their imports.
 * @param files Additional files, for instance with the messages of error details.
 */
export function createReflectionIndex(
  services: readonly DescService[],
  files: readonly DescFile[],
): ReflectionIndex {
  const all = withImports([...services.map((service) => service.file), ...files]);
  const symbols = new Map<string, DescFile>();
  const messages = new Set<string>();
  const extensions = new Map<string, Map<number, DescFile>>();
  for (const file of all.values()) {
    for (const symbol of listSymbols(file)) symbols.set(symbol, file);
    for (const type of nestedTypes(file)) {
      if (type.kind === "message") messages.add(type.typeName);
      if (type.kind === "extension") addExtension(extensions, type, file);
    }
  }
  return {
    services: services.map((service) => service.typeName).sort(),
    file: (name) => all.get(name),
    findFileBySymbol: (fullName) => symbols.get(fullName),
    findFileByExtension: (message, fieldNumber) => extensions.get(message)?.get(fieldNumber),
    extensionNumbers: (message) =>
      messages.has(message) ? [...(extensions.get(message)?.keys() ?? [])] : undefined,
  };
}

/**
 * Returns a file and its imports, without the imports in `sent`, and adds the imports to `sent`. The file itself is
 * always included.
 */
export function serializeWithImports(file: DescFile, sent: Set<string>): Uint8Array[] {
  const missing = [...withImports([file]).values()].filter(
    (each) => each === file || !sent.has(each.proto.name),
  );
  for (const { proto } of missing) sent.add(proto.name);
  return missing.map(({ proto }) => toBinary(FileDescriptorProtoSchema, proto));
}

function addExtension(
  extensions: Map<string, Map<number, DescFile>>,
  { extendee, number }: DescExtension,
  file: DescFile,
): void {
  const byNumber = extensions.get(extendee.typeName) ?? new Map<number, DescFile>();
  extensions.set(extendee.typeName, byNumber.set(number, file));
}

function* listSymbols(file: DescFile): Generator<string> {
  for (const type of nestedTypes(file)) {
    yield type.typeName;
    if (type.kind === "message") yield* toMembers(type);
    if (type.kind === "service") yield* type.methods.map((method) => `${type.typeName}.${method.name}`);
    if (type.kind === "enum") {
      // Enum values are siblings of their type, not members.
      const scope = type.typeName.slice(0, -type.name.length);
      yield* type.values.map((value) => `${scope}${value.name}`);
    }
  }
}

function toMembers({ typeName, fields, oneofs }: DescMessage): string[] {
  const names = [...fields.map((field: DescField) => field.name), ...oneofs.map((oneof) => oneof.name)];
  return names.map((name) => `${typeName}.${name}`);
}
