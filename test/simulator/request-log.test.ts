import { describe, expect, it } from "vitest";
import { createRequestLog, type OpenRequest } from "../../simulator/request-log.ts";

function request(number: number, bodyBytes = 10): OpenRequest {
  return {
    number,
    requestId: `req_${number}`,
    method: "POST",
    path: "/v1/responses",
    headers: {},
    body: { number },
    bodyBytes,
    receivedAt: number,
    closedAt: undefined,
    aborted: false,
    status: undefined,
    events: 0,
  };
}

describe("the request log", () => {
  it("keeps at most the configured number of requests", () => {
    const log = createRequestLog({ maxEntries: 3 });
    for (let number = 1; number <= 5; number += 1) log.add(request(number));
    expect(log.entries.map((entry) => entry.number)).toEqual([3, 4, 5]);
  });

  it("keeps at most the configured number of bytes", () => {
    const log = createRequestLog({ maxBytes: 25 });
    for (let number = 1; number <= 5; number += 1) log.add(request(number));
    expect(log.entries.map((entry) => entry.number)).toEqual([4, 5]);
  });

  it("keeps a request whose body is too large, without the body", () => {
    const log = createRequestLog({ maxBytes: 25 });
    log.add(request(1));
    log.add(request(2, 26));
    expect(log.entries).toMatchObject([{ number: 1 }, { number: 2, body: undefined, bodyBytes: 26 }]);
  });

  it("starts from zero once it is cleared", () => {
    const log = createRequestLog({ maxBytes: 25 });
    log.add(request(1));
    log.add(request(2));
    log.clear();
    log.add(request(3));
    log.add(request(4));
    expect(log.entries.map((entry) => entry.number)).toEqual([3, 4]);
  });
});

describe("waitForRequest()", () => {
  it("resolves with a request that has arrived or will arrive", async () => {
    const log = createRequestLog();
    log.add(request(1));
    expect((await log.waitForRequest()).number).toBe(1);
    const waiting = log.waitForRequest({ where: (each) => each.number === 2 });
    log.add(request(2));
    expect((await waiting).number).toBe(2);
  });

  it("rejects after the timeout, and when the log stops", async () => {
    const log = createRequestLog();
    await expect(log.waitForRequest({ timeoutMs: 10 })).rejects.toThrow(
      "no such request arrived within 10 ms",
    );
    const waiting = log.waitForRequest();
    log.stop();
    await expect(waiting).rejects.toThrow("the simulator was closed");
  });
});

describe("waitForClose()", () => {
  it("resolves when the request has ended", async () => {
    const log = createRequestLog();
    const open = request(1);
    log.add(open);
    const waiting = log.waitForClose();
    log.close(open, true);
    expect(await waiting).toMatchObject({ number: 1, aborted: true, closedAt: expect.any(Number) as number });
  });
});
