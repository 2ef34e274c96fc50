import type { ConnectRouter } from "@connectrpc/connect";
import type { Service } from "../../calls/service.ts";
import { exchangeKey } from "./exchange.ts";

/** Registers all methods of services with one of Connect's routers. */
export function registerServices(router: ConnectRouter, services: readonly Service[]): void {
  for (const { methods } of services) {
    for (const spec of methods) {
      switch (spec.kind) {
        case "unary":
          router.rpc(spec.method, (request, context) => {
            context.values.get(exchangeKey)?.dropJson();
            return spec.impl(request, context);
          });
          break;
        case "client_streaming":
          router.rpc(spec.method, spec.impl);
          break;
        case "server_streaming":
          router.rpc(spec.method, spec.impl);
          break;
        case "bidi_streaming":
          router.rpc(spec.method, spec.impl);
          break;
      }
    }
  }
}
