import type { WireApiDefinition } from "../../kit/adapter/definition.ts";
import { EchoAdapter, type EchoAdapterOptions } from "./adapter.ts";

/** The smallest wire API. */
export const echo: WireApiDefinition<"echo", EchoAdapterOptions> = {
  api: "echo",
  createAdapter: (options) => new EchoAdapter(options),
  fields: [],
  baseUrl: { default: "https://echo.example.com", added: ["/echo"] },
  environment: {
    provider: "echo",
    registeredBy: ["ECHO_API_KEY"],
    key: ["ECHO_API_KEY"],
    baseUrl: ["ECHO_BASE_URL"],
  },
};
