import { create, toJson } from "@bufbuild/protobuf";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { defaultSettings } from "../../../src/endpoints/responses/settings.ts";
import { ItemWriter, type WrittenItem } from "../../../src/endpoints/responses/write-items.ts";
import {
  type ContentPart,
  ContentPartSchema,
  MessageSchema,
  Role,
} from "../../../src/gen/outrigger/v1/message_pb.ts";
import { ResponseSchema } from "../../../src/gen/outrigger/v1/response_pb.ts";
import { toInput } from "./support/reading.ts";

const { echoed } = defaultSettings;

/** Writes the items of callers that keep the conversation themselves. */
const writer = new ItemWriter({ ...defaultSettings, echoed: { ...echoed, store: false } });

const state = fc.record({
  provider: fc.constantFrom("gemini", "anthropic", "local"),
  model: fc.string({ unit: "grapheme" }),
  dataJson: fc.json({ depthSize: "small" }).map((value) => JSON.stringify({ part: value })),
});

const anyText = fc.string({ unit: "grapheme" }).filter((text) => text.isWellFormed());
const id = fc.uuid();

const textPart = fc
  .record({ value: anyText, state: fc.option(state, { nil: undefined }) })
  // An empty text without state has no item.
  .filter(({ value, state: kept }) => value !== "" || kept !== undefined)
  .map(({ value, state: kept }) => part({ case: "text", value }, kept));

const reasoningPart = fc
  .record({ text: anyText, redacted: fc.boolean(), state })
  .map(({ text, redacted, state: kept }) =>
    part({ case: "reasoning", value: { text: redacted ? "" : text, redacted } }, kept),
  );

const callPart = fc
  .record({ id, value: fc.json(), isText: fc.boolean(), state: fc.option(state, { nil: undefined }) })
  .map(({ id: callId, value, isText, state: kept }) => {
    const input = isText ? ({ case: "text", value } as const) : ({ case: "argumentsJson", value } as const);
    return part({ case: "toolCall", value: { id: callId, name: "f", input } }, kept);
  });

const imagePart = fc
  .record({ data: fc.uint8Array({ minLength: 1 }), state: fc.option(state, { nil: undefined }) })
  .map(({ data, state: kept }) =>
    part({ case: "image", value: { mediaType: "image/webp", source: { case: "data", value: data } } }, kept),
  );

const nativePart = fc
  .json()
  .map((dataJson) => {
    const value = {
      provider: "gemini",
      kind: "executableCode",
      dataJson: JSON.stringify(JSON.parse(dataJson)),
    };
    return part({ case: "native", value }, undefined);
  })
  .filter(
    ({ part: { value } }) => typeof value === "object" && "dataJson" in value && value.dataJson !== "null",
  );

type Init = Parameters<typeof create<typeof ContentPartSchema>>[1];

function part(content: NonNullable<Init>["part"], kept: object | undefined): ContentPart {
  return create(ContentPartSchema, {
    part: content,
    ...(kept === undefined ? {} : { providerState: kept }),
  } as Init);
}

/** Returns an item as a client such as Codex sends it back: without ids, and with encrypted reasoning only. */
function asCodexReturns({ id: _, ...item }: WrittenItem): object {
  return item.type === "reasoning" ? { ...item, content: undefined } : item;
}

/** An empty text is put at the end of its turn, since no item shows its place. */
function emptyLast(content: readonly ContentPart[]): ContentPart[] {
  const isEmpty = ({ part: { case: kind, value } }: ContentPart) => kind === "text" && value === "";
  return [...content.filter((each) => !isEmpty(each)), ...content.filter(isEmpty)];
}

/** Bytes are equal whatever their class. */
function toContractJson(content: readonly ContentPart[]): unknown {
  return toJson(MessageSchema, create(MessageSchema, { content: [...content] }));
}

function toOutput(content: readonly ContentPart[]): readonly WrittenItem[] {
  const message = create(MessageSchema, { role: Role.ASSISTANT, content: [...content] });
  return writer.answer(`msg_${"0".repeat(36)}`, create(ResponseSchema, { message }));
}

describe("an answer that a client sends back", () => {
  const content = fc.array(fc.oneof(textPart, reasoningPart, callPart, imagePart, nativePart), {
    minLength: 1,
    maxLength: 8,
  });

  it("is the same message with its provider state, although the client knows only OpenAI's items", async () => {
    await fc.assert(
      fc.asyncProperty(content, async (parts) => {
        const items = toOutput(parts).map(asCodexReturns);
        const [message, ...more] = await toInput(JSON.parse(JSON.stringify(items)), "gemini/gemini-3-pro");
        expect(more).toEqual([]);
        expect(toContractJson(message?.content ?? [])).toEqual(toContractJson(emptyLast(parts)));
      }),
      { numRuns: 300 },
    );
  });

  it("gives the same items when it is written again", async () => {
    await fc.assert(
      fc.asyncProperty(content, async (parts) => {
        const items = toOutput(emptyLast(parts));
        const [message] = await toInput(JSON.parse(JSON.stringify(items)), "gemini/gemini-3-pro");
        expect(toOutput(message?.content ?? [])).toEqual(items);
      }),
      { numRuns: 100 },
    );
  });
});
