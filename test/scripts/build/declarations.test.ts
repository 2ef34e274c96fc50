import { describe, expect, it } from "vitest";
import { followDeclarations } from "../../../scripts/build/declarations.ts";

/** Follows declarations from `index.d.ts`. `@scope/runtime` and `runtime` are the dependencies. */
function follow(declarations: Readonly<Record<string, string>>): string[] {
  const dependencies = ["@scope/runtime", "runtime"];
  return [...followDeclarations(["lib/index.d.ts"], dependencies, (path) => declarations[path])].sort();
}

describe("followDeclarations", () => {
  it("reaches exactly the declarations that the entry points import, by every kind of import", () => {
    const reached = follow({
      "lib/index.d.ts": `
        export * from "./a/first.ts";
        export { type B, b } from './second.js';
        export type C = import("./third.ts").C;`,
      "lib/a/first.d.ts": `import "../fourth.d.ts";\nexport { x } from "../second.ts";`,
      "lib/second.d.ts": `import fifth = require("./fifth.js");\nexport declare const b: 1;`,
      "lib/third.d.ts": "",
      "lib/fourth.d.ts": "",
      "lib/fifth.d.ts": `export * from "./index.ts";`,
      "lib/unused.d.ts": `export * from "openai";`,
    });
    expect(reached).toEqual([
      "lib/a/first.d.ts",
      "lib/fifth.d.ts",
      "lib/fourth.d.ts",
      "lib/index.d.ts",
      "lib/second.d.ts",
      "lib/third.d.ts",
    ]);
  });

  it("allows modules of Node and of the dependencies", () => {
    const text = `
      import type { Agent } from "node:http";
      export * from "runtime";
      export type Value = import("@scope/runtime/deep/value.js").Value;`;
    expect(follow({ "lib/index.d.ts": text })).toEqual(["lib/index.d.ts"]);
  });

  it("names each import of another package, and how it is reached", () => {
    const declarations = {
      "lib/index.d.ts": `export * from "./client/client.ts";\nexport * from "runtime-tools";`,
      "lib/client/client.d.ts": `export * from "../wire/responses.ts";`,
      "lib/wire/responses.d.ts": `
        import type { Response } from "openai/resources/responses";
        export type Block = import("@anthropic-ai/sdk").Block;`,
    };
    const wire = "lib/index.d.ts -> ./client/client.ts -> ../wire/responses.ts";
    expect(() => follow(declarations)).toThrow(
      [
        "the library's declarations do not compile for its users:",
        "lib/index.d.ts -> runtime-tools: not one of the dependencies",
        `${wire} -> openai/resources/responses: not one of the dependencies`,
        `${wire} -> @anthropic-ai/sdk: not one of the dependencies`,
      ].join("\n"),
    );
  });

  it("names an import that leads to no declaration", () => {
    const declarations = { "lib/index.d.ts": `export * from "./gone.ts";` };
    expect(() => follow(declarations)).toThrow("lib/index.d.ts -> ./gone.ts: there is no such file");
  });

  it("reads no imports in comments, and takes no string for the beginning of a comment", () => {
    const text = `
      /** For instance \`import OpenAI from "openai"\`. */
      // export * from "openai";
      export type Accepted = "image/*" | "https://host";
      export * from "./other.ts"; /* and the end of a comment */`;
    expect(follow({ "lib/index.d.ts": text, "lib/other.d.ts": "" })).toEqual([
      "lib/index.d.ts",
      "lib/other.d.ts",
    ]);
  });
});
