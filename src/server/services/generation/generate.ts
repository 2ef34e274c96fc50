/** Generations whose tools, if any, the caller executes afterwards. */
import type { MessageInitShape } from "@bufbuild/protobuf";
import type { Batches } from "../../../core/batches.ts";
import type { GenerationOptions } from "../../../gen/outrigger/v1/generation_pb.ts";
import type {
  GenerateRequest,
  GenerateResponseSchema,
  StreamGenerateRequest,
} from "../../../gen/outrigger/v1/generation_service_pb.ts";
import { NO_TOOLS } from "../../../generation/loop/step-tools.ts";
import { runToolLoop } from "../../../generation/loop/tool-loop.ts";
import type { GenerationCall } from "./generation-call.ts";
import { type LoopMessage, runToEnd, streamLoop } from "./stream-messages.ts";

/** Serves Generate. */
export async function generate(
  call: GenerationCall,
  { options }: GenerateRequest,
): Promise<MessageInitShape<typeof GenerateResponseSchema>> {
  return { result: await runToEnd(await openLoop(call, options, { isStreamed: false })) };
}

/** Serves StreamGenerate. */
export function streamGenerate(
  call: GenerationCall,
  { options }: StreamGenerateRequest,
): Batches<LoopMessage> {
  return streamLoop(call, {
    open: () => openLoop(call, options, { isStreamed: true }),
    toMessages: (item, messages) => messages.ofItem(item),
    toResult: (result) => result,
  });
}

async function openLoop(
  call: GenerationCall,
  options: GenerationOptions | undefined,
  { isStreamed }: { readonly isStreamed: boolean },
) {
  const generation = await call.read(options, "options");
  return runToolLoop({ ...call.loopOptions(generation), executor: NO_TOOLS, maxToolRounds: 0, isStreamed });
}
