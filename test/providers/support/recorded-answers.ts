/** Recorded answers of real providers, read by the adapters, so that conversations can continue from them. */
import type { Message, Response } from "outrigger";
import type { CallFacts } from "../../../src/kit/call/call-facts.ts";
import type { StreamDecoder } from "../../../src/kit/stream/decode-stream.ts";
import type { StreamWriter } from "../../../src/kit/stream/stream-writer.ts";
import { toResponse as readAnthropic } from "../../../src/providers/anthropic-messages/response.ts";
import { MessagesDecoder } from "../../../src/providers/anthropic-messages/stream.ts";
import { toResponse as readGemini } from "../../../src/providers/gemini/response.ts";
import { GeminiDecoder } from "../../../src/providers/gemini/stream.ts";
import { getProfile } from "../../../src/providers/openai-chat/profiles.ts";
import { toResponse as readChat } from "../../../src/providers/openai-chat/response.ts";
import { ChatDecoder } from "../../../src/providers/openai-chat/stream.ts";
import { toResponse as readOpenAI } from "../../../src/providers/openai-responses/response.ts";
import { ResponsesDecoder } from "../../../src/providers/openai-responses/stream.ts";
import { decode, factsFor } from "../../support/decode.ts";
import { getRecordings, type Recording, toBytes } from "../../support/recordings.ts";
import type { ColumnName } from "./columns.ts";

/** How answers of a wire format are read. */
export interface Reader {
  /** Folder of the recordings. */
  readonly folder: string;
  readonly whole: (body: string, facts: CallFacts) => Response;
  readonly decoder: (facts: CallFacts, writer: StreamWriter) => StreamDecoder;
}

const profile = getProfile({ replayReasoning: true }, "http://127.0.0.1/v1");

/** The readers of the four wire formats. */
export const readers: Readonly<Record<ColumnName, Reader>> = {
  openai: {
    folder: "openai-responses",
    whole: readOpenAI,
    decoder: (facts, writer) => new ResponsesDecoder(facts, writer),
  },
  anthropic: {
    folder: "anthropic-messages",
    whole: readAnthropic,
    decoder: (facts, writer) => new MessagesDecoder(facts, writer),
  },
  gemini: {
    folder: "gemini",
    whole: readGemini,
    decoder: (facts, writer) => new GeminiDecoder(facts, writer),
  },
  compatible: {
    folder: "openai-chat",
    whole: (body, facts) => readChat(body, facts, profile),
    decoder: (facts, writer) => new ChatDecoder(facts, writer, profile),
  },
};

/** A recorded answer. */
export interface RecordedAnswer {
  readonly file: string;
  readonly message: Message;
  /** The model that gave it. */
  readonly model: string;
}

/**
 * The recorded answers of a provider's wire format. Those that failed, were broken on purpose, or
 * contain only text are left out.
 */
export async function recordedAnswers(name: ColumnName): Promise<RecordedAnswer[]> {
  const { folder } = readers[name];
  const recordings = [...getRecordings(folder, ".json"), ...getRecordings(folder, ".sse")].filter(
    ({ shows }) => shows.join() !== "text",
  );
  const answers = await Promise.all(recordings.map((recording) => readRecording(name, recording)));
  return answers.flatMap((answer) => answer ?? []);
}

async function readRecording(name: ColumnName, recording: Recording): Promise<RecordedAnswer | undefined> {
  const response = recording.file.endsWith(".json")
    ? readWhole(name, recording)
    : await readStream(name, recording);
  if (response?.message === undefined) return undefined;
  return { file: recording.file, message: response.message, model: response.model };
}

function readWhole(name: ColumnName, recording: Recording): Response | undefined {
  const facts = factsFor(name, { model: MODEL });
  try {
    return readers[name].whole(toBytes(recording).toString("utf8"), facts);
  } catch {
    return undefined;
  }
}

async function readStream(name: ColumnName, recording: Recording): Promise<Response | undefined> {
  const { events } = await decode(
    [toBytes(recording)],
    factsFor(name, { model: MODEL }),
    readers[name].decoder,
  );
  const last = events.at(-1)?.event;
  return last?.case === "finish" ? last.value.response : undefined;
}

/** Used if an answer does not name its model. */
const MODEL = "unnamed-model";
