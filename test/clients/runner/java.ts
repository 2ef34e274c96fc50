import { buildOnce } from "./build-cache.ts";
import { getFolder, languageChecks, protos, type TestClient } from "./client.ts";
import { build, probe } from "./process.ts";

const folder = getFolder("java");

/** Java with protobuf-maven-plugin. Maven is needed for the build only. */
export const java: TestClient = {
  name: "java",
  checks: [...languageChecks, "hedging"],
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
    await buildOnce(`${folder}/target/stamp`, inputs, () =>
      build({ file: "mvn", args: ["--batch-mode", "--quiet", "clean", "process-classes"], cwd: folder }),
    );
    return { file: "java", args: ["-cp", "target/classes:target/lib/*", "com.example.Main"], cwd: folder };
  },
};
