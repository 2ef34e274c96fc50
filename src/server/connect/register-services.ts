import type { ConnectRouter, HandlerContext } from "@connectrpc/connect";
import { type Batched, type Batches, batchesOf } from "../../core/batches.ts";
import type { Service } from "../services/service.ts";
import { type ConnectExchange, exchangeKey } from "./exchange.ts";

/** Registers all methods of services with one of Connect's routers. */
export function registerServices(router: ConnectRouter, services: readonly Service[]): void {
  for (const { methods } of services) {
    for (const spec of methods) {
      switch (spec.kind) {
        case "unary":
          router.rpc(spec.method, spec.impl);
          break;
        case "client_streaming":
          router.rpc(spec.method, spec.impl);
          break;
        case "server_streaming":
          router.rpc(spec.method, (request, context) => itemsOf(spec.impl(request, context), context));
          break;
        case "bidi_streaming":
          router.rpc(spec.method, (requests, context) => itemsOf(spec.impl(requests, context), context));
          break;
      }
    }
  }
}

/** The messages of a stream one by one, as Connect's handlers take them. */
function itemsOf<T>(stream: AsyncIterable<T> | Batched<T>, { values }: HandlerContext): AsyncIterable<T> {
  const exchange = values.get(exchangeKey);
  return "batches" in stream && exchange !== undefined ? oneByOne(batchesOf(stream), exchange) : stream;
}

/** Marks the messages that became ready together, so that they leave in one write. */
async function* oneByOne<T>(batches: Batches<T>, exchange: ConnectExchange): AsyncGenerator<T> {
  for await (const batch of batches) {
    let left = batch.length;
    for (const item of batch) {
      left -= 1;
      exchange.moreReady = left > 0;
      yield item;
    }
  }
}
