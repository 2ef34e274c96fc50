/** Paths that are not served, and paths that several APIs have, fail in the form of the API whose client asks. */
import Anthropic from "@anthropic-ai/sdk";
import { GoogleGenAI } from "@google/genai";
import OpenAI from "openai";
import { describe, expect, it } from "vitest";
import { AccessControl } from "../../../src/server/access/access-control.ts";
import { accessKey } from "../../server/support/access-keys.ts";
import { useTestServers } from "../../server/support/test-server.ts";
import { startApi } from "../support/api-server.ts";

const servers = useTestServers();

async function startClients() {
  const access = new AccessControl({ current: () => [accessKey("a", ["a-key"])] });
  const { server } = await startApi(servers, { access });
  const createClients = (apiKey: string) => ({
    anthropic: new Anthropic({ apiKey, baseURL: server.url, maxRetries: 0 }),
    beta: new Anthropic({ apiKey, baseURL: `${server.url}/v1beta`, maxRetries: 0 }),
    openai: new OpenAI({ apiKey, baseURL: `${server.url}/v1`, maxRetries: 0 }),
    google: new GoogleGenAI({ apiKey, httpOptions: { baseUrl: server.url } }),
    googleV1: new GoogleGenAI({ apiKey, httpOptions: { baseUrl: server.url, apiVersion: "v1" } }),
  });
  return { known: createClients("a-key"), unknown: createClients("wrong") };
}

const ID = expect.stringMatching(/./);

/** The error of Google's SDK: its message is the body. */
const googleError = (code: number, status: string) => ({
  status: code,
  message: expect.stringMatching(new RegExp(`"code":${code}.*"status":"${status}"`)),
});

describe("a path that is not served", () => {
  it("fails in Anthropic's form for its SDK, with the id of the request", async () => {
    const { known } = await startClients();
    const error = { status: 404, type: "not_found_error", requestID: ID };
    await expect(known.anthropic.messages.batches.list()).rejects.toMatchObject(error);
    await expect(known.anthropic.beta.files.list()).rejects.toMatchObject(error);
    await expect(known.beta.messages.batches.list()).rejects.toMatchObject(error);
  });

  it("fails in Google's form for its SDK, under both versions", async () => {
    const { known } = await startClients();
    const list = (client: GoogleGenAI) => client.caches.list();
    await expect(list(known.google)).rejects.toMatchObject(googleError(404, "NOT_FOUND"));
    await expect(list(known.googleV1)).rejects.toMatchObject(googleError(404, "NOT_FOUND"));
  });

  it("fails in OpenAI's form for others", async () => {
    const { known } = await startClients();
    await expect(known.openai.files.list()).rejects.toMatchObject({
      status: 404,
      code: "unknown_url",
      type: "invalid_request_error",
      requestID: ID,
    });
  });

  it("refuses an access key in the same form", async () => {
    const { unknown } = await startClients();
    const error = { status: 401, type: "authentication_error", requestID: ID };
    await expect(unknown.anthropic.messages.batches.list()).rejects.toMatchObject(error);
    await expect(unknown.anthropic.models.list()).rejects.toMatchObject(error);
    const listed = unknown.googleV1.models.list();
    await expect(listed).rejects.toMatchObject(googleError(401, "UNAUTHENTICATED"));
    await expect(unknown.openai.models.list()).rejects.toMatchObject({
      status: 401,
      code: "invalid_api_key",
    });
  });
});
