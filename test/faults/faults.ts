/** Every fault of a provider, and what a caller gets for it. */
import type { Socket } from "node:net";
import type { ErrorKind } from "../../src/gen/outrigger/v1/error_pb.ts";
import {
  type FaultWriter,
  gzip,
  type Phase,
  type PlannedAnswer,
  piecesBefore,
  writeEnd,
  writeFailure,
  writeHead,
  writePiece,
  writeWhole,
} from "./fault-server.ts";

/** The end of a call: `OK`, or the kind of its error. */
export type Ending = "OK" | keyof typeof ErrorKind;

/** The result that a caller gets. */
export interface Expected {
  readonly ending: Ending;
  /** Undefined if the call succeeds. */
  readonly isRetryable?: boolean;
  /** Seconds to wait before a retry, if the provider said so. */
  readonly retryAfter?: number;
}

/** A row of the matrix. */
export interface Fault {
  readonly name: string;
  readonly phase: Phase | "";
  /** Model of the simulator. Default `sim-text`. */
  readonly model?: string;
  /** Whether the stream has brought output before the fault. */
  readonly hasOutput: boolean;
  readonly write: FaultWriter;
  readonly complete: Expected;
  readonly stream: Expected;
  /** Whether the provider's connections must be closed afterwards. */
  readonly closesConnection?: boolean;
  /** Time limits of the call in milliseconds, if the fault is silence. */
  readonly timeouts?: { readonly request?: number; readonly betweenBytes?: number };
}

const OK: Expected = { ending: "OK" };
const NETWORK: Expected = { ending: "NETWORK", isRetryable: true };
const STREAM: Expected = { ending: "STREAM", isRetryable: true };
const TOO_LARGE: Expected = { ending: "STREAM", isRetryable: false };
const TIMEOUT: Expected = { ending: "REQUEST_TIMEOUT", isRetryable: true };
const LIMITED: Expected = { ending: "RATE_LIMIT", isRetryable: true, retryAfter: 7 };
const BROKEN: Expected = { ending: "SERVER", isRetryable: true };

const SILENCE_MS = 500;

/** Ends an answer at a phase. */
type Break = (socket: Socket, answer: PlannedAnswer) => void;

interface Breakage {
  readonly name: string;
  readonly act: Break;
  /** Returns the result that a caller gets for the fault in a phase. */
  readonly complete: (phase: Phase) => Expected;
  readonly stream: (phase: Phase) => Expected;
  readonly isSilent?: boolean;
  /** The connection is as good as new afterwards. */
  readonly keepsConnection?: boolean;
}

const isBeforeHeaders = (phase: Phase) => phase === "before the headers";

const BREAKAGES: readonly Breakage[] = [
  {
    name: "the connection closes",
    act: (socket) => void socket.end(),
    complete: () => NETWORK,
    stream: (phase) => (isBeforeHeaders(phase) ? NETWORK : STREAM),
  },
  {
    name: "the connection is reset",
    act: (socket) => void socket.resetAndDestroy(),
    complete: () => NETWORK,
    stream: (phase) => (isBeforeHeaders(phase) ? NETWORK : STREAM),
  },
  {
    name: "nothing more comes",
    act: () => {},
    complete: () => TIMEOUT,
    stream: () => TIMEOUT,
    isSilent: true,
  },
  {
    name: "bytes come that are no HTTP",
    act: (socket) => void socket.end("\r\n!!! \0 garbage !!!\r\n\r\n"),
    complete: () => NETWORK,
    stream: (phase) => (isBeforeHeaders(phase) ? NETWORK : STREAM),
  },
];

/** Faults of the body, which begin after the headers. */
const BODY_BREAKAGES: readonly Breakage[] = [
  {
    name: "the body ends as if it were complete",
    act: (socket) => writeEnd(socket),
    keepsConnection: true,
    complete: () => BROKEN,
    stream: () => STREAM,
  },
  {
    name: "an event is not JSON",
    act: (socket, { isStream }) => {
      writePiece(socket, isStream ? 'data: {"type":"x",\n\n' : '{"x":');
      writeEnd(socket);
    },
    keepsConnection: true,
    complete: () => BROKEN,
    stream: () => STREAM,
  },
  {
    name: "events come without end",
    act: (socket, { isStream }) => flood(socket, isStream ? "data: {}\n\n" : "{},"),
    complete: () => TOO_LARGE,
    stream: () => TOO_LARGE,
  },
  {
    name: "a line comes without end",
    act: (socket, { isStream }) => {
      if (isStream) writePiece(socket, "data: ");
      flood(socket, "xxxxxxxx");
    },
    complete: () => TOO_LARGE,
    stream: () => TOO_LARGE,
  },
];

const PHASES: readonly Phase[] = [
  "before the headers",
  "after the headers",
  "in the middle",
  "before the end marker",
];

function createRows(breakage: Breakage, phases: readonly Phase[]): Fault[] {
  return phases.map((phase) => ({
    name: breakage.name,
    phase,
    complete: breakage.complete(phase),
    stream: breakage.stream(phase),
    hasOutput: phase === "in the middle" || phase === "before the end marker",
    closesConnection: breakage.keepsConnection !== true,
    write(socket, answer) {
      if (!isBeforeHeaders(phase)) writeHead(socket, answer);
      for (const piece of piecesBefore(phase, answer)) writePiece(socket, piece);
      breakage.act(socket, answer);
    },
    ...(breakage.isSilent
      ? { timeouts: isBeforeHeaders(phase) ? { request: SILENCE_MS } : { betweenBytes: SILENCE_MS } }
      : {}),
  }));
}

/** Writes a text again and again, as fast as it is read. */
function flood(socket: Socket, text: string): void {
  const piece = text.repeat(Math.ceil(16_384 / text.length));
  const write = () => {
    while (!socket.destroyed && socket.writableLength < 65_536) writePiece(socket, piece);
    if (!socket.destroyed) setImmediate(write);
  };
  write();
}

const LIMIT_BODY = JSON.stringify({
  error: { message: "slow down", code: 429, status: "RESOURCE_EXHAUSTED" },
});
const LIMIT_HEADERS = "content-type: application/json\r\nretry-after: 7\r\n";

/** Writes the whole answer, with more headers and in an encoding. */
function wholeWith(headers: string, encode?: (body: string) => Buffer): FaultWriter {
  return (socket, answer) => writeWhole(socket, answer, headers, encode);
}

function answers(name: string, write: FaultWriter, complete: Expected, stream = complete): Fault {
  return { name, phase: "", hasOutput: complete.ending === "OK", write, complete, stream };
}

const ANSWERS: readonly Fault[] = [
  answers("no fault", (socket, answer) => writeWhole(socket, answer), OK),
  answers("a failed answer", (socket) => writeFailure(socket, "429 X", LIMIT_HEADERS, LIMIT_BODY), LIMITED),
  answers(
    "a failed answer with an encoded body",
    (socket) => writeFailure(socket, "429 X", `${LIMIT_HEADERS}content-encoding: gzip\r\n`, gzip(LIMIT_BODY)),
    LIMITED,
  ),
  answers(
    "a failed answer whose encoding is not what it says",
    (socket) => writeFailure(socket, "429 X", `${LIMIT_HEADERS}content-encoding: gzip\r\n`, "no gzip"),
    LIMITED,
  ),
  answers(
    "a failed answer in an unknown encoding",
    (socket) => writeFailure(socket, "429 X", `${LIMIT_HEADERS}content-encoding: zstd\r\n`, "??"),
    LIMITED,
  ),
  answers(
    "a failed answer whose connection closes in its body",
    (socket) => void socket.end(`HTTP/1.1 429 X\r\n${LIMIT_HEADERS}content-length: 99\r\n\r\n{`),
    LIMITED,
  ),
  answers(
    "a failed answer with a body without end",
    (socket) => {
      socket.write(`HTTP/1.1 429 X\r\n${LIMIT_HEADERS}transfer-encoding: chunked\r\n\r\n`);
      flood(socket, "x");
    },
    LIMITED,
  ),
  answers(
    "a failed answer whose body never comes",
    (socket) => void socket.write(`HTTP/1.1 429 X\r\n${LIMIT_HEADERS}content-length: 99\r\n\r\n`),
    LIMITED,
  ),
  {
    ...answers(
      "a failure reported inside of the answer",
      (socket, answer) => writeWhole(socket, answer),
      BROKEN,
    ),
    model: "sim-text:error_after=8",
    hasOutput: true,
  },
  answers(
    "a failed answer of a proxy as HTML",
    (socket) =>
      writeFailure(socket, "502 X", "content-type: text/html\r\n", "<html><title>Bad</title></html>"),
    BROKEN,
  ),
  answers("a failed answer without a body", (socket) => writeFailure(socket, "503 X", "", ""), BROKEN),
  answers(
    "100 Continue without a request for it",
    (socket, answer) => {
      socket.write("HTTP/1.1 100 Continue\r\n\r\n");
      writeWhole(socket, answer);
    },
    OK,
  ),
  answers(
    "103 Early Hints",
    (socket, answer) => {
      socket.write("HTTP/1.1 103 Early Hints\r\nlink: </x>; rel=preload\r\n\r\n");
      writeWhole(socket, answer);
    },
    OK,
  ),
  answers("a content encoding in capitals", wholeWith("content-encoding: Identity\r\n"), OK),
  answers("an empty content encoding", wholeWith("content-encoding: \r\n"), OK),
  answers("an answer in gzip that was not requested", wholeWith("content-encoding: gzip\r\n", gzip), OK),
  answers("an answer whose encoding is not what it says", wholeWith("content-encoding: gzip\r\n"), STREAM),
  answers("an answer in an unknown encoding", wholeWith("content-encoding: zstd\r\n"), {
    ending: "NETWORK",
    isRetryable: false,
  }),
  answers("a head larger than 64 KiB", wholeWith(`x-large: ${"x".repeat(70_000)}\r\n`), NETWORK),
  answers(
    "an answer in bytes of one",
    (socket, answer) => {
      writeHead(socket, answer);
      for (const byte of Buffer.from(answer.pieces.join(""))) writePiece(socket, Buffer.from([byte]));
      writeEnd(socket);
    },
    OK,
  ),
];

/** All faults. */
export const FAULTS: readonly Fault[] = [
  ...BREAKAGES.flatMap((breakage) => createRows(breakage, PHASES)),
  ...BODY_BREAKAGES.flatMap((breakage) => createRows(breakage, PHASES.slice(1))),
  ...ANSWERS,
];
