import { DatabaseError } from "pg";
import { describe, expect, it } from "vitest";
import { InternalError, InvalidRequestError } from "../../../src/core/errors.ts";
import { ErrorKind } from "../../../src/gen/outrigger/v1/error_pb.ts";
import { StoreFullError, StoreUnreachableError } from "../../../src/runs/errors.ts";
import { NotConnectedError } from "../../../src/runs/store/driver.ts";
import {
  isConnectionUsable,
  isRepeatable,
  toConnectError,
  toStoreError,
} from "../../../src/runs/store/postgres-connections.ts";

/** A failure that the server reports. Its texts quote values, which no error of ours may show. */
function failure(code: string, severity = "ERROR"): DatabaseError {
  const error = new DatabaseError("Key (id)=(secret) exists", 1, "error");
  return Object.assign(error, { code, severity, detail: "secret" });
}

/** SQLSTATEs with the message of the error, and whether the database is away. */
const STATES: readonly (readonly [string, string, "away" | "there"])[] = [
  ["08006", "the connection to the database of runs broke", "away"],
  ["08P01", "the database of runs, or a pooler before it, refuses a parameter of the connection", "away"],
  ["25006", "the database of runs is read-only", "away"],
  ["26000", "a pooler before the database of runs does not keep prepared statements", "there"],
  ["28P01", "the database of runs refused the sidecar's credentials", "there"],
  ["3D000", "the database of runs does not exist", "there"],
  ["40001", "the database of runs is too busy", "there"],
  ["40P01", "the database of runs is too busy", "there"],
  ["42501", "the sidecar's role lacks rights that it needs in the database of runs", "there"],
  ["42P05", "a pooler before the database of runs does not keep prepared statements", "there"],
  ["53200", "the database of runs is out of resources", "there"],
  ["53300", "the database of runs has no free connections", "away"],
  ["57014", "the database of runs took too long", "there"],
  ["57P01", "the database of runs is shutting down or took too long", "away"],
  ["57P02", "the database of runs is shutting down or took too long", "away"],
  ["57P03", "the database of runs is shutting down or took too long", "away"],
  ["57P05", "the database of runs is shutting down or took too long", "there"],
];

describe("the error for a failure of PostgreSQL", () => {
  it.each(STATES)("of the SQLSTATE %s says: %s (%s)", (code, message, place) => {
    const error = toStoreError(failure(code));
    expect(error).toMatchObject({ kind: ErrorKind.SERVER, message: `${message} (SQLSTATE ${code})` });
    expect(error instanceof StoreUnreachableError).toBe(place === "away");
    expect(error.cause).toBeUndefined();
  });

  it("reports a full disk, which is temporary", () => {
    const error = toStoreError(failure("53100"));
    expect(error).toBeInstanceOf(StoreFullError);
    expect(error.message).toBe("the disk of the database of runs is full (SQLSTATE 53100)");
  });

  it("shows nothing of a statement that was refused", () => {
    const error = toStoreError(failure("23505"));
    expect(error).toBeInstanceOf(InternalError);
    expect(error.message).toBe("the database of runs refused a statement (SQLSTATE 23505)");
    expect(error.cause).toBeUndefined();
  });

  it.each([
    [
      Object.assign(new Error("connect ECONNREFUSED 10.0.0.1:5432"), { code: "ECONNREFUSED" }),
      "ECONNREFUSED",
    ],
    [Object.assign(new Error("no text"), { code: 5 }), "connection lost"],
    [new Error("timeout expired"), "timeout"],
    [new Error("Query read TIMEOUT"), "timeout"],
    [new Error("Connection terminated unexpectedly"), "connection lost"],
    ["a text", "unknown"],
  ])("is one of a lost connection if the server did not report it: %s", (thrown, reason) => {
    const error = toStoreError(thrown);
    expect(error).toBeInstanceOf(StoreUnreachableError);
    expect(error.message).toBe(`the database of runs cannot be reached (${reason})`);
  });

  it("is an error of ours as it is", () => {
    const refused = new InvalidRequestError("too large");
    expect(toStoreError(refused)).toBe(refused);
  });
});

describe("a failure to connect", () => {
  it("executed nothing if the database is unavailable", () => {
    expect(toConnectError(failure("57P03"))).toBeInstanceOf(NotConnectedError);
    expect(toConnectError(new Error("timeout"))).toMatchObject({
      message: "the database of runs cannot be reached (timeout)",
    });
    expect(toStoreError(new Error("timeout"))).not.toBeInstanceOf(NotConnectedError);
  });

  it("is shown as it is otherwise", () => {
    expect(toConnectError(failure("28P01"))).not.toBeInstanceOf(StoreUnreachableError);
  });
});

describe("after a failure", () => {
  it("a transaction can be repeated if others disturbed it", () => {
    const states = ["40001", "40P01", "40002", "57P01"];
    expect(states.map((code) => isRepeatable(failure(code)))).toEqual([true, true, false, false]);
    expect(isRepeatable(new Error("lost"))).toBe(false);
  });

  it("a connection can be used further if the server answered, or nothing was wrong with it", () => {
    expect(isConnectionUsable(failure("23505"))).toBe(true);
    expect(isConnectionUsable(failure("57P01", "FATAL"))).toBe(false);
    expect(isConnectionUsable(failure("25006"))).toBe(false);
    expect(isConnectionUsable(new InvalidRequestError("too large"))).toBe(true);
    expect(isConnectionUsable(new Error("lost"))).toBe(false);
  });
});
