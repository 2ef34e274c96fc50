/**
 * A conversation that switches from one provider or model to another and back (`foreign_state`). Its
 * history is what the first one returned: reasoning with signatures, tool calls, results with images.
 * The simulator plays both providers and rejects what they reject: altered signatures, calls without
 * results, ids that do not match.
 */

import {
  type ContentPart,
  InvalidRequestError,
  imagePart,
  type Message,
  type Response,
  StatePolicy,
  systemMessage,
  type ToolCall,
  textPart,
  toolCallsOf,
  toolResult,
  userMessage,
} from "outrigger";
import { describe, expect, it } from "vitest";
import { LossPolicy } from "../../src/gen/outrigger/v1/request_pb.ts";
import {
  callModel,
  collect,
  conversationIn,
  imageBytes,
  requestTo,
  toFailure,
  toMessage,
  weatherFor,
  weatherTool,
} from "./support/calls.ts";
import { type Column, columns, createFixture, type Fixture } from "./support/columns.ts";
import { expectPreserved } from "./support/preserved.ts";

/** A model that takes part in a conversation. */
type Participant = Pick<Column, "title" | "name" | "model" | "read">;

const pairs = columns.flatMap((from) => [
  ...columns.filter((to) => to !== from).map((to) => ({ from: from as Participant, to: to as Participant })),
  { from, to: { ...from, title: `another model of ${from.title}`, model: from.otherModel } },
]);

const { STRIP, TO_TEXT, REJECT } = StatePolicy;

const SCRIPT = "sim-reasoning:calls=2,preamble=1";

describe.each(pairs)("$from.title to $to.title", ({ from, to }) => {
  it.each([
    ["foreign_state STRIP", STRIP, SCRIPT],
    ["foreign_state TO_TEXT", TO_TEXT, SCRIPT],
    // The only redacted reasoning of Chat Completions servers is OpenRouter's encrypted details.
    ["redacted reasoning", TO_TEXT, `${SCRIPT},redacted=1,reasoning_field=details`],
  ])("and back, turn by turn, with %s", async (_, foreignState, script) => {
    await using fixture = await createFixture(script);
    const conversation = new Conversation(fixture, foreignState);
    for (const [participant, city] of [
      [from, "Paris"],
      [to, "Osaka"],
      [from, "Lima"],
    ] as const) {
      conversation.addUserMessage(`What is the weather in ${city}?`);
      while (await conversation.requestAnswer(participant)) conversation.addToolResults();
    }
    expect(conversation.participants).toEqual([from, from, to, to, from, from]);
    conversation.expectSamePrefix(1, 4);
  });

  it("and back, call by call within one turn", async () => {
    await using fixture = await createFixture(`${SCRIPT},rounds=4`);
    const conversation = new Conversation(fixture, STRIP);
    conversation.addUserMessage("What is the weather in Paris, Osaka and Lima?");
    while (await conversation.requestAnswer(conversation.participants.length % 2 === 0 ? from : to))
      conversation.addToolResults();
    expect(conversation.participants).toEqual([from, to, from, to, from]);
    conversation.expectSamePrefix(2, 4);
  });

  it("is refused by REJECT and by LOSS_POLICY_REFUSE before anything is sent", async () => {
    await using fixture = await createFixture(SCRIPT);
    const conversation = new Conversation(fixture, REJECT);
    conversation.addUserMessage("What is the weather in Paris?");
    // A model's reasoning is not foreign state for that model.
    while (await conversation.requestAnswer(from)) conversation.addToolResults();
    conversation.addUserMessage("And in Osaka?");
    const reasoning = conversation.getParts("reasoning");
    const sent = fixture.requests.length;
    const rejected = await conversation.refusedFields(to, { foreignState: REJECT });
    const strict = await conversation.refusedFields(to, {
      foreignState: STRIP,
      lossPolicy: LossPolicy.REFUSE,
    });
    expect(rejected).toEqual([reasoning[0]]);
    expect(strict).toEqual(expect.arrayContaining(reasoning));
    expect(fixture.requests).toHaveLength(sent);
  });
});

describe("an Anthropic model with a reasoning budget", () => {
  const budgeted = { name: "anthropic", model: "claude-sonnet-4-5" } as const;
  const others = columns.filter(({ name }) => name !== budgeted.name);

  it.each(others)(
    "continues from calls of $title without reasoning, until the next user message",
    async (from) => {
      await using fixture = await createFixture(SCRIPT, undefined, [budgeted.model]);
      const requestAnswer = (
        participant: Pick<Participant, "name" | "model">,
        messages: readonly Message[],
      ) =>
        fixture.client.complete(
          requestTo(participant, { messages: [...messages], tools: [weatherTool], reasoningEffort: "high" }),
        );
      const asked = [userMessage("What is the weather in Paris?")];
      const called = await requestAnswer(from, asked);
      const answered = [...asked, toMessage(called), ...toolCallsOf(called).map(toResult)];
      const answer = await requestAnswer(budgeted, answered);
      expect(fixture.bodyAt()).toMatchObject({ thinking: { type: "disabled" } });
      expect(answer.warnings).toContainEqual(
        expect.objectContaining({ code: "adjusted_setting", field: "reasoning_effort" }),
      );
      await requestAnswer(budgeted, [...answered, toMessage(answer), userMessage("And in Osaka?")]);
      expect(fixture.bodyAt()).toMatchObject({ thinking: { type: "enabled" } });
    },
  );
});

/** Makes OpenAI return the text of its reasoning. */
const SHOW_REASONING = { openai: JSON.stringify({ reasoning: { summary: "auto" } }) };

/** A growing conversation. Every request is compared with the messages before it. */
class Conversation {
  /** The model of each request, in order. */
  readonly participants: Participant[] = [];
  readonly #fixture: Fixture;
  readonly #foreignState: StatePolicy;
  readonly #messages: Message[] = [systemMessage("Be brief.")];
  readonly #answers: Response[] = [];

  constructor(fixture: Fixture, foreignState: StatePolicy) {
    this.#fixture = fixture;
    this.#foreignState = foreignState;
  }

  /** Adds a user message with an image. */
  addUserMessage(text: string): void {
    this.#messages.push(userMessage([textPart(text), imagePart(imageBytes)]));
  }

  /** Requests the next answer. Returns whether it calls tools. */
  async requestAnswer(participant: Participant): Promise<boolean> {
    const request = this.#requestTo(participant, { foreignState: this.#foreignState });
    const mode = this.participants.length % 2 === 0 ? "stream" : "complete";
    const answer = await callModel(this.#fixture.client, request, mode);
    this.participants.push(participant);
    this.#expectComplete(participant);
    this.#expectWarnings(participant, answer);
    this.#answers.push(answer);
    this.#messages.push(toMessage(answer));
    return toolCallsOf(answer).length > 0;
  }

  /** Adds results for the calls of the last answer: the first with an image, the second with a failure. */
  addToolResults(): void {
    this.#messages.push(...toolCallsOf(this.#answers.at(-1)).map(toResult));
  }

  /** Paths of all parts of a kind. */
  getParts(kind: ContentPart["part"]["case"]): string[] {
    return this.#parts()
      .filter(({ part }) => part.part.case === kind)
      .map(({ field }) => field);
  }

  /** The fields that a refused request reports. */
  async refusedFields(
    participant: Participant,
    more: { foreignState: StatePolicy; lossPolicy?: LossPolicy },
  ): Promise<string[]> {
    const error = await toFailure(() =>
      collect(this.#fixture.client.stream(this.#requestTo(participant, more))),
    );
    expect(error).toBeInstanceOf(InvalidRequestError);
    return (error as InvalidRequestError).violations.map(({ field }) => field);
  }

  /** A model that is called again gets the earlier conversation byte for byte as it got it before. */
  expectSamePrefix(before: number, after: number): void {
    const earlier = conversationIn(this.#fixture.bodyAt(before));
    expect(conversationIn(this.#fixture.bodyAt(after)).slice(0, earlier.length)).toEqual(earlier);
  }

  #requestTo(participant: Participant, more: { foreignState: StatePolicy; lossPolicy?: LossPolicy }) {
    return requestTo(participant, {
      ...more,
      messages: this.#messages,
      tools: [weatherTool],
      reasoningEffort: "high",
      providerOptionsJson: SHOW_REASONING,
    });
  }

  /** Compares the request with the conversation: only reasoning of other models may be missing, or be text. */
  #expectComplete(participant: Participant): void {
    const body = this.#fixture.bodyAt();
    const sent = JSON.stringify(body);
    expectPreserved(
      participant.read(body).facts,
      this.#messages.map((message) => this.#asSentTo(participant, message)),
    );
    const parts = this.#parts().map(({ part }) => part);
    const participantStates = new Set(parts.filter((part) => isBy(participant, part)).flatMap(statesIn));
    for (const state of parts.flatMap(statesIn))
      expect(sent.includes(state)).toBe(participantStates.has(state));
  }

  #asSentTo(participant: Participant, message: Message): Message {
    if (this.#foreignState !== TO_TEXT) return message;
    return {
      ...message,
      content: message.content.map((part) => (isBy(participant, part) ? part : asText(part))),
    };
  }

  /** Every change to parts of other models has a warning, and nothing else has. */
  #expectWarnings(participant: Participant, { warnings }: Response): void {
    const reported = warnings.map(({ code, field }) => `${code} ${field}`);
    const expected = this.#parts().flatMap(({ part, field }, index, parts) => {
      const isFirstCall = parts[index - 1]?.part.part.case !== "toolCall";
      return findLosses(part, field, { participant, isFirstCall, toText: this.#foreignState === TO_TEXT });
    });
    expect(reported.toSorted()).toEqual(expected.toSorted());
  }

  #parts(): { part: ContentPart; field: string }[] {
    return this.#messages.flatMap(({ content }, message) =>
      content.map((part, index) => ({ part, field: `messages[${message}].content[${index}]` })),
    );
  }
}

/** The warnings for a part that a participant cannot get unchanged, as `code field`. */
function findLosses(
  part: ContentPart,
  field: string,
  { participant, isFirstCall, toText }: { participant: Participant; isFirstCall: boolean; toText: boolean },
): string[] {
  const isForeign = !isBy(participant, part);
  switch (part.part.case) {
    case "reasoning": {
      if (!isForeign) return [];
      const becomesText = toText && part.part.value.text !== "";
      return [`${becomesText ? "foreign_state_to_text" : "foreign_state_stripped"} ${field}`];
    }
    case "toolCall": {
      // Calls of Chat Completions servers have no state that identifies their model.
      const isSigned = part.providerState !== undefined && !isForeign;
      return participant.name === "gemini" && isFirstCall && !isSigned
        ? [`converted_content ${field}.tool_call`]
        : [];
    }
    case "toolResult": {
      const { failed, content } = part.part.value;
      const hasPicture = content.some(({ part: inner }) => inner.case === "image");
      return [
        ...(failed && NO_ERROR_FLAG.has(participant.name)
          ? [`converted_content ${field}.tool_result.failed`]
          : []),
        ...(hasPicture && participant.name === "compatible"
          ? [`converted_content ${field}.tool_result.content`]
          : []),
      ];
    }
    default:
      return [];
  }
}

/** Wire formats without a flag for a failed tool. */
const NO_ERROR_FLAG: ReadonlySet<string> = new Set(["openai", "compatible"]);

function isBy({ name, model }: Participant, { providerState }: ContentPart): boolean {
  return providerState === undefined || (providerState.provider === name && providerState.model === model);
}

/** Reasoning as plain text; other parts unchanged. */
function asText(part: ContentPart): ContentPart {
  return part.part.case === "reasoning" ? textPart(part.part.value.text) : part;
}

/** The opaque state of a part: signatures and encrypted texts. */
function statesIn({ providerState }: ContentPart): string[] {
  return providerState?.dataJson.match(/[A-Za-z0-9+/=_-]{40,}/g) ?? [];
}

function toResult(call: ToolCall, index: number): Message {
  const text = textPart(weatherFor(call));
  if (index === 0) return toolResult(call.id, [text, imagePart(imageBytes)]);
  return toolResult(call.id, text, { failed: true });
}
