import { describe, expect, it } from "vitest";
import { dataOfState, PartStateWriter } from "../../../src/kit/adapter/part-state.ts";
import type { JsonObject } from "../../../src/kit/json/json.ts";
import { factsFor } from "../../support/decode.ts";

class TestStates extends PartStateWriter {
  of(data: JsonObject) {
    return this.state(data);
  }
}

describe("PartStateWriter", () => {
  it("names provider and model, and keeps the data", () => {
    const state = new TestStates(factsFor("sim", { model: "m" }), "m").of({ item: { id: "x" } });
    expect(state).toMatchObject({ provider: "sim", model: "m", dataJson: '{"item":{"id":"x"}}' });
    expect(dataOfState(state)).toEqual({ item: { id: "x" } });
  });

  it("adds the requested model if the provider reports another", () => {
    const state = new TestStates(factsFor("sim", { model: "deployment" }), "m-2").of({ item: {} });
    expect(state).toMatchObject({ model: "m-2", dataJson: '{"item":{},"model":"deployment"}' });
  });

  it("takes the first model that the provider reports, and the requested one until then", () => {
    const states = new TestStates(factsFor("sim", { model: "asked" }));
    expect(states.model).toBe("asked");
    states.model = "first";
    states.model = "second";
    expect(states.model).toBe("first");
  });
});

describe("dataOfState()", () => {
  it.each([undefined, "", "[1]", "{"])("is empty for %j", (dataJson) => {
    const state = dataJson === undefined ? undefined : new TestStates(factsFor("sim", {})).of({});
    if (state !== undefined && dataJson !== undefined) state.dataJson = dataJson;
    expect(dataOfState(state)).toEqual({});
  });
});
