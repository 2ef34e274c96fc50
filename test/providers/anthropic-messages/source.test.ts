import { create } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import type { ProviderModels } from "../../../src/catalog/catalog.ts";
import { InvalidRequestError } from "../../../src/core/errors.ts";
import { createSourceForm } from "../../../src/core/source-form.ts";
import { RequestSchema } from "../../../src/gen/outrigger/v1/request_pb.ts";
import { WarningSchema } from "../../../src/gen/outrigger/v1/response_pb.ts";
import type { JsonObject } from "../../../src/kit/json/json.ts";
import { createSourceProtocol } from "../../../src/providers/anthropic-messages/source.ts";

const MODELS = {} as ProviderModels;

const members: ReadonlyMap<string, string> = new Map([
  ["model", '"claude"'],
  ["system", '"Be brief."'],
  ["thinking", '{"type":"adaptive"}'],
  ["messages", "[]"],
  ["tools", '[{"input_examples":[]}]'],
]);

/** Returns what is sent for a request whose translation is given. */
async function send(body: JsonObject, restored: boolean, untranslatable?: InvalidRequestError) {
  const warnings = ["messages[1].content[0]", "tools[0]"].map((field) => create(WarningSchema, { field }));
  const protocol = createSourceProtocol({
    translate: async () => ({ body, betas: ["binding"], warnings }),
    toBetaHeader: (betas) => ({ "anthropic-beta": betas.filter((beta) => beta !== "").join(",") }),
  });
  const request = create(RequestSchema, { model: "claude-opus-5-5" });
  const form = createSourceForm({
    api: "anthropic-messages",
    request,
    headers: { "anthropic-beta": "a" },
    getMembers: () => members,
    restored: { hasReasoning: restored, hasCallState: false },
    untranslatable,
  });
  const wire = await protocol.toWire(form, request, false, MODELS);
  if (wire === undefined) throw new Error("the request was translated");
  return { ...wire, body: JSON.parse(wire.body), fields: wire.warnings.map(({ field }) => field) };
}

const translated: JsonObject = {
  system: [{ type: "text", text: "Be brief." }],
  messages: [{ role: "user", content: "Hi" }],
  thinking: { type: "adaptive", block_binding: { prefix_mismatch_behavior: "drop_block" } },
  tools: [],
  max_tokens: 1,
};

describe("a request in the form of its caller", () => {
  it("changes only the model", async () => {
    const { body, headers, fields } = await send(translated, false);
    const unchanged = { system: "Be brief.", thinking: { type: "adaptive" }, messages: [] };
    expect(body).toEqual({ model: "claude-opus-5-5", ...unchanged, tools: [{ input_examples: [] }] });
    expect([headers["anthropic-beta"], fields]).toEqual(["a", []]);
  });

  it("gets the conversation and the rule for bound thinking from the translation if that has restored thinking", async () => {
    const { body, headers, fields } = await send(translated, true);
    const { system, messages, thinking } = translated;
    const tools = [{ input_examples: [] }];
    expect(body).toEqual({ model: "claude-opus-5-5", system, messages, thinking, tools });
    expect([headers["anthropic-beta"], fields]).toEqual(["a,binding", ["messages[1].content[0]"]]);
  });

  it("keeps the caller's instructions and thinking if the translation has no others", async () => {
    const { messages = [] } = translated;
    const { body } = await send({ messages, thinking: { type: "enabled" } }, true);
    expect(body).toMatchObject({ system: "Be brief.", thinking: { type: "adaptive" }, messages });
  });

  it("has restored thinking also if no other API could express the request", async () => {
    const { body } = await send(translated, true, new InvalidRequestError("thread: is not supported"));
    expect(body).toMatchObject({ messages: translated.messages });
  });
});
