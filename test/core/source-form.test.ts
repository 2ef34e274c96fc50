/** Requests that middleware passed on, compared with what their callers sent. */
import { create } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { copyRequest } from "../../src/client/copy-request.ts";
import { textPart } from "../../src/core/parts.ts";
import { createSourceForm, isUnchanged } from "../../src/core/source-form.ts";
import { type Request, RequestSchema } from "../../src/gen/outrigger/v1/request_pb.ts";

const request = create(RequestSchema, {
  model: "m",
  messages: [{ content: [textPart("Hi")] }, { content: [textPart("Ho")] }],
  tools: [{ tool: { case: "function", value: { name: "f" } } }],
  toolChoice: { toolName: "f" },
  metadata: { a: "b" },
  temperature: 1,
});

const source = createSourceForm({
  api: "any",
  request,
  headers: {},
  getMembers: () => new Map(),
  restored: { hasReasoning: false, hasCallState: false },
});

describe("isUnchanged()", () => {
  it("accepts the request, its copies, and other destinations", () => {
    expect(isUnchanged(request, source)).toBe(true);
    expect(isUnchanged(copyRequest(request), source)).toBe(true);
    expect(isUnchanged({ ...copyRequest(request), model: "n", provider: "p" }, source)).toBe(true);
  });

  it.each<[string, (copy: Request) => void]>([
    ["a setting", (copy) => Object.assign(copy, { temperature: 0 })],
    ["a new setting", (copy) => Object.assign(copy, { topP: 0.5 })],
    ["a setting that was removed", (copy) => delete copy.temperature],
    ["a message", (copy) => copy.messages.pop()],
    ["a role", (copy) => Object.assign(copy.messages[0] ?? {}, { role: 2 })],
    ["a part", (copy) => copy.messages[0]?.content.splice(0, 1, textPart("Hi"))],
    ["a tool", (copy) => copy.tools.pop()],
    ["the tool choice", (copy) => Object.assign(copy.toolChoice ?? {}, { toolName: "g" })],
    ["the metadata", (copy) => Object.assign(copy.metadata, { a: "c" })],
  ])("refuses a copy in which middleware changed %s", (_, change) => {
    const copy = copyRequest(request);
    change(copy);
    expect(isUnchanged(copy, source)).toBe(false);
  });
});
