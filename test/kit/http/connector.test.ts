import { Socket } from "node:net";
import { type buildConnector, errors } from "undici";
import { describe, expect, it } from "vitest";
import { Connector } from "../../../src/kit/http/connector.ts";

const target: buildConnector.Options = { hostname: "a.example", protocol: "https:", port: "443" };

describe("Connector", () => {
  it("settles an attempt once: a connection that comes after it was given up is closed", () => {
    let finish: buildConnector.Callback | undefined;
    const connector = new Connector((_options, callback) => {
      finish = callback;
    });
    const outcomes: unknown[] = [];
    connector.connect(target, (...outcome) => outcomes.push(outcome));
    const left = new Error("left");
    connector.cancel(left);
    connector.cancel(new Error("left again"));
    const late = new Socket();
    finish?.(null, late);
    expect(outcomes).toEqual([[left, null]]);
    expect(late.destroyed).toBe(true);
  });

  it("lets undici create errors without stack traces once a head is too large, until the read ends", async () => {
    const sockets = [new Socket(), new Socket()];
    for (const socket of sockets) {
      const connector = new Connector((_options, callback) => callback(null, socket));
      connector.connect(target, () => socket.on("error", () => {}));
    }
    const { stackTraceLimit } = Error;
    for (const socket of sockets) socket.destroy(new errors.HeadersOverflowError());
    expect(Error.stackTraceLimit).toBe(0);
    await undefined;
    expect(Error.stackTraceLimit).toBe(stackTraceLimit);
  });

  it("has nothing to abort once it is connected", () => {
    const socket = new Socket();
    const connector = new Connector((_options, callback) => callback(null, socket));
    connector.limitMs = 1;
    const outcomes: unknown[] = [];
    connector.connect(target, (...outcome) => outcomes.push(outcome));
    connector.cancel(new Error("left"));
    expect(outcomes).toEqual([[null, socket]]);
    expect(socket.destroyed).toBe(false);
  });
});
