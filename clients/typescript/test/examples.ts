import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

/** The expected output of each example. */
const OUTPUTS: Readonly<Record<string, RegExp>> = {
  first_call: /^\S.+\n$/s,
  stream: /^\S.+\n\d+ tokens\n$/s,
  chat: /^2: \S.*\n4: \S.*\n$/s,
  tools: /^2 steps, 1 tool result\n.*Paris.*\n$/s,
  stream_tools: /^(call of get_weather\n){2}step 1 is complete\n.*Rome.*step 2 is complete\n$/s,
  object: /^string, number\n$/,
  stream_object: /^grew to \d+ steps\n$/,
  runs: /^\S.+\ncompleted: true, 1 step\nin the thread: another run\nin the thread: the first run\n$/s,
  threads: /^user: My name is Ada\.\nmodel: Hello, Ada\.\nuser: What is my name\?\nmodel: You asked: .*\n$/s,
  errors: /^rate limit of \w+: retry after 2 s\ntimed out\ncancelled\n$/,
};

/** A check of each example: it ends with exit code 0 and prints what it should. */
export const exampleChecks = Object.entries(OUTPUTS).map(([name, expected]) => {
  const check = async () => assert.match(await toOutput(name), expected);
  return [`example_${name}`, check] as const;
});

async function toOutput(name: string): Promise<string> {
  const file = fileURLToPath(new URL(`../examples/${name}.ts`, import.meta.url));
  const { stdout } = await promisify(execFile)(process.execPath, [file], { timeout: 30_000 });
  return stdout;
}
