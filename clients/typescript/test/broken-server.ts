import { createServer, type Server, type Socket } from "node:net";

/** When a server loses a connection: during its set-up, its first request, or the answer. */
export const MOMENTS = [
  "accepted",
  "preface read",
  "settings sent",
  "headers read",
  "request read",
  "within headers",
  "headers sent",
  "within a message",
  "within a frame",
] as const;

type Moment = (typeof MOMENTS)[number];

const PREFACE_BYTES = 24;
const FRAME_HEADER_BYTES = 9;
const FRAME = { data: 0, headers: 1, settings: 4 };
const SETTINGS = toFrame(FRAME.settings, 0, 0);
const SETTINGS_ACK = toFrame(FRAME.settings, 1, 0);
/** `:status: 200` of HPACK's static table, and `content-type` with a literal value. */
const HEADERS = Buffer.from("\x88\x5f\x10application/grpc", "latin1");
const MESSAGE = Buffer.from([0, 0, 0, 0, 100, ...Array(100).fill(0)]);

/**
 * Creates a server that speaks just enough HTTP/2 to lose each connection at a moment.
 * @param resets Whether connections end with a reset, as those of a killed process with unread data.
 */
export function createBrokenServer(moment: Moment, resets: boolean): Server {
  return createServer((socket) => {
    let received = Buffer.alloc(0);
    let begun = false;
    let lost = false;
    const lose = (last: Buffer) => {
      lost = true;
      socket.write(last, () => (resets ? socket.resetAndDestroy() : socket.destroySoon()));
    };
    socket
      .on("error", () => {})
      .on("data", (data) => {
        received = Buffer.concat([received, data]);
        if (!begun && received.length >= PREFACE_BYTES) {
          begun = true;
          received = received.subarray(PREFACE_BYTES);
          if (moment === "preface read") lose(Buffer.alloc(0));
          else if (moment === "settings sent") lose(SETTINGS);
          else socket.write(SETTINGS);
        }
        while (begun && !lost && received.length >= FRAME_HEADER_BYTES) {
          const end = FRAME_HEADER_BYTES + received.readUIntBE(0, 3);
          if (received.length < end) return;
          const last = readFrame(socket, moment, received.subarray(0, end));
          received = received.subarray(end);
          if (last !== undefined) lose(last);
        }
      });
    if (moment === "accepted") lose(Buffer.alloc(0));
  });
}

/** Returns what to send before the connection is lost, if this frame is the moment. */
function readFrame(socket: Socket, moment: Moment, frame: Buffer): Buffer | undefined {
  const [type, flags, stream] = [frame[3], frame[4], frame.readUInt32BE(5)];
  if (type === FRAME.settings && flags === 0) socket.write(SETTINGS_ACK);
  if (type === FRAME.headers && moment === "headers read") return Buffer.alloc(0);
  if (type !== FRAME.data || frame.length === FRAME_HEADER_BYTES) return undefined;
  const headers = toFrame(FRAME.headers, 4, stream, HEADERS);
  switch (moment) {
    case "within headers":
      return headers.subarray(0, headers.length / 2);
    case "headers sent":
      return headers;
    case "within a message":
      return Buffer.concat([headers, toFrame(FRAME.data, 0, stream, MESSAGE.subarray(0, 50))]);
    case "within a frame":
      return Buffer.concat([headers, toFrame(FRAME.data, 0, stream, MESSAGE).subarray(0, 50)]);
    default:
      return Buffer.alloc(0);
  }
}

function toFrame(type: number, flags: number, stream: number, payload = Buffer.alloc(0)): Buffer {
  const frame = Buffer.alloc(FRAME_HEADER_BYTES + payload.length);
  frame.writeUIntBE(payload.length, 0, 3);
  frame[3] = type;
  frame[4] = flags;
  frame.writeUInt32BE(stream, 5);
  payload.copy(frame, FRAME_HEADER_BYTES);
  return frame;
}
