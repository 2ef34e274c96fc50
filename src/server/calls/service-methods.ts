/** How the methods of a service serve their calls. */
import type {
  DescMethod,
  DescMethodBiDiStreaming,
  DescMethodServerStreaming,
  DescMethodUnary,
  DescService,
  MessageInitShape,
  MessageShape,
} from "@bufbuild/protobuf";
import type { HandlerContext, ServiceImpl } from "@connectrpc/connect";
import { type Batches, BatchStream, lazyBatches } from "../../core/batches.ts";
import { abortCalls, type CallsInProgress } from "./call-context.ts";
import { createService, type Service } from "./service.ts";
import type { ServiceCall } from "./service-call.ts";

/** The methods of a service. A streaming method must end its call itself, a unary one need not. */
export type Methods<Desc extends DescService, Call extends ServiceCall> = {
  readonly [Name in keyof Desc["method"]]: Method<Desc["method"][Name], Call>;
};

type Method<Desc extends DescMethod, Call> =
  Desc extends DescMethodUnary<infer Input, infer Output>
    ? (call: Call, request: MessageShape<Input>) => Promise<MessageInitShape<Output>>
    : Desc extends DescMethodServerStreaming<infer Input, infer Output>
      ? (call: Call, request: MessageShape<Input>) => Batches<MessageInitShape<Output>>
      : Desc extends DescMethodBiDiStreaming<infer Input, infer Output>
        ? (call: Call, requests: AsyncIterable<MessageShape<Input>>) => Batches<MessageInitShape<Output>>
        : never;

/** The methods of a service, and how their calls begin. */
export interface LoadedMethods<Desc extends DescService, Call extends ServiceCall> {
  readonly methods: Methods<Desc, Call>;
  readonly createCall: (context: HandlerContext) => Call;
}

/**
 * Creates a service whose methods are loaded at the first call: a sidecar whose callers do not use it never loads them,
 * which saves memory and startup time.
 */
export function createLazyService<Desc extends DescService, Call extends ServiceCall>(
  desc: Desc,
  calls: CallsInProgress,
  load: () => Promise<LoadedMethods<Desc, Call>>,
): Service {
  let loaded: ReturnType<typeof load> | undefined;
  const open = async ({ localName, methodKind }: DescMethod, request: unknown, context: HandlerContext) => {
    loaded ??= load();
    const { methods, createCall } = await loaded;
    const serve = Reflect.get(methods, localName) as (call: Call, request: unknown) => Batches<unknown>;
    if (methodKind !== "unary") return lazyBatches(() => serve(createCall(context), request));
    const call = createCall(context);
    // A method may throw before it returns a promise.
    const respond = async () => serve(call, request);
    return answer(call, respond());
  };
  const implementations = desc.methods.map((method) => {
    const serve = (request: unknown, context: HandlerContext) =>
      method.methodKind === "unary"
        ? open(method, request, context)
        : new BatchStream(lazyBatches(() => open(method, request, context)));
    return [method.localName, serve];
  });
  const implementation: ServiceImpl<Desc> = Object.fromEntries(implementations);
  return createService(desc, implementation, { abortCalls: () => abortCalls(calls) });
}

/** Ends a call with its one response. */
export async function answer<Output>(call: ServiceCall, response: Promise<Output>): Promise<Output> {
  try {
    return await response;
  } catch (thrown) {
    throw call.fail(thrown);
  } finally {
    call.end();
  }
}
