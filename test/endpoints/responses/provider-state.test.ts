import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import {
  createEmptyPart,
  decodeStates,
  encodeOtherParts,
  encodeReasoning,
  StateAttacher,
} from "../../../src/endpoints/responses/provider-state.ts";
import { type ContentPart, ContentPartSchema } from "../../../src/gen/outrigger/v1/message_pb.ts";

function decode(encrypted: string) {
  return decodeStates(encrypted, 1000);
}

type Part = NonNullable<MessageInitShape<typeof ContentPartSchema>["part"]>;

function createPart(part: Part, data?: object, provider = "gemini"): ContentPart {
  const providerState =
    data === undefined ? undefined : { provider, model: "model-1", dataJson: JSON.stringify(data) };
  return create(ContentPartSchema, { part, ...(providerState === undefined ? {} : { providerState }) });
}

function call(id: string, data?: object): ContentPart {
  return createPart(
    { case: "toolCall", value: { id, name: "f", input: { case: "argumentsJson", value: "{}" } } },
    data,
  );
}

function text(value: string, data?: object, provider?: string): ContentPart {
  return createPart({ case: "text", value }, data, provider);
}

function withoutState(part: ContentPart): ContentPart {
  const { providerState: _, ...rest } = part;
  return create(ContentPartSchema, rest);
}

describe("provider state in reasoning items", () => {
  it("brings back signature, text and the mark of withheld reasoning", () => {
    const part = createPart(
      { case: "reasoning", value: { text: "Think. 🙂", redacted: false } },
      { block: { type: "thinking", signature: "c2ln" } },
      "anthropic",
    );
    const [carried] = decode(encodeReasoning(part) ?? "") ?? [];
    expect(carried).toEqual({
      part: undefined,
      state: part.providerState,
      text: "Think. 🙂",
      redacted: false,
    });
    const hidden = createPart({ case: "reasoning", value: { text: "", redacted: true } }, { block: {} });
    expect(decode(encodeReasoning(hidden) ?? "")?.[0]?.redacted).toBe(true);
  });

  it("is absent for reasoning without state", () => {
    expect(encodeReasoning(createPart({ case: "reasoning", value: { text: "x" } }))).toBeNull();
  });

  it("leaves the id of encrypted reasoning out, since the ids of other items are not carried", () => {
    const item = { type: "reasoning", id: "rs_1", summary: [], encrypted_content: "gAAA" };
    const part = createPart({ case: "reasoning", value: { redacted: true } }, { item, model: "m" }, "openai");
    const [carried] = decode(encodeReasoning(part) ?? "") ?? [];
    expect(JSON.parse(carried?.state.dataJson ?? "")).toEqual({
      item: { type: "reasoning", summary: [], encrypted_content: "gAAA" },
      model: "m",
    });
    expect(carried?.text).toBe("");
  });

  it("needs no item for other parts if only reasoning has state", () => {
    const signed = { block: { type: "thinking", signature: "c2ln" } };
    const reasoning = createPart({ case: "reasoning", value: { text: "Hm." } }, signed, "anthropic");
    const plain = call("c", { part: { functionCall: { id: "c" } } });
    expect(encodeOtherParts([reasoning, text("So."), plain])).toBeNull();
    expect(encodeOtherParts([reasoning, text("So.", { part: { thoughtSignature: "a" } })])).not.toBeNull();
  });

  it("gives calls, texts and images their state back, whatever their order", () => {
    const content = [
      text("one", { part: { thoughtSignature: "a" } }),
      call("call_1", { part: { thoughtSignature: "b" } }),
      call("call_2"),
      text("one", { part: { thoughtSignature: "c" } }),
      createPart(
        { case: "image", value: { source: { case: "data", value: new Uint8Array([1, 2]) } } },
        { part: { thoughtSignature: "d" } },
      ),
    ];
    const carried = decode(encodeOtherParts(content) ?? "") ?? [];
    const returned = content.map(withoutState);
    expect(new StateAttacher().attach(returned, carried)).toEqual([]);
    expect(returned).toEqual(content);
  });

  it("gives each part its state once, also if a call is found by its name and input", () => {
    const carried = [
      call("lost", { part: { thoughtSignature: "1" } }),
      call("b", { part: { thoughtSignature: "2" } }),
    ];
    const attacher = new StateAttacher();
    const [first, second] = [call("b"), call("c")];
    expect(attacher.attach([first, second], decode(encodeOtherParts(carried) ?? "") ?? [])).toEqual([]);
    expect([first, second].map(({ providerState }) => providerState)).toEqual(
      carried.map(({ providerState }) => providerState),
    );
    // The next span is another list, whose parts are looked at from the first one on.
    const states = decode(encodeOtherParts([call("d", { part: { thoughtSignature: "3" } })]) ?? "") ?? [];
    const next = call("d");
    expect(attacher.attach([next], states)).toEqual([]);
    expect(next.providerState).toEqual(states[0]?.state);
  });

  it("keeps the state of a text without characters, which has no item", () => {
    const content = [text("answer"), text("", { part: { thoughtSignature: "end" } })];
    const carried = decode(encodeOtherParts(content) ?? "") ?? [];
    const left = new StateAttacher().attach([text("answer")], carried);
    expect(left.map(createEmptyPart)).toEqual([content[1]]);
  });

  it("reports state whose part the client has changed or left out", () => {
    const carried = decode(encodeOtherParts([text("said", { part: { thoughtSignature: "a" } })]) ?? "") ?? [];
    const changed = text("changed");
    expect(new StateAttacher().attach([changed], carried)).toHaveLength(1);
    expect(changed.providerState).toBeUndefined();
  });

  it("does not carry facts that OpenAI's items already have, unless reasoning is found by its id", () => {
    const answer = text("hi", { item: { type: "message", id: "msg_1" }, part: {} }, "openai");
    const item = { type: "reasoning", id: "rs_1", summary: [] };
    const encrypted = createPart(
      { case: "reasoning", value: {} },
      { item: { ...item, encrypted_content: "x" } },
    );
    expect(encodeOtherParts([answer])).toBeNull();
    expect(encodeOtherParts([encrypted, answer])).toBeNull();
    const byId = createPart({ case: "reasoning", value: {} }, { item });
    expect(decode(encodeOtherParts([byId, answer]) ?? "")?.[0]?.state).toEqual(answer.providerState);
  });

  it.each([
    ["that a call came from the model itself", { block: { caller: { type: "direct" } } }, "anthropic"],
    ["the id of a call", { part: { functionCall: { id: "call_1" } } }, "gemini"],
    ["nothing", { part: {} }, "gemini"],
  ])("does not carry state that says only %s", (_name, data, provider) => {
    const { part } = call("call_1");
    expect(encodeOtherParts([createPart(part as Part, data, provider)])).toBeNull();
    const signed = text("", { part: { thoughtSignature: "s" } });
    expect(decode(encodeOtherParts([createPart(part as Part, data, provider), signed]) ?? "")).toHaveLength(
      2,
    );
  });

  it("carries the caller of a call that the model's code made", () => {
    const { part } = call("call_1");
    const data = { block: { caller: { type: "code_execution_20260120", tool_id: "srvtoolu_1" } } };
    expect(encodeOtherParts([createPart(part as Part, data, "anthropic")])).not.toBeNull();
  });

  it("reads no more values than the limit", () => {
    const states = Array.from({ length: 100 }, (_, index) =>
      call(`call_${index}`, { part: { thoughtSignature: "s" } }),
    );
    const encrypted = encodeOtherParts(states) ?? "";
    expect(decodeStates(encrypted, 1000)).toHaveLength(100);
    expect(decodeStates(encrypted, 500)).toBeUndefined();
  });

  it.each([
    ["OpenAI's encrypted content", "gAAAAABm"],
    ["no base64", "or1.%%%"],
    ["no list", `or1.${Buffer.from("{}").toString("base64url")}`],
    ["rows of other types", `or1.${Buffer.from('[["text",1,2,3,4,5]]').toString("base64url")}`],
    ["an unknown kind", `or1.${Buffer.from('[["audio","k","p","m","{}","",""]]').toString("base64url")}`],
    [
      "more values than any answer has",
      `or1.${Buffer.from(`[${"[],".repeat(200_000)}[]]`).toString("base64url")}`,
    ],
  ])("does not read %s", (_name, encrypted) => {
    expect(decode(encrypted)).toBeUndefined();
  });
});
