/**
 * The block that an answer is writing. At most one grows, since the API writes one part after the other. The last text
 * stays open after it: its sources come at the end of the answer.
 */

import { measureMemory } from "../../core/memory-pool.ts";
import { hasOnly, isEmpty, objectIn, objectsIn, textIn, without } from "../../kit/json/json.ts";
import type {
  ReasoningBlock,
  StreamWriter,
  TextBlock,
  ToolCallBlock,
} from "../../kit/stream/stream-writer.ts";
import type { FunctionCall, Part, PartialArg } from "../../wire/gemini/request.ts";
import type { Candidate } from "../../wire/gemini/response.ts";
import type { Untrusted } from "../../wire/untrusted.ts";
import { type CitedSegment, placeCitations, sourcesText, toCitations } from "./citations.ts";
import { getArgumentsText, type PartSources } from "./part-source.ts";
import { PartialArguments } from "./partial-args.ts";
import { imagePart, nativePart } from "./parts.ts";
import type { StateWriter } from "./state.ts";

/** Text of the answer. */
interface OpenText {
  readonly kind: "text";
  readonly block: TextBlock;
  /** The wire part without its text. */
  readonly rest: Untrusted<Part>;
  readonly partIndex: number;
  /** Whether no other text of the answer comes before it. */
  readonly isFirst: boolean;
  readonly cited: CitedSegment[];
  /** The text of the sources that were read last. */
  sources: string;
}

/** Text of the reasoning. */
interface OpenReasoning {
  readonly kind: "reasoning";
  readonly block: ReasoningBlock;
  readonly rest: Untrusted<Part>;
}

/** A call whose arguments are still arriving. */
interface OpenCall {
  readonly kind: "call";
  readonly block: ToolCallBlock;
  readonly args: PartialArguments;
  /** The wire part without the call's name and arguments. */
  readonly rest: Untrusted<Part>;
}

/** Writes the parts of one answer into the blocks of a stream. */
export class OpenBlocks {
  readonly #writer: StreamWriter;
  readonly #states: StateWriter;
  #open: OpenText | OpenReasoning | OpenCall | undefined;
  /** The last text, if another part came after it. */
  #lastText: OpenText | undefined;
  #parts = 0;
  #hasText = false;

  constructor(writer: StreamWriter, states: StateWriter) {
    this.#writer = writer;
    this.#states = states;
  }

  /** Adds the sources of an event to the last text. Returns false if there is none. */
  cite(candidate: Untrusted<Candidate>): boolean {
    const open = this.#open?.kind === "text" ? this.#open : this.#lastText;
    if (open === undefined) return false;
    const sources = sourcesText(candidate);
    // Some servers repeat the sources in every event.
    if (sources === "" || sources === open.sources) return true;
    open.sources = sources;
    const count = (chars: number) => this.#writer.countCitations(1, chars);
    for (const segment of toCitations(candidate, count)) open.cited.push(segment);
    return true;
  }

  /**
   * Adds text. A block grows until a part of another kind comes. A part with a signature becomes a separate block.
   * @param continues Whether the part may continue the last one of the previous event.
   */
  addText(part: Untrusted<Part>, continues: boolean): void {
    const kind = part.thought === true ? "reasoning" : "text";
    const open = this.#open;
    const isSameBlock =
      continues && open?.kind === kind && hasOnly(part, "text", "thought") && hasOnly(open.rest, "thought");
    if (kind === "text" && textIn(part.text) === "") return this.#addEmptyText(part);
    const block = isSameBlock ? open.block : this.#startText(kind, part);
    block.append(textIn(part.text));
  }

  /** Adds a signature without text. The last text stays open, since sources that follow belong to that. */
  #addEmptyText(part: Untrusted<Part>): void {
    this.#close();
    this.#parts += 1;
    const providerState = this.#states.ofPart(this.#hold(without(part, "text", "thought")));
    this.#writer.startText().end({ providerState });
  }

  /**
   * Adds a function call, which arrives either whole or with its name first and its arguments value by value. Returns
   * whether a call begins.
   * @param index Index of the part in its event.
   */
  addCall(part: Untrusted<Part>, sources: PartSources, index: number): boolean {
    const call = objectIn<FunctionCall>(part.functionCall);
    const name = textIn(call.name);
    if (name !== "") this.#startCall(name, part, call);
    else if (this.#open?.kind === "call") extendRest(this.#open.rest, this.#hold(callRest(part, call)));
    else {
      this.#addNamelessCall(part, call, sources, index);
      return false;
    }
    this.#growCall(call, sources, index);
    return name !== "";
  }

  /** Adds a part that arrives whole: an image, or one that has no unified form. */
  addWhole(kind: string, part: Untrusted<Part>, sources: PartSources, index: number): void {
    this.#close();
    this.#parts += 1;
    this.#writer.addPart(imagePart(part, this.#states) ?? nativePart(kind, sources.at(index), this.#states));
  }

  /** Ends all blocks. @param isStopped Whether the answer was stopped before the model had ended it. */
  end(isStopped: boolean): void {
    this.#close(isStopped);
    this.#endLastText();
  }

  #close(isStopped = false): void {
    const open = this.#open;
    this.#open = undefined;
    switch (open?.kind) {
      case "text":
        this.#lastText = open;
        return;
      case "reasoning": {
        const redacted = open.block.text === "";
        return open.block.end({ redacted, providerState: this.#states.ofPart(open.rest) });
      }
      case "call":
        if (!isStopped) open.block.append(open.args.close());
        return open.block.end({
          providerState: this.#states.ofPart(open.rest),
          isUnfinished: isStopped,
        });
    }
  }

  #startText(kind: "text" | "reasoning", part: Untrusted<Part>): TextBlock | ReasoningBlock {
    this.#close();
    this.#endLastText();
    const partIndex = this.#parts++;
    if (kind === "reasoning") {
      this.#open = { kind, rest: this.#hold(without(part, "text")), block: this.#writer.startReasoning() };
      return this.#open.block;
    }
    const rest = this.#hold(without(part, "text", "thought"));
    const isFirst = !this.#hasText;
    this.#hasText = true;
    this.#open = { kind, rest, partIndex, isFirst, cited: [], sources: "", block: this.#writer.startText() };
    return this.#open.block;
  }

  /** Counts the memory of what is kept of a part. */
  #hold(rest: Untrusted<Part>): Untrusted<Part> {
    this.#writer.hold(measureMemory(rest));
    return rest;
  }

  #endLastText(): void {
    if (this.#lastText === undefined) return;
    const { block, rest, partIndex, isFirst, cited } = this.#lastText;
    this.#lastText = undefined;
    const citations = placeCitations(cited, { text: block.text, partIndex, isFirst });
    // Plain text has no state.
    block.end(isEmpty(rest) ? { citations } : { citations, providerState: this.#states.ofPart(rest) });
  }

  #startCall(name: string, part: Untrusted<Part>, call: Untrusted<FunctionCall>): void {
    this.#close();
    this.#parts += 1;
    const block = this.#writer.startToolCall({ id: textIn(call.id), name });
    const rest = this.#hold(callRest(part, call));
    this.#open = { kind: "call", block, args: new PartialArguments(), rest };
  }

  #growCall(
    { args, partialArgs, willContinue }: Untrusted<FunctionCall>,
    sources: PartSources,
    index: number,
  ): void {
    if (this.#open?.kind !== "call") return;
    if (args !== undefined) this.#open.block.append(getArgumentsText(sources.at(index)));
    for (const entry of objectsIn<PartialArg>(partialArgs))
      this.#open.block.append(this.#open.args.add(entry));
    if (willContinue !== true) this.#close();
  }

  /**
   * Handles the end of a call that has ended already, or a call without a name, which cannot be run and is kept
   * unchanged.
   */
  #addNamelessCall(
    part: Untrusted<Part>,
    call: Untrusted<FunctionCall>,
    sources: PartSources,
    index: number,
  ): void {
    const isEnd = isEmpty(call) && hasOnly(part, "functionCall", "thought");
    if (!isEnd) this.addWhole("functionCall", part, sources, index);
  }
}

/** Returns the wire part of a call without its name and arguments. */
function callRest(part: Untrusted<Part>, call: Untrusted<FunctionCall>): Untrusted<Part> {
  return { ...part, functionCall: without(call, "name", "args", "partialArgs", "willContinue") };
}

/**
 * Adds the fields of a later event. Not a copy, which would be repeated for each of many events with additional fields.
 */
function extendRest(rest: Untrusted<Part>, later: Untrusted<Part>): void {
  const functionCall = Object.assign(objectIn(rest.functionCall), later.functionCall);
  Object.assign(rest, later, { functionCall });
}
