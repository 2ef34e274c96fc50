import type { IncomingHttpHeaders, ServerResponse } from "node:http";
import { optionDefinitions } from "./model-options.ts";
import type { SimulatedRequest } from "./request-log.ts";
import { scripts } from "./script/scripts.ts";
import type { SimulatorState } from "./simulator-state.ts";

/** Path prefix of the simulator's endpoints. */
const root = "/simulator";

/** Headers that carry a key; their values are masked. */
const secretHeaders = new Set(["authorization", "x-api-key", "x-goog-api-key", "api-key", "cookie"]);

/** Reports whether a path belongs to the simulator and not to a provider. */
export function isIntrospection(path: string): boolean {
  return path === root || path.startsWith(`${root}/`);
}

/**
 * Serves programs in other languages: `GET /simulator/requests` lists the received requests, with keys masked;
 * `DELETE /simulator/requests` clears them; `GET /simulator/models` documents scripts and options.
 */
export function answerIntrospection(
  state: SimulatorState,
  method: string,
  path: string,
  response: ServerResponse,
): void {
  const call = `${method} ${path}`;
  if (call === `GET ${root}/requests`)
    return sendJson(response, 200, { requests: state.log.entries.map(maskKeys) });
  if (call === `GET ${root}/models`) return sendJson(response, 200, describeModels(state));
  if (call === `DELETE ${root}/requests`) {
    state.forget();
    return void response.writeHead(204).end();
  }
  const known = [`GET ${root}/requests`, `DELETE ${root}/requests`, `GET ${root}/models`];
  sendJson(response, 404, {
    error: { message: `The simulator does not answer ${call}. It answers ${known.join(", ")}.` },
  });
}

function sendJson(response: ServerResponse, status: number, value: unknown): void {
  response
    .writeHead(status, { "content-type": "application/json" })
    .end(`${JSON.stringify(value, undefined, 2)}\n`);
}

function describeModels(state: SimulatorState): object {
  return {
    grammar: "sim-<script>[:key=value,key=value...]",
    examples: [
      "sim-text",
      "sim-tools:calls=2",
      "sim-long:tokens=2000,rate=100",
      "sim-text:status=429,retry_after=2",
    ],
    endpoints: state.formats.flatMap((format) => format.endpoints),
    aliases: state.context.naming.aliases,
    scripts: Object.entries(scripts).map(([name, script]) => ({
      model: `sim-${name}`,
      summary: script.summary,
    })),
    options: Object.entries(optionDefinitions).map(([name, { group, expected, summary }]) => ({
      name,
      group,
      value: expected.replaceAll("`", ""),
      summary: summary.replaceAll("`", ""),
    })),
  };
}

function maskKeys(request: SimulatedRequest): object {
  const headers: IncomingHttpHeaders = { ...request.headers };
  for (const [name, value] of Object.entries(headers)) {
    if (secretHeaders.has(name) && typeof value === "string") headers[name] = mask(value);
  }
  return { ...request, headers };
}

/** Masks a key, except for the scheme and the last four characters, which suffice to tell keys apart. */
function mask(value: string): string {
  const space = value.indexOf(" ");
  const secret = value.slice(space + 1);
  return `${value.slice(0, space + 1)}…${secret.length > 8 ? secret.slice(-4) : ""}`;
}
