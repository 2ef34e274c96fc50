/** Items of a stream while they are written, with all events of their content. */
import { createDeltaStart, type DeltaStart, type EventOutput } from "./event-output.ts";
import type { WrittenContent } from "./write-items.ts";

/** The position of an item in a response. */
export interface OutputPosition {
  readonly id: string;
  readonly outputIndex: number;
}

/** The content of an item that was added and is not done. Immutable, so that copies of a writer can share it. */
export interface OpenContent {
  /** @param isFirst Whether it is the first delta of the content. */
  append(output: EventOutput, delta: string, isFirst: boolean): void;
  /** Ends the content. @param text The whole content. @param written A text's content part in its item. */
  end(output: EventOutput, text: string, written?: WrittenContent): void;
}

function members({ id, outputIndex }: OutputPosition): string {
  return `"item_id":"${id}","output_index":${outputIndex}`;
}

/** Writes an event of an item without content, for instance `response.web_search_call.searching`. */
export function emitState(output: EventOutput, type: string, position: OutputPosition): void {
  output.emit(type, members(position));
}

/** The text of a message. */
export class OpenText implements OpenContent {
  readonly #at: string;
  readonly #deltas: DeltaStart;

  constructor(output: EventOutput, position: OutputPosition) {
    this.#at = `${members(position)},"content_index":0`;
    this.#deltas = createDeltaStart("response.output_text.delta", `${this.#at},"logprobs":[]`);
    const part = { type: "output_text", annotations: [], logprobs: [], text: "" };
    output.emit("response.content_part.added", `${this.#at},"part":${JSON.stringify(part)}`);
  }

  append(output: EventOutput, delta: string): void {
    output.emitDelta(this.#deltas, delta);
  }

  end(output: EventOutput, text: string, written: WrittenContent = { part: {}, annotations: [] }): void {
    for (const [index, annotation] of written.annotations.entries()) {
      const added = `"annotation_index":${index},"annotation":${JSON.stringify(annotation)}`;
      output.emit("response.output_text.annotation.added", `${this.#at},${added}`);
    }
    const done = `"text":${JSON.stringify(text)},"logprobs":[]`;
    output.emit("response.output_text.done", `${this.#at},${done}`);
    output.emit("response.content_part.done", `${this.#at},"part":${JSON.stringify(written.part)}`);
  }
}

/** The text of a refusal. */
export class OpenRefusal implements OpenContent {
  readonly #at: string;
  readonly #deltas: DeltaStart;

  constructor(output: EventOutput, position: OutputPosition) {
    const at = `${members(position)},"content_index":0`;
    this.#at = `${at},`;
    this.#deltas = createDeltaStart("response.refusal.delta", at);
    output.emit("response.content_part.added", `${this.#at}"part":{"type":"refusal","refusal":""}`);
  }

  append(output: EventOutput, delta: string): void {
    output.emitDelta(this.#deltas, delta);
  }

  end(output: EventOutput, text: string): void {
    const refusal = `"refusal":${JSON.stringify(text)}`;
    output.emit("response.refusal.done", this.#at + refusal);
    output.emit("response.content_part.done", `${this.#at}"part":{"type":"refusal",${refusal}}`);
  }
}

/** The text of reasoning: one part of its summary, or of its content. It begins with the first delta. */
export class OpenReasoning implements OpenContent {
  readonly #form: ReasoningForm;
  readonly #at: string;
  readonly #deltas: DeltaStart;

  constructor(position: OutputPosition, field: "summary" | "content") {
    this.#form = REASONING_FORMS[field];
    this.#at = `${members(position)},"${this.#form.index}":0`;
    this.#deltas = createDeltaStart(`${this.#form.text}.delta`, this.#at);
  }

  append(output: EventOutput, delta: string, isFirst: boolean): void {
    if (isFirst) this.#emitPart(output, "added", "");
    output.emitDelta(this.#deltas, delta);
  }

  end(output: EventOutput, text: string): void {
    if (text === "") return;
    output.emit(`${this.#form.text}.done`, `${this.#at},"text":${JSON.stringify(text)}`);
    this.#emitPart(output, "done", text);
  }

  #emitPart(output: EventOutput, change: "added" | "done", text: string): void {
    const part = JSON.stringify({ type: this.#form.type, text });
    output.emit(`${this.#form.part}.${change}`, `${this.#at},"part":${part}`);
  }
}

interface ReasoningForm {
  readonly type: string;
  readonly index: string;
  readonly part: string;
  readonly text: string;
}

const REASONING_FORMS: Readonly<Record<"summary" | "content", ReasoningForm>> = {
  summary: {
    type: "summary_text",
    index: "summary_index",
    part: "response.reasoning_summary_part",
    text: "response.reasoning_summary_text",
  },
  content: {
    type: "reasoning_text",
    index: "content_index",
    part: "response.content_part",
    text: "response.reasoning_text",
  },
};

/** The input of a call. */
export class OpenInput implements OpenContent {
  readonly #form: InputForm;
  readonly #at: string;
  readonly #deltas: DeltaStart;
  readonly #name: string;

  /** @param name Name of the function. Events of other calls do not contain it. */
  constructor(position: OutputPosition, form: keyof typeof INPUT_FORMS, name?: string) {
    this.#form = INPUT_FORMS[form];
    this.#at = `${members(position)},`;
    this.#deltas = createDeltaStart(`${this.#form.event}.delta`, members(position));
    this.#name = name === undefined ? "" : `"name":${JSON.stringify(name)},`;
  }

  append(output: EventOutput, delta: string): void {
    output.emitDelta(this.#deltas, delta);
  }

  end(output: EventOutput, text: string): void {
    const done = `"${this.#form.field}":${JSON.stringify(text)}`;
    output.emit(`${this.#form.event}.done`, this.#at + this.#name + done);
  }
}

interface InputForm {
  readonly event: string;
  /** The field for the whole input in the event that ends it. */
  readonly field: string;
}

const INPUT_FORMS = {
  function_call: { event: "response.function_call_arguments", field: "arguments" },
  custom_tool_call: { event: "response.custom_tool_call_input", field: "input" },
  mcp_call: { event: "response.mcp_call_arguments", field: "arguments" },
  code_interpreter_call: { event: "response.code_interpreter_call_code", field: "code" },
} as const satisfies Readonly<Record<string, InputForm>>;
