import { buildOnce } from "./build-cache.ts";
import { getFolder, type TestClient } from "./client.ts";
import { openaiSdkChecks } from "./openai-sdk.ts";
import { build, probe } from "./process.ts";

const folder = getFolder("openai-java");

/** OpenAI's SDK for Java. Maven is needed for the build only. */
export const openaiJava: TestClient = {
  name: "openai-java",
  checks: openaiSdkChecks,
  missing: () => {
    if (probe("javac", "-version") === undefined) {
      return "javac (a JDK, 17 or newer)";
    }
    return probe("mvn", "-version") === undefined ? "mvn" : undefined;
  },
  async build() {
    const inputs = {
      paths: [`${folder}/pom.xml`, `${folder}/src`],
      facts: [probe("mvn", "-version") ?? ""],
    };
    await buildOnce(`${folder}/target/stamp`, inputs, () =>
      build({ file: "mvn", args: ["--batch-mode", "--quiet", "clean", "process-classes"], cwd: folder }),
    );
    // The checks end before the optimizing compiler pays off.
    const args = ["-XX:TieredStopAtLevel=1", "-cp", "target/classes:target/lib/*", "com.example.Main"];
    return { file: "java", args, cwd: folder };
  },
};
