import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { chooseModel } from "../../simulator/model-choice.ts";
import { optionDefinitions } from "../../simulator/model-options.ts";
import { scripts } from "../../simulator/script/scripts.ts";

/** Lines of the page, without the padding of its tables. */
const lines = readFileSync(new URL("../../docs/simulator.md", import.meta.url), "utf8")
  .split("\n")
  .map((line) => line.replaceAll(/ +\|/g, " |"));

describe("docs/simulator.md", () => {
  it("has one row for each script, and no other", () => {
    const rows = Object.entries(scripts).map(([name, script]) => `| \`sim-${name}\` | ${script.summary} |`);
    expect(lines.filter((line) => line.startsWith("| `sim-"))).toEqual(rows);
  });

  it("has one row for each option, and no other", () => {
    const rows = Object.entries(optionDefinitions).map(
      ([name, { group, expected, summary }]) => `| \`${name}\` | ${group} | ${expected} | ${summary} |`,
    );
    expect(lines.filter((line) => /^\| `[^`]*` \| (script|pace|fault|quirk) /.test(line))).toEqual(rows);
  });

  it("has only examples that the simulator accepts", () => {
    const examples = lines.flatMap((line) => /^sim-\S+/.exec(line) ?? []);
    expect(examples.length).toBeGreaterThan(5);
    for (const example of examples)
      expect(chooseModel(example, { aliases: {}, defaults: {} })).toHaveProperty("script");
  });
});
