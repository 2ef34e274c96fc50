/**
 * A conversation that is handed from one provider or model to another and back (specification
 * §5.10; `foreign_state`). Its history is what the first one gave: thinking with signatures, tool
 * calls, results with pictures. The simulator stands at both ends and refuses what providers
 * refuse: altered signatures, calls without results, ids that do not match.
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
  answerTo,
  collect,
  conversationIn,
  failureOf,
  messageOf,
  picture,
  requestTo,
  weatherFor,
  weatherTool,
} from "./support/asking.ts";
import { type Column, columns, type Stage, setStage } from "./support/columns.ts";
import { expectNothingLost } from "./support/nothing-lost.ts";

/** A model that takes part in a conversation. */
type Place = Pick<Column, "title" | "name" | "model" | "read">;

const pairs = columns.flatMap((from) => [
  ...columns.filter((to) => to !== from).map((to) => ({ from: from as Place, to: to as Place })),
  { from, to: { ...from, title: `another model of ${from.title}`, model: from.otherModel } },
]);

const { STRIP, TO_TEXT, REJECT } = StatePolicy;

const SCRIPT = "sim-reasoning:calls=2,preamble=1";

describe.each(pairs)("$from.title to $to.title", ({ from, to }) => {
  it.each([
    ["foreign_state STRIP", STRIP, SCRIPT],
    ["foreign_state TO_TEXT", TO_TEXT, SCRIPT],
    // Chat servers have no redacted thinking but the encrypted details of OpenRouter.
    ["redacted thinking", TO_TEXT, `${SCRIPT},redacted=1,reasoning_field=details`],
  ])("and back, turn by turn, with %s", async (_, foreignState, script) => {
    await using stage = await setStage(script);
    const walk = new Walk(stage, foreignState);
    for (const [place, city] of [
      [from, "Paris"],
      [to, "Osaka"],
      [from, "Lima"],
    ] as const) {
      walk.say(`What is the weather in ${city}?`);
      while (await walk.ask(place)) walk.answerCalls();
    }
    expect(walk.places).toEqual([from, from, to, to, from, from]);
    walk.expectItsOwnBack(1, 4);
  });

  it("and back, call by call within one turn", async () => {
    await using stage = await setStage(`${SCRIPT},rounds=4`);
    const walk = new Walk(stage, STRIP);
    walk.say("What is the weather in Paris, Osaka and Lima?");
    while (await walk.ask(walk.places.length % 2 === 0 ? from : to)) walk.answerCalls();
    expect(walk.places).toEqual([from, to, from, to, from]);
    walk.expectItsOwnBack(2, 4);
  });

  it("is refused by REJECT and by strict requests before anything is sent", async () => {
    await using stage = await setStage(SCRIPT);
    const walk = new Walk(stage, REJECT);
    walk.say("What is the weather in Paris?");
    // What a model wrote itself is no foreign state.
    while (await walk.ask(from)) walk.answerCalls();
    walk.say("And in Osaka?");
    const thinking = walk.partsOf("reasoning");
    const sent = stage.requests.length;
    const rejected = await walk.refusalBy(to, { foreignState: REJECT });
    const strict = await walk.refusalBy(to, { foreignState: STRIP, lossPolicy: LossPolicy.REFUSE });
    expect(rejected).toEqual([thinking[0]]);
    expect(strict).toEqual(expect.arrayContaining(thinking));
    expect(stage.requests).toHaveLength(sent);
  });
});

describe("a model of Anthropic with a thinking budget", () => {
  const budgeted = { name: "anthropic", model: "claude-sonnet-4-5" } as const;
  const others = columns.filter(({ name }) => name !== budgeted.name);

  it.each(others)("goes on from calls of $title without thinking, until the user speaks", async (from) => {
    await using stage = await setStage(SCRIPT, undefined, [budgeted.model]);
    const ask = (place: Pick<Place, "name" | "model">, messages: readonly Message[]) =>
      stage.client.complete(
        requestTo(place, { messages: [...messages], tools: [weatherTool], reasoningEffort: "high" }),
      );
    const asked = [userMessage("What is the weather in Paris?")];
    const called = await ask(from, asked);
    const answered = [...asked, messageOf(called), ...toolCallsOf(called).map(resultOf)];
    const answer = await ask(budgeted, answered);
    expect(stage.bodyAt()).toMatchObject({ thinking: { type: "disabled" } });
    expect(answer.warnings).toContainEqual(
      expect.objectContaining({ code: "adjusted_setting", field: "reasoning_effort" }),
    );
    await ask(budgeted, [...answered, messageOf(answer), userMessage("And in Osaka?")]);
    expect(stage.bodyAt()).toMatchObject({ thinking: { type: "enabled" } });
  });
});

/** What makes OpenAI show the text of its thinking. */
const SHOWN = { openai: JSON.stringify({ reasoning: { summary: "auto" } }) };

/** A conversation on its way. Everything that is sent on it is held against what was said before. */
class Walk {
  /** Who was asked, request by request. */
  readonly places: Place[] = [];
  readonly #stage: Stage;
  readonly #foreignState: StatePolicy;
  readonly #messages: Message[] = [systemMessage("Be brief.")];
  readonly #answers: Response[] = [];

  constructor(stage: Stage, foreignState: StatePolicy) {
    this.#stage = stage;
    this.#foreignState = foreignState;
  }

  /** Lets the user say something and show a picture. */
  say(text: string): void {
    this.#messages.push(userMessage([textPart(text), imagePart(picture)]));
  }

  /** Asks for the next answer. Returns whether it calls tools. */
  async ask(place: Place): Promise<boolean> {
    const request = this.#requestTo(place, { foreignState: this.#foreignState });
    const manner = this.places.length % 2 === 0 ? "stream" : "complete";
    const answer = await answerTo(this.#stage.client, request, manner);
    this.places.push(place);
    this.#expectWhole(place);
    this.#expectWarnings(place, answer);
    this.#answers.push(answer);
    this.#messages.push(messageOf(answer));
    return toolCallsOf(answer).length > 0;
  }

  /** Answers the calls of the last answer: the first with a picture, the second with a failure. */
  answerCalls(): void {
    this.#messages.push(...toolCallsOf(this.#answers.at(-1)).map(resultOf));
  }

  /** Paths of all parts of a kind. */
  partsOf(kind: ContentPart["part"]["case"]): string[] {
    return this.#parts()
      .filter(({ part }) => part.part.case === kind)
      .map(({ field }) => field);
  }

  /** The fields for which a request is refused. */
  async refusalBy(
    place: Place,
    more: { foreignState: StatePolicy; lossPolicy?: LossPolicy },
  ): Promise<string[]> {
    const error = await failureOf(() => collect(this.#stage.client.stream(this.#requestTo(place, more))));
    expect(error).toBeInstanceOf(InvalidRequestError);
    return (error as InvalidRequestError).violations.map(({ field }) => field);
  }

  /** One who is asked again after others gets the conversation up to then byte for byte as it got it before. */
  expectItsOwnBack(before: number, after: number): void {
    const earlier = conversationIn(this.#stage.bodyAt(before));
    expect(conversationIn(this.#stage.bodyAt(after)).slice(0, earlier.length)).toEqual(earlier);
  }

  #requestTo(place: Place, more: { foreignState: StatePolicy; lossPolicy?: LossPolicy }) {
    return requestTo(place, {
      ...more,
      messages: this.#messages,
      tools: [weatherTool],
      reasoningEffort: "high",
      providerOptionsJson: SHOWN,
    });
  }

  /** Holds what was sent against the conversation: only what others thought may be missing, or be text. */
  #expectWhole(place: Place): void {
    const body = this.#stage.bodyAt();
    const sent = JSON.stringify(body);
    expectNothingLost(
      place.read(body).facts,
      this.#messages.map((message) => this.#asSentTo(place, message)),
    );
    const parts = this.#parts().map(({ part }) => part);
    const own = new Set(parts.filter((part) => isBy(place, part)).flatMap(statesIn));
    for (const state of parts.flatMap(statesIn)) expect(sent.includes(state)).toBe(own.has(state));
  }

  #asSentTo(place: Place, message: Message): Message {
    if (this.#foreignState !== TO_TEXT) return message;
    return { ...message, content: message.content.map((part) => (isBy(place, part) ? part : asText(part))) };
  }

  /** All that was done to what others wrote is told, and nothing else is. */
  #expectWarnings(place: Place, { warnings }: Response): void {
    const told = warnings.map(({ code, field }) => `${code} ${field}`);
    const expected = this.#parts().flatMap(({ part, field }, index, parts) => {
      const isFirstCall = parts[index - 1]?.part.part.case !== "toolCall";
      return lossesOf(part, field, { place, isFirstCall, toText: this.#foreignState === TO_TEXT });
    });
    expect(told.toSorted()).toEqual(expected.toSorted());
  }

  #parts(): { part: ContentPart; field: string }[] {
    return this.#messages.flatMap(({ content }, message) =>
      content.map((part, index) => ({ part, field: `messages[${message}].content[${index}]` })),
    );
  }
}

/** What a place tells of a part that it cannot take as it is, as `code field`. */
function lossesOf(
  part: ContentPart,
  field: string,
  { place, isFirstCall, toText }: { place: Place; isFirstCall: boolean; toText: boolean },
): string[] {
  const isForeign = !isBy(place, part);
  switch (part.part.case) {
    case "reasoning": {
      if (!isForeign) return [];
      const becomesText = toText && part.part.value.text !== "";
      return [`${becomesText ? "foreign_state_to_text" : "foreign_state_stripped"} ${field}`];
    }
    case "toolCall": {
      // Chat servers leave nothing on their calls that would tell who made them.
      const isSigned = part.providerState !== undefined && !isForeign;
      return place.name === "gemini" && isFirstCall && !isSigned
        ? [`converted_content ${field}.tool_call`]
        : [];
    }
    case "toolResult": {
      const { isError, content } = part.part.value;
      const hasPicture = content.some(({ part: inner }) => inner.case === "image");
      return [
        ...(isError && FLAGLESS.has(place.name) ? [`converted_content ${field}.tool_result.is_error`] : []),
        ...(hasPicture && place.name === "compatible"
          ? [`converted_content ${field}.tool_result.content`]
          : []),
      ];
    }
    default:
      return [];
  }
}

/** Wire formats that have no flag for a tool that failed. */
const FLAGLESS: ReadonlySet<string> = new Set(["openai", "compatible"]);

function isBy({ name, model }: Place, { providerState }: ContentPart): boolean {
  return providerState === undefined || (providerState.provider === name && providerState.model === model);
}

/** What remains of thinking where it becomes text. */
function asText(part: ContentPart): ContentPart {
  return part.part.case === "reasoning" ? textPart(part.part.value.text) : part;
}

/** What only its author understands of a part: signatures and encrypted texts. */
function statesIn({ providerState }: ContentPart): string[] {
  return providerState?.dataJson.match(/[A-Za-z0-9+/=_-]{40,}/g) ?? [];
}

function resultOf(call: ToolCall, index: number): Message {
  const text = textPart(weatherFor(call));
  if (index === 0) return toolResult({ toolCallId: call.id, content: [text, imagePart(picture)] });
  return toolResult({ toolCallId: call.id, content: text, isError: true });
}
