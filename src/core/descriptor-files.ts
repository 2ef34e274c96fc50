import type { DescFile } from "@bufbuild/protobuf";

/** Returns the files and all their imports, each once, by path. A file comes before its imports. */
export function withImports(files: readonly DescFile[]): Map<string, DescFile> {
  const all = new Map<string, DescFile>();
  for (const file of files) add(all, file);
  return all;
}

function add(all: Map<string, DescFile>, file: DescFile): void {
  if (all.has(file.proto.name)) return;
  all.set(file.proto.name, file);
  for (const imported of file.dependencies) add(all, imported);
}
