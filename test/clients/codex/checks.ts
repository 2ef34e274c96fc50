/** The checks of a task that Codex was given. */
import assert from "node:assert/strict";
import type { Task } from "./main.ts";

/** The tools that every request of Codex has, besides the web search of the provider. */
const functions = [
  "exec_command",
  "write_stdin",
  "request_user_input",
  "view_image",
  "get_goal",
  "create_goal",
  "update_goal",
];

const grouped = ["close_agent", "resume_agent", "send_input", "spawn_agent", "wait_agent"];

/** Codex ran the command that the model asked for, sent the result to the model, and ended with exit code 0. */
export function checkTask({ outcome, written, bodies }: Task): void {
  assert.equal(outcome.code, 0, `${outcome.stdout}\n${outcome.stderr}`);
  assert.equal(written, "hello world\n");
  assert.equal(bodies.length, 2, "one request with the task, one with the results");
  assert.ok(
    JSON.stringify(bodies[1]).includes("Process exited with code 0"),
    "the model sees the command's result",
  );
  const answer = outcome.stdout.split("\n").find((line) => line.includes('"agent_message"'));
  assert.ok(answer?.includes("These are the results"), outcome.stdout);
  assert.ok(/"output_tokens":[1-9]/.test(outcome.stdout), "Codex knows the usage");
}

/** Whether the model gets groups of tools as Codex sends them: the sidecar relays its requests to OpenAI. */
export function keepsGroups(way: string): boolean {
  return way === "simulator" || way === "openai";
}

/** Every tool of Codex is offered to the model; the tools of its namespace under names that contain their names. */
export function checkTools(way: string, { bodies }: Task): void {
  assert.ok(bodies.length > 0, "the provider got no request");
  for (const body of bodies) {
    const offered = JSON.stringify(toolsIn(body));
    for (const name of functions) assert.ok(offered.includes(`"${name}"`), `${name} is missing: ${offered}`);
    for (const name of grouped) {
      const shown = keepsGroups(way) ? name : `multi_agent_v1__${name}`;
      assert.ok(offered.includes(`"${shown}"`), `${shown} is missing: ${offered}`);
    }
  }
}

/** A call of a tool in a namespace reaches that tool, which answers. */
export function checkNamespace({ bodies }: Task): void {
  assert.ok(
    String(JSON.stringify(bodies[1])).includes("invalid agent id nobody"),
    `the last request is ${JSON.stringify(bodies[1])?.slice(-3000)}`,
  );
}

function toolsIn(body: unknown): unknown {
  return typeof body === "object" && body !== null && "tools" in body ? body.tools : undefined;
}
