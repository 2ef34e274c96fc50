import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { OnLoadResult, Plugin } from "esbuild";

/** A module of a dependency in whose place another goes into the bundle. */
interface Replacement {
  /** Matches the import. */
  readonly path: RegExp;
  /** Matches the importing module. */
  readonly importer: RegExp;
  /** The replacement. */
  readonly module: OnLoadResult;
  /** The modules of which one at least is in every program that has the import. Absent: every program has it. */
  readonly within?: RegExp;
}

/** Folder of the modules of protobuf-es. */
export const PROTOBUF_FOLDER = "node_modules/@bufbuild/protobuf/dist/esm";

/**
 * protobuf-es's `create` with a constructor for each type of message. V8 reserves the properties of its messages from
 * the ones before; a message that begins as an object literal gets each property in a new place, and one of more than
 * twelve becomes a hash table, which is slower at every read.
 */
export function createMessagesByConstructor(): OnLoadResult {
  const source = readFileSync(join(PROTOBUF_FOLDER, "create.js"), "utf8");
  const definition = `function ZeroMessage() { this.$typeName = typeName; }
    ZeroMessage.prototype = Object.prototype;`;
  const contents = source
    .replace("return (init) => {", (start) => `${definition}\n${start}`)
    .replace("message = { $typeName: typeName };", "message = new ZeroMessage();");
  if (contents.split("ZeroMessage").length !== 4) throw new Error("slim: protobuf-es has another create()");
  return { contents, resolveDir: PROTOBUF_FOLDER };
}

const OTLP_GRPC = /@opentelemetry\/otlp-grpc-exporter-base\//;
const VALKEY_CLIENT = /@redis\/client\//;
const MCP_CLIENT = /@modelcontextprotocol\/client\//;

const REPLACEMENTS: readonly Replacement[] = [
  {
    // Not its fetch, WebSocket, caches and mocks.
    path: /^undici$/,
    importer: /./,
    module: {
      resolveDir: "node_modules/undici/lib",
      contents: `
        exports.Client = require("./dispatcher/client.js");
        exports.Pool = require("./dispatcher/pool.js");
        exports.EnvHttpProxyAgent = require("./dispatcher/env-http-proxy-agent.js");
        exports.buildConnector = require("./core/connect.js");
        exports.errors = require("./core/errors.js");`,
    },
  },
  {
    // Base64 in JavaScript, with which descriptors are read, is called so often at every start that V8 loads its
    // optimizing compiler for it: 5 MB. Descriptors are generated, so it is safe that Node's decoder overlooks
    // mistakes.
    path: /\/wire\/base64-encoding\.js$/,
    importer: /\/codegenv2\/file\.js$/,
    module: {
      contents: `export const base64Decode = (text) => new Uint8Array(Buffer.from(text, "base64"));`,
    },
  },
  {
    path: /\/create\.js$/,
    importer: /@bufbuild\/protobuf\/dist\/esm\//,
    module: createMessagesByConstructor(),
  },
  {
    // A compiler of JSON Schemas as large as all the rest of the client: results of tools are not validated.
    path: /^@modelcontextprotocol\/client\/_shims$/,
    importer: MCP_CLIENT,
    within: MCP_CLIENT,
    module: {
      contents: `
        export const CORS_IS_POSSIBLE = false;
        export class DefaultJsonSchemaValidator {
          getValidator() { throw new Error("no JSON Schema is compiled here"); }
        }`,
    },
  },
  {
    // Not its pools, clusters and sentinels.
    path: /^@redis\/client$/,
    importer: /./,
    within: VALKEY_CLIENT,
    module: {
      resolveDir: "node_modules/@redis/client/dist",
      contents: `
        exports.createClient = require("./lib/client/index.js").default.create;
        exports.ErrorReply = require("./lib/errors.js").ErrorReply;
        exports.RESP_TYPES = require("./lib/RESP/decoder.js").RESP_TYPES;`,
    },
  },
  {
    // Methods for each of 400 commands: ours are sent as they are, and those of a connection are separate modules.
    path: /^\.\.\/commands$/,
    importer: /@redis\/client\/dist\/lib\/client\/[\w-]+\.js$/,
    within: VALKEY_CLIENT,
    module: { contents: "exports.default = {};" },
  },
  {
    // Its `require` looks for grpc-js in node_modules at run time, where a bundle has none.
    path: /_rolldown\/runtime\.mjs$/,
    importer: OTLP_GRPC,
    within: OTLP_GRPC,
    module: {
      resolveDir: "node_modules",
      contents: `
        import * as grpc from "@grpc/grpc-js";
        export const __require = () => grpc;
        export const __toCommonJS = (module) => module;
        export const __esmMin = (load) => () => { load?.(); load = undefined; };
        export const __exportAll = (getters) => {
          const target = {};
          for (const name in getters) Object.defineProperty(target, name, { get: getters[name], enumerable: true });
          return target;
        };`,
    },
  },
  {
    // Signs tokens for OAuth flows, which callers go through before they call.
    path: /^jose$/,
    importer: MCP_CLIENT,
    within: MCP_CLIENT,
    module: { contents: "export {};" },
  },
];

/**
 * Leaves out code that a sidecar never runs, since every loaded module costs memory in each pod. Fails if a replacement
 * finds nothing to replace: a dependency has moved its files.
 */
export const slim: Plugin = {
  name: "slim",
  setup({ onResolve, onLoad, onEnd }) {
    const unused = new Set(REPLACEMENTS);
    for (const [index, replacement] of REPLACEMENTS.entries()) {
      onResolve({ filter: replacement.path }, ({ importer }) => {
        if (!replacement.importer.test(importer)) return undefined;
        unused.delete(replacement);
        return { path: String(index), namespace: "slim" };
      });
    }
    onLoad({ filter: /./, namespace: "slim" }, ({ path }) => REPLACEMENTS[Number(path)]?.module);
    onEnd(({ metafile }) => {
      const inputs = Object.keys(metafile?.inputs ?? {});
      const missed = [...unused].filter(({ within = /./ }) => inputs.some((input) => within.test(input)));
      const errors = missed.map(({ path, importer }) => ({
        text: `slim: nothing that fits ${importer} imports what fits ${path}`,
      }));
      return { errors };
    });
  },
};
