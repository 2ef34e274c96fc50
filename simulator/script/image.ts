import { crc32, deflateSync } from "node:zlib";
import type { ScriptInput } from "./script-input.ts";
import type { ImagePart } from "./turn.ts";

const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);

/** Width and height of the images, in pixels. */
const side = 32;

/** Generates an image for the question: a valid PNG whose colours depend on the prompt. */
export function drawImage(input: ScriptInput, previews: number): ImagePart {
  const colours = Array.from({ length: 4 }, () => input.random.below(256));
  return {
    kind: "image",
    data: encodePng(side, side, (x, y) => [
      colours[0] ?? 0,
      (x * 8 + (colours[1] ?? 0)) % 256,
      (y * 8) % 256,
    ]).toString("base64"),
    size: { width: side, height: side },
    prompt: input.prompt.question.slice(0, 200),
    previews,
  };
}

/** Encodes an image as PNG (ISO/IEC 15948), with eight bits per channel (RGB). */
function encodePng(
  width: number,
  height: number,
  colourAt: (x: number, y: number) => readonly number[],
): Buffer {
  const rows = Array.from({ length: height }, (_, y) => [
    0,
    ...Array.from({ length: width }, (__, x) => colourAt(x, y)).flat(),
  ]);
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.set([8, 2, 0, 0, 0], 8);
  const pixels = deflateSync(Buffer.from(rows.flat()));
  return Buffer.concat([
    signature,
    chunk("IHDR", header),
    chunk("IDAT", pixels),
    chunk("IEND", Buffer.alloc(0)),
  ]);
}

function chunk(type: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type, "latin1"), data]);
  const length = Buffer.alloc(4);
  length.writeUInt32BE(data.length);
  const checksum = Buffer.alloc(4);
  checksum.writeUInt32BE(crc32(body));
  return Buffer.concat([length, body, checksum]);
}
