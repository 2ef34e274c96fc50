import { create } from "@bufbuild/protobuf";

import { describe, expect, it } from "vitest";
import { toBatches } from "../../../src/core/batches.ts";
import { anyCaller } from "../../../src/core/caller.ts";
import { RequestSchema } from "../../../src/gen/outrigger/v1/request_pb.ts";
import { InferenceRecord } from "../../../src/server/calls/inference-record.ts";
import type { Outcome } from "../../../src/server/telemetry/call-observer.ts";
import { CallRecorder } from "../../../src/server/telemetry/call-recorder.ts";
import { oneByOne, scriptedInference, textEvents, textResponse } from "../support/scripted-inference.ts";

const request = create(RequestSchema, { model: "m-1" });
const { signal } = new AbortController();

describe("an InferenceRecord", () => {
  it("reports the usage of calls that are in progress at once, and of those after them", async () => {
    const inference = scriptedInference({
      complete: async (call) => textResponse(call, "a"),
      stream: (call) => oneByOne(textEvents(call, ["a"])),
    });
    const outcomes: Outcome[] = [];
    const call = {
      rpc: "socket",
      requestId: "",
      httpVersion: "",
      protocol: "",
      caller: anyCaller,
    };
    const recorder = new CallRecorder(call, [
      { begin: () => {}, end: (_call, outcome) => outcomes.push(outcome) },
    ]);
    const record = new InferenceRecord(inference, recorder);
    const read = async () => {
      for await (const _batch of toBatches(record.stream(request, { signal })));
    };
    await Promise.all([read(), read(), record.complete(request, { signal })]);
    await read();
    record.end(signal);
    recorder.end({ code: undefined, disconnected: false });
    expect(outcomes.map(({ usage }) => usage?.inputTokens)).toEqual([4 * 7]);
  });
});
