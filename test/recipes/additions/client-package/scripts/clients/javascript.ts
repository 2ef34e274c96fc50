import { writeFileSync } from "node:fs";
import { build } from "../../test/clients/runner/process.ts";
import { type ClientPackage, packageFolder, root } from "./client-package.ts";

/** JavaScript: the stubs, and the version that the user agent names. */
export const javascript: ClientPackage = {
  name: "javascript",
  missing: () => undefined,
  async generate(version) {
    const template = {
      version: "v2",
      inputs: [{ directory: ".", paths: ["proto/outrigger/v1"] }],
      plugins: [
        {
          local: `${root}node_modules/.bin/protoc-gen-es`,
          out: "clients/javascript/src",
          opt: ["target=js", "import_extension=js"],
          include_imports: true,
        },
      ],
    };
    await build({
      file: `${root}node_modules/.bin/buf`,
      args: ["generate", "--template", JSON.stringify(template)],
      cwd: root,
    });
    writeFileSync(
      `${packageFolder("javascript")}/src/version.js`,
      `export const VERSION = ${JSON.stringify(version)};\n`,
    );
  },
};
