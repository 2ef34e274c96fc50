import { describe, expect, it } from "vitest";
import type { SimulatedRequest } from "../../simulator/index.ts";
import { post, useSimulator } from "./support.ts";

const simulator = useSimulator({ aliases: { "gpt-5.6": "sim-echo" } });

async function requests(): Promise<readonly SimulatedRequest[]> {
  const response = await fetch(`${simulator().url}/simulator/requests`);
  return ((await response.json()) as { requests: readonly SimulatedRequest[] }).requests;
}

describe("GET /simulator/requests", () => {
  it("lists the requests, with keys masked", async () => {
    await (
      await post(
        simulator(),
        { model: "sim-text", input: "Hello", stream: true },
        { headers: { authorization: "Bearer secret-key-1234" } },
      )
    ).text();
    const [request] = await requests();
    expect(request).toMatchObject({
      number: 1,
      requestId: expect.stringMatching(/^req_0+1$/) as string,
      method: "POST",
      path: "/v1/responses",
      headers: { authorization: "Bearer …1234" },
      body: { model: "sim-text", input: "Hello", stream: true },
      aborted: false,
      status: 200,
    });
    expect(request?.events).toBeGreaterThan(10);
    expect(request?.closedAt).toBeGreaterThan(request?.receivedAt ?? Infinity);
    expect(simulator().requests[0]?.headers.authorization).toBe("Bearer secret-key-1234");
  });

  it("does not list itself", async () => {
    await requests();
    expect((await requests()).map((request) => request.path)).not.toContain("/simulator/requests");
  });
});

describe("DELETE /simulator/requests", () => {
  it("clears the requests", async () => {
    await (await post(simulator(), { model: "sim-text", input: "Hello" })).text();
    const response = await fetch(`${simulator().url}/simulator/requests`, { method: "DELETE" });
    expect(response.status).toBe(204);
    expect(await requests()).toEqual([]);
    expect(simulator().requests).toHaveLength(0);
  });
});

describe("GET /simulator/models", () => {
  it("documents scripts, options and aliases", async () => {
    const response = await fetch(`${simulator().url}/simulator/models`);
    expect(await response.json()).toMatchObject({
      grammar: expect.stringContaining("sim-<script>") as string,
      endpoints: expect.arrayContaining(["POST /v1/responses"]) as string[],
      aliases: { "gpt-5.6": "sim-echo" },
      scripts: expect.arrayContaining([expect.objectContaining({ model: "sim-tools" })]) as object[],
      options: expect.arrayContaining([
        {
          name: "times",
          group: "fault",
          value: expect.any(String) as string,
          summary: expect.any(String) as string,
        },
      ]) as object[],
    });
  });
});

describe("other paths under /simulator", () => {
  it("get 404 with a list of the existing ones", async () => {
    const response = await fetch(`${simulator().url}/simulator/other`);
    expect(response.status).toBe(404);
    expect(await response.text()).toContain("GET /simulator/requests");
  });
});
