import { create, createFileRegistry, fromBinary, toBinary } from "@bufbuild/protobuf";
import {
  FieldDescriptorProto_Label,
  FieldDescriptorProto_Type,
  FieldOptionsSchema,
  FileDescriptorProtoSchema,
  FileDescriptorSetSchema,
} from "@bufbuild/protobuf/wkt";
import { describe, expect, it } from "vitest";
import {
  createReflectionIndex,
  serializeWithImports,
} from "../../../src/server/services/reflection-index.ts";

/** A file that extends the options of fields, which none of ours does. */
function extendingFile() {
  const file = create(FileDescriptorProtoSchema, {
    name: "acme/options.proto",
    package: "acme",
    syntax: "proto3",
    dependency: ["google/protobuf/descriptor.proto"],
    extension: [
      {
        name: "secret",
        number: 50_001,
        extendee: ".google.protobuf.FieldOptions",
        label: FieldDescriptorProto_Label.OPTIONAL,
        type: FieldDescriptorProto_Type.BOOL,
      },
    ],
  });
  const descriptor = FieldOptionsSchema.file.proto;
  const found = createFileRegistry(create(FileDescriptorSetSchema, { file: [descriptor, file] })).getFile(
    file.name,
  );
  if (found === undefined) throw new Error("the file was not built");
  return found;
}

describe("createReflectionIndex()", () => {
  const index = createReflectionIndex([], [extendingFile()]);

  it("finds an extension by its name, and by the type that it extends", () => {
    expect(index.findFileBySymbol("acme.secret")?.proto.name).toBe("acme/options.proto");
    expect(index.findFileByExtension("google.protobuf.FieldOptions", 50_001)?.proto.name).toBe(
      "acme/options.proto",
    );
    expect(index.findFileByExtension("google.protobuf.FieldOptions", 50_002)).toBeUndefined();
  });

  it("lists the numbers of extensions", () => {
    expect(index.extensionNumbers("google.protobuf.FieldOptions")).toEqual([50_001]);
    expect(index.extensionNumbers("google.protobuf.FileOptions")).toEqual([]);
    expect(index.extensionNumbers("acme.Missing")).toBeUndefined();
  });
});

describe("serializeWithImports()", () => {
  it("leaves out files that were sent, but never the requested file", () => {
    const file = extendingFile();
    const sent = new Set<string>();
    const names = () =>
      serializeWithImports(file, sent).map((bytes) => fromBinary(FileDescriptorProtoSchema, bytes).name);
    expect(names()).toEqual(["acme/options.proto", "google/protobuf/descriptor.proto"]);
    expect(names()).toEqual(["acme/options.proto"]);
    expect(serializeWithImports(file, new Set())[0]).toEqual(toBinary(FileDescriptorProtoSchema, file.proto));
  });
});
