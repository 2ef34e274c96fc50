import type { Content, FunctionCall, GenerateContentRequest, Part } from "../../src/wire/gemini/request.ts";
import { invalidArgument, invalidField } from "./problem.ts";

const roles = ["user", "model", "function"];

/** Fields of a part that describe its data, as opposed to the data itself. */
const attributes: ReadonlySet<string> = new Set<keyof Part>([
  "thought",
  "thoughtSignature",
  "partMetadata",
  "videoMetadata",
  "mediaResolution",
  "mediaProcessing",
  "speechMetadata",
]);

/**
 * Checks the contents of a request: roles, that no part is empty, that calls and their responses match, and that the
 * last content is the user's. Throws the error that Google returns. Returns the contents.
 */
export function checkConversation({ contents = [] }: GenerateContentRequest): readonly Content[] {
  if (contents.length === 0) throw invalidField("contents", "contents is not specified");
  contents.forEach((content, index) => {
    checkContent(content, `contents[${index}]`);
  });
  contents.forEach((content, index) => {
    checkCalls(content, contents[index - 1]);
    checkResponses(content, contents[index - 1], `contents[${index}]`);
  });
  checkEnd(contents);
  return contents;
}

/** Returns the calls in a content. */
function callsIn(content: Content | undefined): readonly FunctionCall[] {
  return (content?.parts ?? []).flatMap(({ functionCall }) => functionCall ?? []);
}

/** Reports whether a content has function responses. */
export function hasResponses({ parts = [] }: Content): boolean {
  return parts.some(({ functionResponse }) => functionResponse !== undefined);
}

function checkContent({ role = "user", parts = [] }: Content, path: string): void {
  if (!roles.includes(role)) throw invalidArgument("Please use a valid role: user, model.");
  if (parts.length === 0) throw invalidField(`${path}.parts`, "contents.parts must not be empty.");
  parts.forEach((part, index) => {
    checkPart(part, `${path}.parts[${index}]`);
  });
}

function checkPart(part: Part, path: string): void {
  const data = Object.keys(part).filter((name) => !attributes.has(name));
  const isEmpty = data.length === 0 || (part.text === "" && part.thoughtSignature === undefined);
  if (isEmpty)
    throw invalidField(`${path}.data`, "required oneof field 'data' must have one initialized field");
  if (data.length > 1) {
    throw invalidArgument(
      `Invalid value at '${path}' (oneof), oneof field 'data' is already set. Cannot set '${data[1]}'`,
    );
  }
  for (const [field, entry] of [
    ["function_call", part.functionCall],
    ["function_response", part.functionResponse],
  ] as const) {
    if (entry !== undefined && (entry.name ?? "") === "") {
      throw invalidField(`${path}.${field}.name`, "Name cannot be empty.");
    }
  }
}

/** Checks that calls follow a content of the user, or a content with function responses. */
function checkCalls(content: Content, before: Content | undefined): void {
  if (callsIn(content).length === 0 || (before !== undefined && isUser(before))) return;
  throw invalidArgument(
    "Please ensure that function call turn comes immediately after a user turn or after a function response turn.",
  );
}

/**
 * Checks that each response is for a call of the content directly before it, and that each such call has a response.
 */
function checkResponses(content: Content, before: Content | undefined, path: string): void {
  const calls = callsIn(before);
  const responses = (content.parts ?? []).flatMap(({ functionResponse }) => functionResponse ?? []);
  if (responses.length > 0 && calls.length === 0) {
    throw invalidArgument(
      "Please ensure that function response turn comes immediately after a function call turn.",
    );
  }
  if (responses.length !== calls.length) {
    throw invalidArgument(
      "Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn.",
    );
  }
  for (const { id, name } of responses) {
    if (calls.some((call) => call.name === name && (id ?? call.id) === call.id)) continue;
    throw invalidField(
      `${path}.parts`,
      `the function response for ${name}${id === undefined ? "" : ` with id ${id}`} matches no function call of the function call turn.`,
    );
  }
}

function checkEnd(contents: readonly Content[]): void {
  const last = contents.at(-1);
  if (last !== undefined && isUser(last)) return;
  throw invalidArgument(
    contents.length === 1
      ? "Please ensure that single turn requests end with a user role or the role field is empty."
      : "Please ensure that multiturn requests end with a user role or a function response.",
  );
}

function isUser({ role = "user" }: Content): boolean {
  return role !== "model";
}
