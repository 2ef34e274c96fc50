/** Message types with every kind of field that protobuf knows: our contract does not use them all. */
import { create, createFileRegistry, type DescMessage, type MessageInitShape } from "@bufbuild/protobuf";
import {
  type DescriptorProtoSchema,
  FieldOptions_JSType,
  FileDescriptorProtoSchema,
  FileDescriptorSetSchema,
  file_google_protobuf_struct,
  file_google_protobuf_wrappers,
  FieldDescriptorProto_Label as Label,
  FieldDescriptorProto_Type as Type,
} from "@bufbuild/protobuf/wkt";

/** The description of a field. */
interface FieldInit {
  readonly name?: string;
  readonly number?: number;
  readonly label?: Label;
  readonly type?: Type;
  readonly typeName?: string;
  readonly oneofIndex?: number;
  readonly proto3Optional?: boolean;
  readonly defaultValue?: string;
  readonly options?: { readonly packed?: boolean; readonly jstype?: FieldOptions_JSType };
}

type MessageInit = MessageInitShape<typeof DescriptorProtoSchema>;

const SCALARS = {
  string: Type.STRING,
  bytes: Type.BYTES,
  bool: Type.BOOL,
  double: Type.DOUBLE,
  float: Type.FLOAT,
  int32: Type.INT32,
  uint32: Type.UINT32,
  sint32: Type.SINT32,
  fixed32: Type.FIXED32,
  sfixed32: Type.SFIXED32,
  int64: Type.INT64,
  uint64: Type.UINT64,
  sint64: Type.SINT64,
  fixed64: Type.FIXED64,
  sfixed64: Type.SFIXED64,
} as const;

const KINDS: Readonly<Record<string, FieldInit>> = {
  ...Object.fromEntries(Object.entries(SCALARS).map(([name, type]) => [name, { type }])),
  enum: { type: Type.ENUM, typeName: ".kinds.Level" },
  message: { type: Type.MESSAGE, typeName: ".kinds.Leaf" },
};

const UNPACKABLE = ["string", "bytes", "message"];
const NO_KEYS = ["bytes", "double", "float", "enum", "message"];

/** Numbers fields from 1 on, in their order. */
function numbered(fields: readonly FieldInit[]): FieldInit[] {
  return fields.map((field, index) => ({ label: Label.OPTIONAL, number: index + 1, ...field }));
}

/** Implicit presence, lists in both forms, and a oneof whose cases have other fields between them. */
function plainFields([name, kind]: readonly [string, FieldInit]): FieldInit[] {
  const unpacked = {
    ...kind,
    name: `${name}_unpacked`,
    label: Label.REPEATED,
    options: { packed: false },
  };
  return [
    { ...kind, name },
    { ...kind, name: `${name}_case`, oneofIndex: 0 },
    { ...kind, name: `${name}_list`, label: Label.REPEATED },
    ...(UNPACKABLE.includes(name) ? [] : [unpacked]),
  ];
}

const plain: MessageInit = {
  name: "Plain",
  field: [
    ...numbered(Object.entries(KINDS).flatMap(plainFields)),
    // Their tags take five bytes.
    ...["int32", "string", "bytes", "message"].map((name, index) => ({
      ...KINDS[name],
      name: `last_${name}`,
      label: Label.OPTIONAL,
      number: 400_000_000 + index,
    })),
  ],
  oneofDecl: [{ name: "choice" }],
};

/** Explicit presence, and oneofs without another field between them or between their cases. */
const optional: MessageInit = {
  name: "Optional",
  field: numbered([
    ...Object.entries(KINDS).map(([name, kind], index) => ({
      ...kind,
      name: `${name}_optional`,
      proto3Optional: true,
      oneofIndex: index + 1,
    })),
    ...Object.entries(KINDS).map(([name, kind]) => ({ ...kind, name: `${name}_case`, oneofIndex: 0 })),
    { name: "other_text", type: Type.STRING, oneofIndex: Object.keys(KINDS).length + 1 },
    { name: "other_number", type: Type.INT32, oneofIndex: Object.keys(KINDS).length + 1 },
  ]),
  oneofDecl: [
    { name: "choice" },
    ...Object.keys(KINDS).map((name) => ({ name: `_${name}_optional` })),
    { name: "other" },
  ],
};

interface MapInit {
  readonly name: string;
  readonly key: FieldInit;
  readonly value: FieldInit;
}

const maps: readonly MapInit[] = [
  ...Object.entries(KINDS).map(([name, value]) => ({ name: `to${name}`, key: { type: Type.STRING }, value })),
  ...Object.entries(KINDS)
    .filter(([name]) => !NO_KEYS.includes(name))
    .map(([name, key]) => ({ name: `from${name}`, key, value: { type: Type.STRING } })),
];

function entryName(name: string): string {
  return `${name.charAt(0).toUpperCase()}${name.slice(1)}Entry`;
}

const mapped: MessageInit = {
  name: "Mapped",
  field: numbered(
    maps.map(({ name }) => ({
      name,
      label: Label.REPEATED,
      type: Type.MESSAGE,
      typeName: `.kinds.Mapped.${entryName(name)}`,
    })),
  ),
  nestedType: maps.map(({ name, key, value }) => ({
    name: entryName(name),
    field: numbered([
      { ...key, name: "key" },
      { ...value, name: "value" },
    ]),
    options: { mapEntry: true },
  })),
};

/** Fields that protobuf-es holds in another form than their types say. */
const borrowed: MessageInit = {
  name: "Borrowed",
  field: numbered([
    { name: "struct", type: Type.MESSAGE, typeName: ".google.protobuf.Struct" },
    { name: "wrapped", type: Type.MESSAGE, typeName: ".google.protobuf.Int64Value" },
    { name: "big", type: Type.INT64, options: { jstype: FieldOptions_JSType.JS_STRING } },
  ]),
};

const json: MessageInit = {
  name: "Json",
  field: numbered([{ name: "struct", type: Type.MESSAGE, typeName: ".google.protobuf.Struct" }]),
};

const borrower: MessageInit = {
  name: "Borrower",
  field: numbered([
    { name: "before", type: Type.STRING },
    { name: "borrowed", type: Type.MESSAGE, typeName: ".kinds.Borrowed" },
    { name: "after", type: Type.STRING },
  ]),
};

const leaf: MessageInit = {
  name: "Leaf",
  field: numbered([
    { name: "text", type: Type.STRING },
    { name: "child", type: Type.MESSAGE, typeName: ".kinds.Leaf" },
  ]),
};

const legacy: MessageInit = {
  name: "Legacy",
  field: numbered([
    { name: "id", type: Type.STRING, label: Label.REQUIRED },
    { name: "inner", type: Type.GROUP, typeName: ".legacy.Legacy.Inner" },
    { name: "inners", type: Type.GROUP, typeName: ".legacy.Legacy.Inner", label: Label.REPEATED },
    { name: "level", type: Type.ENUM, typeName: ".legacy.Level", defaultValue: "HIGH" },
    { name: "count", type: Type.INT32, defaultValue: "7" },
    { name: "big", type: Type.INT64, defaultValue: "-7" },
    { name: "name", type: Type.STRING, defaultValue: "none" },
    { name: "data", type: Type.BYTES, defaultValue: "none" },
    { name: "numbers", type: Type.INT32, label: Label.REPEATED },
    { name: "packed", type: Type.SINT64, label: Label.REPEATED, options: { packed: true } },
    { name: "case", type: Type.GROUP, typeName: ".legacy.Legacy.Inner", oneofIndex: 0 },
  ]),
  oneofDecl: [{ name: "choice" }],
  nestedType: [{ name: "Inner", field: numbered([{ name: "a", type: Type.INT32, label: Label.REQUIRED }]) }],
};

const files = [
  file_google_protobuf_struct.proto,
  file_google_protobuf_wrappers.proto,
  create(FileDescriptorProtoSchema, {
    name: "kinds.proto",
    package: "kinds",
    syntax: "proto3",
    dependency: ["google/protobuf/struct.proto", "google/protobuf/wrappers.proto"],
    messageType: [plain, optional, mapped, leaf, borrowed, json, borrower],
    enumType: [
      {
        name: "Level",
        value: [
          { name: "LOW", number: 0 },
          { name: "HIGH", number: 300 },
        ],
      },
    ],
  }),
  create(FileDescriptorProtoSchema, {
    name: "legacy.proto",
    package: "legacy",
    syntax: "proto2",
    messageType: [legacy],
    enumType: [
      {
        name: "Level",
        value: [
          { name: "MIDDLE", number: 5 },
          { name: "HIGH", number: 9 },
        ],
      },
    ],
  }),
];

const registry = createFileRegistry(create(FileDescriptorSetSchema, { file: files }));

/** The type of that full name. */
export function kindsType(name: string): DescMessage {
  const found = registry.getMessage(name);
  if (found === undefined) throw new Error(`${name} was not built`);
  return found;
}

/** All message types of this file. */
export const everyKind: readonly DescMessage[] = [
  "kinds.Plain",
  "kinds.Optional",
  "kinds.Mapped",
  "kinds.Leaf",
  "kinds.Borrowed",
  "kinds.Json",
  "kinds.Borrower",
  "legacy.Legacy",
].map(kindsType);
