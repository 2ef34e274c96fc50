/** Generations whose tools, if any, the caller executes afterwards. */
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import type { HandlerContext } from "@connectrpc/connect";
import { type Batches, lazyBatches } from "../../../core/batches.ts";
import {
  type GenerateResult,
  GenerateResultSchema,
  type GenerationOptions,
} from "../../../gen/outrigger/v1/generation_pb.ts";
import type {
  GenerateRequest,
  GenerateResponseSchema,
  StreamGenerateRequest,
} from "../../../gen/outrigger/v1/generation_service_pb.ts";
import { NO_TOOLS } from "../../../generation/loop/step-tools.ts";
import { type LoopItem, runToolLoop } from "../../../generation/loop/tool-loop.ts";
import { GenerationCall, type GenerationParts } from "./generation-call.ts";
import { type LoopMessage, StreamMessages } from "./stream-messages.ts";

/** Serves Generate. */
export async function generate(
  parts: GenerationParts,
  { options }: GenerateRequest,
  context: HandlerContext,
): Promise<MessageInitShape<typeof GenerateResponseSchema>> {
  const call = new GenerationCall(parts, context);
  try {
    return { result: await toResult(await openLoop(call, options, { isStreamed: false })) };
  } catch (thrown) {
    throw call.toFailure(thrown).status;
  } finally {
    call.end();
  }
}

/** Serves StreamGenerate. */
export function streamGenerate(
  parts: GenerationParts,
  { options }: StreamGenerateRequest,
  context: HandlerContext,
): Batches<LoopMessage> {
  return lazyBatches(() =>
    streamLoop(new GenerationCall(parts, context), (call) => openLoop(call, options, { isStreamed: true })),
  );
}

type Loop = AsyncGenerator<LoopItem, GenerateResult>;

async function openLoop(
  call: GenerationCall,
  options: GenerationOptions | undefined,
  { isStreamed }: { readonly isStreamed: boolean },
): Promise<Loop> {
  const generation = await call.read(options, "options");
  return runToolLoop({ ...call.loopOptions(generation), executor: NO_TOOLS, maxToolRounds: 0, isStreamed });
}

async function toResult(loop: Loop): Promise<GenerateResult> {
  let item = await loop.next();
  while (item.done !== true) item = await loop.next();
  return item.value;
}

/** Yields the messages of a loop, then its result or its failure. Leaving the iteration cancels the call. */
async function* streamLoop(
  call: GenerationCall,
  open: (call: GenerationCall) => Promise<Loop>,
): AsyncGenerator<readonly LoopMessage[]> {
  const messages = new StreamMessages();
  let loop: Loop | undefined;
  try {
    loop = await open(call);
    let item = await loop.next();
    for (; item.done !== true; item = await loop.next()) yield messages.ofItem(item.value);
    yield [messages.ofResult(item.value)];
  } catch (thrown) {
    const failure = call.toFailure(thrown);
    const last = messages.ofFailure(failure);
    if (last.length > 0) yield last;
    throw failure.status;
  } finally {
    await loop?.return(create(GenerateResultSchema));
    call.end();
  }
}
