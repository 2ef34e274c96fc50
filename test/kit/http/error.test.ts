import { errors } from "undici";
import { describe, expect, it } from "vitest";
import { AbortError, ConfigurationError, NetworkError } from "../../../src/core/errors.ts";
import { toHttpError } from "../../../src/kit/http/error.ts";
import { DEFAULT_HTTP_TIMEOUTS } from "../../../src/kit/http/timeouts.ts";

const exchange = { peer: "a.example:443", timeouts: DEFAULT_HTTP_TIMEOUTS };

const systemError = (code: string) => Object.assign(new Error(`getaddrinfo ${code}`), { code });

describe("toHttpError()", () => {
  it.each([
    ["connecting", systemError("ENOTFOUND"), "cannot connect to a.example:443 (ENOTFOUND)"],
    ["connecting", systemError("EAI_AGAIN"), "cannot connect to a.example:443 (EAI_AGAIN)"],
    ["connecting", systemError("CERT_HAS_EXPIRED"), "cannot connect to a.example:443 (CERT_HAS_EXPIRED)"],
    ["connecting", systemError("ERR_TLS_CERT_ALTNAME_INVALID"), "(ERR_TLS_CERT_ALTNAME_INVALID)"],
    ["connecting", systemError("ERR_SSL_SSL/TLS_ALERT_HANDSHAKE_FAILURE"), "TLS_ALERT_HANDSHAKE_FAILURE)"],
    ["connecting", new errors.ConnectTimeoutError(), "no connection to a.example:443 within 10 seconds"],
    ["waiting", systemError("ECONNRESET"), "to a.example:443 was lost before the answer (ECONNRESET)"],
    ["waiting", new errors.SocketError("other side closed"), "before the answer (closed by the other side)"],
    ["reading", systemError("EPIPE"), "to a.example:443 was lost in the middle of the answer (EPIPE)"],
    ["reading", new TypeError("what is this"), "in the middle of the answer (TypeError)"],
  ] as const)("while %s makes NetworkError of %s", (phase, error, want) => {
    const mapped = toHttpError(error, { ...exchange, phase });
    expect(mapped).toBeInstanceOf(NetworkError);
    expect(mapped.retryable).toBe(true);
    expect(mapped.message).toContain(want);
  });

  it("turns a closed pool into AbortError and an invalid request into ConfigurationError", () => {
    const closed = toHttpError(new errors.ClientDestroyedError(), { ...exchange, phase: "waiting" });
    expect(closed).toBeInstanceOf(AbortError);
    const invalid = new errors.InvalidArgumentError("invalid x-key header");
    const unsendable = toHttpError(invalid, { ...exchange, phase: "connecting" });
    expect(unsendable).toBeInstanceOf(ConfigurationError);
    expect(unsendable.message).toBe("the request to a.example:443 cannot be sent: invalid x-key header");
  });

  it("does not take a text for a code", () => {
    const error = Object.assign(new Error("x"), { code: "secret words" });
    const mapped = toHttpError(error, { ...exchange, phase: "connecting" });
    expect(mapped.message).toBe("cannot connect to a.example:443 (Error)");
  });
});
