import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { frameworksFolder, getLockFile, readVersion } from "./runner/framework.ts";
import { frameworks } from "./runner/frameworks.ts";

const documentation = readFileSync(`${frameworksFolder}../../docs/frameworks.md`, "utf8");

describe.each(frameworks)("the documentation and the lock file of $name", (framework) => {
  it("name the same version", () => {
    const line = documentation.split("\n").find((each) => each.includes(`\`${framework.name}\` |`));
    expect(line).toContain(`| ${readVersion(framework)} |`);
  });

  it("do not name a registry", () => {
    const lock = readFileSync(getLockFile(framework), "utf8");
    expect(lock).not.toMatch(/"resolved"|--index-url|--find-links/);
    expect(lock).toMatch(/sha(256|512)[:-]/);
  });
});
