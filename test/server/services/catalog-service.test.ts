import { Code, ConnectError, createClient } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { describe, expect, it } from "vitest";
import { defaultCatalog } from "../../../src/catalog/catalog.ts";
import { BadRequestSchema } from "../../../src/gen/google/rpc/error_details_pb.ts";
import { Capability, CatalogService } from "../../../src/gen/outrigger/v1/catalog_service_pb.ts";
import { ErrorKind, InferenceErrorSchema } from "../../../src/gen/outrigger/v1/error_pb.ts";
import { type TestServer, useTestServers } from "../support/test-server.ts";

const servers = useTestServers();

async function start() {
  const server = await servers.start({}, { catalog: defaultCatalog });
  return { server, client: createClient(CatalogService, createGrpcTransport({ baseUrl: server.url })) };
}

async function toFailure(call: Promise<unknown>): Promise<ConnectError> {
  const error = await call.catch(ConnectError.from);
  if (!(error instanceof ConnectError)) throw new Error("the call did not fail");
  return error;
}

function lastLine(server: TestServer) {
  return server.log.findLast((line) => "rpc" in line);
}

describe("ListModels", () => {
  it("returns the models of the catalog", async () => {
    const { client } = await start();
    expect((await client.listModels({})).models).toEqual(defaultCatalog.listModels());
    const provider = "anthropic";
    const capabilities = [Capability.IMAGE_INPUT];
    expect((await client.listModels({ provider, capabilities })).models).toEqual(
      defaultCatalog.listModels(provider, capabilities),
    );
  });

  it("gives every model once over its pages, and no token after the last page", async () => {
    const { client } = await start();
    const ids: string[] = [];
    let pageToken = "";
    do {
      const page = await client.listModels({ provider: "openai", pageSize: 7, pageToken });
      expect(page.models.length).toBeLessThanOrEqual(7);
      ids.push(...page.models.map(({ id }) => id));
      pageToken = page.nextPageToken;
    } while (pageToken !== "");
    expect(ids).toEqual(defaultCatalog.listModels("openai").map(({ id }) => id));
  });

  it.each([
    [{ pageSize: -1 }, "page_size"],
    [{ pageToken: "bm90IGEgdG9rZW4" }, "page_token"],
  ])("rejects %j and names the field", async (request, field) => {
    const { client } = await start();
    const error = await toFailure(client.listModels(request));
    expect(error.code).toBe(Code.InvalidArgument);
    expect(error.findDetails(BadRequestSchema)).toMatchObject([{ fieldViolations: [{ field }] }]);
  });

  it("is served for GET, since it has no side effects", async () => {
    const { server } = await start();
    const query = `encoding=json&connect=v1&message=${encodeURIComponent('{"pageSize":1}')}`;
    const response = await fetch(`${server.url}/outrigger.v1.CatalogService/ListModels?${query}`);
    expect(response.status).toBe(200);
    expect(await response.json()).toMatchObject({ models: [{}], nextPageToken: expect.any(String) });
  });

  it("accepts messages of GET in base64, and refuses others", async () => {
    const { server } = await start();
    const ask = async (message: string) => {
      const query = `encoding=json&connect=v1&base64=1&message=${encodeURIComponent(message)}`;
      const response = await fetch(`${server.url}/outrigger.v1.CatalogService/ListModels?${query}`);
      return [response.status, await response.json()];
    };
    const message = Buffer.from('{"pageSize":1}').toString("base64url");
    expect(await ask(message)).toMatchObject([200, { models: [{}] }]);
    for (const wrong of ["%%%", "a"]) {
      const refused = { code: "invalid_argument", message: expect.stringContaining("expected base64") };
      expect(await ask(wrong)).toMatchObject([400, refused]);
    }
    const codes = server.log.map(({ code }) => code).filter((code) => code !== undefined);
    expect(codes).toEqual(["OK", "INVALID_ARGUMENT", "INVALID_ARGUMENT"]);
  });
});

describe("GetModel", () => {
  it("gives the entry of an id", async () => {
    const { client } = await start();
    const [known] = defaultCatalog.listModels("openai");
    const model = await client.getModel({ model: known?.id ?? "", provider: "openai" });
    expect(model).toEqual(known);
  });

  it("of an unknown model is NOT_FOUND and names it", async () => {
    const { server, client } = await start();
    const error = await toFailure(client.getModel({ model: "no-such-model", provider: "openai" }));
    expect(error.code).toBe(Code.NotFound);
    expect(error.rawMessage).toBe('the catalog has no model "no-such-model" of provider "openai"');
    expect(error.findDetails(InferenceErrorSchema)).toMatchObject([{ kind: ErrorKind.NOT_FOUND }]);
    await expect.poll(() => lastLine(server)).toMatchObject({ code: "NOT_FOUND", error_kind: "NOT_FOUND" });
  });

  it("of no model is INVALID_ARGUMENT and names the field", async () => {
    const { client } = await start();
    const error = await toFailure(client.getModel({}));
    expect(error.code).toBe(Code.InvalidArgument);
    expect(error.findDetails(BadRequestSchema)).toMatchObject([{ fieldViolations: [{ field: "model" }] }]);
  });
});

describe("GetLatestModel", () => {
  it("gives a provider's newest", async () => {
    const { client } = await start();
    const capabilities = [Capability.TOOLS];
    const model = await client.getLatestModel({ provider: "gemini", capabilities });
    expect(model.provider).toBe("gemini");
    expect(model.capabilities).toContain(Capability.TOOLS);
  });

  it("of an unknown provider is NOT_FOUND, of none INVALID_ARGUMENT", async () => {
    const { client } = await start();
    expect((await toFailure(client.getLatestModel({ provider: "acme" }))).code).toBe(Code.NotFound);
    const error = await toFailure(client.getLatestModel({}));
    expect(error.findDetails(BadRequestSchema)).toMatchObject([{ fieldViolations: [{ field: "provider" }] }]);
  });

  it("with a bug is INTERNAL and its message is not shown", async () => {
    const broken = () => {
      throw new Error("secret");
    };
    const catalog = { getModelInfo: broken, listModels: broken, getLatestModel: broken };
    const server = await servers.start({}, { catalog });
    const client = createClient(CatalogService, createGrpcTransport({ baseUrl: server.url }));
    const error = await toFailure(client.listModels({}));
    expect([error.code, error.rawMessage]).toEqual([Code.Internal, "internal error"]);
    await expect.poll(() => lastLine(server)).toMatchObject({ level: 50, fault: { type: "Error" } });
  });
});
