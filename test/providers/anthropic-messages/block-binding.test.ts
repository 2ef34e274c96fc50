import { create } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { userMessage } from "../../../src/core/message.ts";
import { MessageSchema, Role } from "../../../src/gen/outrigger/v1/message_pb.ts";
import { build, options, type RequestInit } from "./build-request.ts";

const BETA = "thinking-binding-controls-2026-08-01";

/** A conversation in which a model has thought. */
function thought(model: string, more: RequestInit = {}): RequestInit {
  const answer = create(MessageSchema, {
    role: Role.ASSISTANT,
    content: [
      {
        part: { case: "reasoning", value: { text: "" } },
        providerState: {
          provider: "anthropic",
          model,
          dataJson: '{"block":{"type":"thinking","signature":"c2ln"}}',
        },
      },
      { part: { case: "text", value: "Hello." } },
    ],
  });
  return { model, messages: [userMessage("hi"), answer, userMessage("And?")], ...more };
}

const dropped = { prefix_mismatch_behavior: "drop_block" };

describe("block_binding", () => {
  it.each([
    "claude-opus-5-5",
    "claude-sonnet-5-5",
    "claude-haiku-5-5",
    "claude-fable-5-1",
    "claude-mythos-5-2",
  ])("lets the provider leave out thinking of %s whose conversation changed", async (model) => {
    const { body, betas } = await build(thought(model));
    expect(body.thinking).toEqual({ type: "adaptive", block_binding: dropped });
    expect(betas).toEqual([BETA]);
  });

  it("goes with the settings of thinking", async () => {
    const { body } = await build(thought("claude-opus-5-5", { reasoningEffort: "high" }));
    expect(body.thinking).toEqual({ type: "adaptive", display: "summarized", block_binding: dropped });
    const own = { thinking: { type: "adaptive", display: "updates" }, beta_headers: [BETA, "other-2026"] };
    const { body: merged, betas } = await build(thought("claude-opus-5-5", options(own)));
    expect(merged.thinking).toEqual({ type: "adaptive", display: "updates", block_binding: dropped });
    expect(new Set(betas)).toEqual(new Set([BETA, "other-2026"]));
  });

  it("is the caller's if there is one", async () => {
    const thinking = { block_binding: { prefix_mismatch_behavior: "error" } };
    const { body, betas } = await build(
      thought("claude-opus-5-5", { reasoningEffort: "high", ...options({ thinking }) }),
    );
    expect(body.thinking).toEqual({ type: "adaptive", display: "summarized", ...thinking });
    expect(betas).toEqual([BETA]);
  });

  it.each<[string, RequestInit]>([
    ["without thinking in the conversation", { model: "claude-opus-5-5" }],
    ["to models whose thinking is not bound", thought("claude-opus-5")],
    ["if thinking is off", thought("claude-haiku-5-5", { reasoningEffort: "none" })],
  ])("is not sent %s", async (_, request) => {
    const { body, betas } = await build(request);
    expect(JSON.stringify(body)).not.toContain("block_binding");
    expect(betas).toEqual([]);
  });
});
