import { readdirSync, rmSync } from "node:fs";
import { buildOnce } from "./build-cache.ts";
import { protos, root, type TestClient } from "./client.ts";
import { build, probe } from "./process.ts";

const folder = `${root}clients/java`;
const packageName = "io.github.outriggerinference";
const tests = `${folder}/src/test/java/${packageName.replaceAll(".", "/")}`;
const libraries = `${folder}/target/lib`;

/** The package in clients/java and its tests, one check for each test class. */
export const javaPackage: TestClient = {
  name: "java-package",
  checks: readdirSync(tests).flatMap((file) => /^(\w+Test)\.java$/.exec(file)?.[1] ?? []),
  missing: () => {
    if (probe("javac", "-version") === undefined) {
      return "javac (a JDK, 17 or newer)";
    }
    return probe("mvn", "-version") === undefined ? "mvn" : undefined;
  },
  async build() {
    const inputs = {
      paths: [protos, `${folder}/pom.xml`, `${folder}/src`],
      facts: [probe("mvn", "-version") ?? ""],
    };
    await buildOnce(`${folder}/target/stamp`, inputs, async () => {
      rmSync(libraries, { recursive: true, force: true });
      const goals = ["test-compile", "dependency:copy-dependencies", `-DoutputDirectory=${libraries}`];
      await build({ file: "mvn", args: ["--batch-mode", "--quiet", ...goals], cwd: folder });
    });
    const classes = "target/test-classes:target/classes:target/lib/*";
    // The tests end before the optimizing compiler pays off.
    const args = ["-XX:TieredStopAtLevel=1", "-cp", classes, `${packageName}.RunTests`];
    return { file: "java", args, cwd: folder };
  },
};
