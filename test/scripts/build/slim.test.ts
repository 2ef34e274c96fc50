import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { create, type DescMessage, fromBinary, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import { expect, it, onTestFinished } from "vitest";
import { createMessagesByConstructor, PROTOBUF_FOLDER } from "../../../scripts/build/slim.ts";
import { RequestSchema } from "../../../src/gen/outrigger/v1/request_pb.ts";
import { file_outrigger_v1_response } from "../../../src/gen/outrigger/v1/response_pb.ts";
import { file_outrigger_v1_run } from "../../../src/gen/outrigger/v1/run_pb.ts";

it("creates the same messages in the bundle as protobuf-es", async () => {
  const folder = await mkdtemp(join(tmpdir(), "outrigger-slim-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  const path = join(folder, "create.mjs");
  const modules = pathToFileURL(resolve(PROTOBUF_FOLDER));
  const { contents } = createMessagesByConstructor();
  await writeFile(path, String(contents).replaceAll('from "./', `from "${modules}/`));
  const bundled: { create: typeof create } = await import(path);
  const content = [{ part: { case: "text", value: "hi" } }] as const;
  const request = { model: "m", messages: [{ content: [...content] }], maxTokens: 3 };
  const cases: [DescMessage, MessageInitShape<DescMessage> | undefined][] = [[RequestSchema, request]];
  for (const desc of [...file_outrigger_v1_run.messages, ...file_outrigger_v1_response.messages])
    cases.push([desc, undefined]);
  for (const [desc, init] of cases) {
    const message = bundled.create(desc, init);
    const expected = create(desc, init);
    expect(message).toStrictEqual(expected);
    expect(Object.keys(message)).toEqual(Object.keys(expected));
    expect(fromBinary(desc, toBinary(desc, message))).toStrictEqual(expected);
  }
});
