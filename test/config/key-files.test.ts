import { once } from "node:events";
import { mkdir, mkdtemp, rename, rm, symlink, writeFile } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { setTimeout } from "node:timers/promises";
import { create } from "@bufbuild/protobuf";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { buildClient, loadConfig, ServedClient } from "../../src/config/index.ts";
import { KeyFile } from "../../src/config/key-files.ts";
import { accumulate } from "../../src/core/accumulator.ts";
import { userMessage } from "../../src/core/message.ts";
import { createSourceForm } from "../../src/core/source-form.ts";
import { createRequest } from "../../src/endpoints/answers/create-request.ts";
import { EmbedRequestSchema } from "../../src/gen/outrigger/v1/embedding_service_pb.ts";
import { HttpAdapter } from "../../src/kit/adapter/http-adapter.ts";
import { toMembers } from "../../src/kit/json/json-source.ts";
import { getParts } from "./support/client-parts.ts";

/** Longer than the interval between checks of a file. */
const NEXT_CHECK_MS = 150;

let folder: string;
let lines: [level: string, fields: object, message: string][];
const log = {
  info: (fields: object, message: string) => void lines.push(["info", fields, message]),
  warn: (fields: object, message: string) => void lines.push(["warn", fields, message]),
};

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "outrigger-keys-"));
  lines = [];
});

afterEach(() => rm(folder, { recursive: true }));

/**
 * Writes a secret as Kubernetes does: `key` links through `..data` to a folder, and `..data` is replaced atomically.
 */
async function mountSecret(version: string, key: string): Promise<void> {
  await mkdir(join(folder, `..${version}`));
  await writeFile(join(folder, `..${version}`, "key"), `${key}\n`);
  await symlink(`..${version}`, join(folder, "..data_tmp"));
  await rename(join(folder, "..data_tmp"), join(folder, "..data"));
}

describe("KeyFile", () => {
  it("follows the symbolic links of a mounted secret", async () => {
    await mountSecret("2026_01", "sk-one");
    await symlink("..data/key", join(folder, "key"));
    const file = new KeyFile("main", join(folder, "key"), "sk-one", log);
    expect(file.current()).toBe("sk-one");
    await mountSecret("2026_02", "sk-two");
    await setTimeout(NEXT_CHECK_MS);
    expect(file.current()).toBe("sk-two");
    expect(lines).toEqual([
      ["info", { provider: "main", path: join(folder, "key") }, "using the new key of the key file"],
    ]);
    expect(JSON.stringify(lines)).not.toContain("sk-");
  });

  it("keeps the last key while the file is empty or missing, and warns once of each", async () => {
    const path = join(folder, "key");
    await writeFile(path, "sk-one");
    const file = new KeyFile("main", path, "sk-one", log);
    for (const change of [() => writeFile(path, ""), () => rm(path)]) {
      await change();
      for (let look = 0; look < 2; look += 1) {
        await setTimeout(NEXT_CHECK_MS);
        expect(file.current()).toBe("sk-one");
      }
    }
    const message = "cannot use the changed key file, keeping the previous key";
    expect(lines).toEqual([
      ["warn", { provider: "main", problem: `expected one key in ${path}, found nothing` }, message],
      ["warn", { provider: "main", problem: `cannot read ${path} (ENOENT)` }, message],
    ]);
    await writeFile(path, "sk-two");
    await setTimeout(NEXT_CHECK_MS);
    expect(file.current()).toBe("sk-two");
  });

  it("looks for a new key a tenth of a second after the last look, and not before", async () => {
    const path = join(folder, "key");
    await writeFile(path, "sk-one");
    vi.useFakeTimers({ toFake: ["performance"] });
    try {
      const file = new KeyFile("main", path, "sk-one", log);
      file.current();
      await writeFile(path, "sk-two-is-longer");
      vi.advanceTimersByTime(99);
      expect(file.current()).toBe("sk-one");
      vi.advanceTimersByTime(1);
      expect(file.current()).toBe("sk-two-is-longer");
    } finally {
      vi.useRealTimers();
    }
  });

  it("does not read a pipe or a folder", async () => {
    const file = new KeyFile("main", folder, "sk-one", log);
    expect(file.current()).toBe("sk-one");
    expect(lines).toMatchObject([["warn", { problem: `${folder} is not a file` }, expect.any(String)]]);
  });
});

describe("ServedClient.reloadKeys()", () => {
  it("reads all files on demand, and names their providers", async () => {
    for (const name of ["a", "b"]) await writeFile(join(folder, name), `sk-${name}`);
    const config = join(folder, "outrigger.yaml");
    const providers = [
      "first: { api: openai-responses, api_key_file: a }",
      "second: { api: gemini, api_key_file: b }",
    ];
    await writeFile(config, `providers: { ${providers.join(", ")}, third: { api: gemini, api_key: k } }`);
    const loaded = await loadConfig({ environment: {}, flags: { config } });
    const client = new ServedClient(loaded.client, { log });
    await writeFile(join(folder, "b"), "sk-c");
    expect(client.reloadKeys()).toEqual(["first", "second"]);
    const fields = { provider: "second", path: join(folder, "b") };
    expect(lines).toEqual([["info", fields, "using the new key of the key file"]]);
    await client.close();
  });
});

describe("a client with key files", () => {
  let server: Server;
  let keys: (string | undefined)[];
  let paths: (string | undefined)[];
  let bodies: string[];

  beforeEach(async () => {
    [keys, paths, bodies] = [[], [], []];
    server = createServer(async (request, response) => {
      keys.push(request.headers.authorization);
      paths.push(request.url);
      bodies.push(await text(request));
      response.writeHead(401).end();
    }).listen(0, "127.0.0.1");
    await once(server, "listening");
  });

  afterEach(() => {
    server.closeAllConnections();
    server.close();
  });

  async function openClient(api: string, path = "") {
    await writeFile(join(folder, "key"), "sk-one");
    const address = server.address();
    const port = typeof address === "object" ? address?.port : undefined;
    const config = join(folder, "outrigger.yaml");
    const base = `http://127.0.0.1:${port}${path}`;
    await writeFile(config, `providers: { main: { api: ${api}, base_url: "${base}", api_key_file: key } }`);
    const { client: settings } = await loadConfig({ environment: {}, flags: { config } });
    return buildClient(settings, getParts(settings, log));
  }

  it("sends the new key with the next request", async () => {
    await using client = await openClient("openai-chat", "/v1");
    const request = { model: "m", messages: [userMessage("hi")] };
    await expect(client.complete(request)).rejects.toMatchObject({ httpStatusCode: 401 });
    await writeFile(join(folder, "next"), "sk-two");
    await rename(join(folder, "next"), join(folder, "key"));
    await setTimeout(NEXT_CHECK_MS);
    await expect(client.complete(request)).rejects.toMatchObject({ httpStatusCode: 401 });
    await expect(accumulate(client.stream(request))).rejects.toMatchObject({ httpStatusCode: 401 });
    expect(keys).toEqual(["Bearer sk-one", "Bearer sk-two", "Bearer sk-two"]);
  });

  it("closes the adapters of all keys", async () => {
    const close = vi.spyOn(HttpAdapter.prototype, "close");
    try {
      const client = await openClient("openai-chat", "/v1");
      const request = { model: "m", messages: [userMessage("hi")] };
      await expect(client.complete(request)).rejects.toMatchObject({ httpStatusCode: 401 });
      await writeFile(join(folder, "key"), "sk-two");
      await setTimeout(NEXT_CHECK_MS);
      await expect(client.complete(request)).rejects.toMatchObject({ httpStatusCode: 401 });
      await client.close();
      expect(new Set(close.mock.contexts).size).toBe(2);
    } finally {
      close.mockRestore();
    }
  });

  it("embeds, counts tokens, and passes on requests in the provider's own form", async () => {
    await using client = await openClient("openai-chat", "/v1");
    const embedding = create(EmbedRequestSchema, { model: "m", texts: ["hi"] });
    await expect(client.embed(embedding)).rejects.toMatchObject({ httpStatusCode: 401 });
    const request = createRequest({ model: "m", messages: [userMessage("hi")] });
    const body = '{"model":"m","messages":[],"own_field":1}';
    const source = createSourceForm({
      api: "openai-chat",
      headers: {},
      getMembers: () => toMembers(body),
      request,
      restored: { hasReasoning: false, hasCallState: false },
    });
    await expect(client.complete(request, { source })).rejects.toMatchObject({ httpStatusCode: 401 });
    await using counting = await openClient("anthropic-messages");
    await expect(counting.countTokens(request)).rejects.toMatchObject({ httpStatusCode: 401 });
    expect(paths).toEqual(["/v1/embeddings", "/v1/chat/completions", "/v1/messages/count_tokens"]);
    expect(bodies[1]).toBe(body);
  });
});
