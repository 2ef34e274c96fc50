import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, it, vi } from "vitest";
import { ConfigurationError } from "../../../src/core/errors.ts";
import { isPrivateAddress } from "../../../src/kit/http/private-address.ts";
import { createHttpTransport } from "../../../src/kit/http/transport.ts";

/** The answers of the DNS, by names that only these tests use. */
const dns = vi.hoisted(() => new Map<string, { address: string; family: number }[]>());

vi.mock("node:dns", async (original) => {
  const real = await original<typeof import("node:dns")>();
  return {
    ...real,
    lookup(name: string, options: object, callback: (...found: unknown[]) => void) {
      const addresses = dns.get(name);
      if (addresses === undefined) real.lookup(name, options as { all: true }, callback);
      else process.nextTick(callback, null, addresses);
    },
  };
});

describe("isPrivateAddress()", () => {
  it.each([
    "127.0.0.1",
    "127.8.8.8",
    "10.1.2.3",
    "172.16.0.1",
    "172.31.255.255",
    "192.168.1.1",
    "100.64.0.1",
    "0.0.0.0",
    "::1",
    "::",
    "fd12:3456::1",
    "::ffff:10.0.0.1",
  ])("is true of %s", (address) => expect(isPrivateAddress(address)).toBe(true));

  it.each([
    "8.8.8.8",
    "172.32.0.1",
    "192.169.0.1",
    "100.128.0.1",
    "169.254.169.254",
    "224.0.0.1",
    "0.0.0.1",
    "fe80::1",
    "2001:db8::1",
    "::ffff:8.8.8.8",
    "64:ff9b::8.8.8.8",
    "localhost",
    "",
  ])("is false of %j", (address) => expect(isPrivateAddress(address)).toBe(false));
});

describe("a transport with localOnly", () => {
  async function withServer<Result>(use: (port: number) => Promise<Result>): Promise<Result> {
    const server = createServer((_request, response) => response.end("here")).listen(0, "127.0.0.1");
    await once(server, "listening");
    try {
      return await use((server.address() as AddressInfo).port);
    } finally {
      server.closeAllConnections();
      server.close();
    }
  }

  function get(baseUrl: string, environment = {}) {
    const transport = createHttpTransport({ baseUrl, localOnly: true, environment });
    return transport
      .get("/", { headers: {} })
      .then(({ status }) => status)
      .finally(() => transport.close());
  }

  it("reaches loopback, by address and by name", async () => {
    await withServer(async (port) => {
      expect(await get(`http://127.0.0.1:${port}`)).toBe(200);
      expect(await get(`http://localhost:${port}`)).toBe(200);
    });
  });

  it.each(["http://8.8.8.8/v1", "https://[2001:db8::1]/", "http://0x08080808/", "http://169.254.169.254/"])(
    "cannot be created for %s",
    (baseUrl) => {
      expect(() => createHttpTransport({ baseUrl, localOnly: true })).toThrow(ConfigurationError);
      expect(() => createHttpTransport({ baseUrl, localOnly: true })).toThrow(/as local_only requires/);
    },
  );

  it("does not connect to a name that resolves elsewhere since it was checked", async () => {
    await withServer(async (port) => {
      const baseUrl = `http://rebound.example:${port}`;
      dns.set("rebound.example", [{ address: "127.0.0.1", family: 4 }]);
      const transport = createHttpTransport({ baseUrl, localOnly: true, environment: {}, keepAliveMs: 1 });
      const headers = { connection: "close" };
      expect((await transport.get("/", { headers: {} })).status).toBe(200);
      dns.set("rebound.example", [{ address: "192.0.2.1", family: 4 }]);
      await transport.close();
      const again = createHttpTransport({ baseUrl, localOnly: true, environment: {} });
      await expect(again.get("/", { headers })).rejects.toThrow(
        new ConfigurationError(
          `rebound.example:${port} is not on this machine or in a private network, as local_only requires`,
        ),
      );
      await again.close();
    });
  });

  it("uses only the private addresses of a name that also has others", async () => {
    await withServer(async (port) => {
      dns.set("mixed.example", [
        { address: "192.0.2.1", family: 4 },
        { address: "127.0.0.1", family: 4 },
      ]);
      expect(await get(`http://mixed.example:${port}`)).toBe(200);
    });
  });

  it("uses no proxy, which could lead anywhere", async () => {
    await withServer(async (port) => {
      const environment = { HTTP_PROXY: "http://127.0.0.1:1" };
      expect(await get(`http://127.0.0.1:${port}`, environment)).toBe(200);
    });
  });
});
