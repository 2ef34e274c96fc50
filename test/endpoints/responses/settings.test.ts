import { create } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import {
  parseItemId,
  toConversationId,
  toItemId,
  toResponseId,
  toRunId,
  toThreadId,
} from "../../../src/endpoints/openai/ids.ts";
import { defaultSettings, getOrigin, getSettings } from "../../../src/endpoints/responses/settings.ts";
import { RunOriginSchema } from "../../../src/gen/outrigger/storage/v1/bodies_pb.ts";
import { RunSchema } from "../../../src/gen/outrigger/v1/run_pb.ts";

const hex = "0123456789abcdef".repeat(2);

describe("the settings of a response", () => {
  it("are kept with the run", () => {
    const settings = {
      ...defaultSettings,
      echoed: { ...defaultSettings.echoed, instructions: "Be brief.", tools: [{ type: "web_search" }] },
      include: ["reasoning.encrypted_content"],
    };
    expect(getSettings({ ...create(RunSchema), origin: getOrigin(settings) })).toEqual(settings);
  });

  it("take the default for settings that an earlier version did not store", () => {
    const fields = { api: "responses", settingsJson: '{"echoed":{"top_p":0.5}}' };
    const origin = create(RunOriginSchema, fields);
    const { echoed, include } = getSettings({ ...create(RunSchema), origin });
    expect(echoed).toEqual({ ...defaultSettings.echoed, top_p: 0.5 });
    expect(include).toEqual([]);
  });

  it("come from the run itself if it was created over gRPC", () => {
    const run = create(RunSchema, {
      background: true,
      stored: true,
      metadata: { team: "a" },
      previousRunId: `run_${hex}`,
    });
    expect(getSettings(run).echoed).toEqual({
      ...defaultSettings.echoed,
      background: true,
      metadata: { team: "a" },
      previous_response_id: `resp_${hex}`,
    });
  });
});

describe("the ids of the API", () => {
  it("name the runs and threads of the engine", () => {
    expect(toResponseId(`run_${hex}`)).toBe(`resp_${hex}`);
    expect(toRunId(`resp_${hex}`)).toBe(`run_${hex}`);
    expect(toThreadId(toConversationId(`thread_${hex}`))).toBe(`thread_${hex}`);
  });

  it.each(["", "resp_", `resp_${hex}0`, `run_${hex}`, `resp_${hex.toUpperCase()}`, `resp_${hex}\n`])(
    "do not name a run if they are %j",
    (id) => {
      expect(toRunId(id)).toBeUndefined();
    },
  );

  it("encode the place of an item", () => {
    const messageId = `msg_${hex}0000`;
    expect(toItemId("function_call", messageId, 17)).toBe(`fc_${hex}0000011`);
    expect(parseItemId(toItemId("tool_search_call", messageId, 4095))).toEqual({ messageId, part: 4095 });
    expect(parseItemId(`fc_${hex}`)).toBeUndefined();
  });
});
