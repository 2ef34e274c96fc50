package io.github.outriggerinference;

import io.github.outriggerinference.errors.OutriggerException;
import io.github.outriggerinference.v1.ErrorKind;
import io.github.outriggerinference.v1.InferenceError;
import io.github.outriggerinference.v1.StepResult;
import io.github.outriggerinference.v1.StreamEvent;
import java.util.ArrayList;
import java.util.List;

/**
 * Turns the messages of one streaming call into events, and knows whether the stream is complete.
 * One for each call.
 *
 * @param <M> message of the call
 * @param <E> event for the user
 */
abstract class EventDecoder<M, E> {
  private boolean complete;
  private boolean outputStarted;
  private InferenceError failure;
  private final List<StepResult> steps = new ArrayList<>();

  /** The event of a message; null if the message is none. */
  abstract E decode(M message);

  /** Called once, when the call has ended in any way. */
  void close() {}

  /** The failure of a call that ended with this status. */
  final OutriggerException failureOf(Throwable status) {
    return OutriggerException.from(status, outputStarted);
  }

  /** Why a stream whose status is OK is no complete one; null where it is. */
  final OutriggerException incompleteness() {
    if (failure != null) {
      return OutriggerException.fromProto(failure);
    }
    return complete
        ? null
        : OutriggerException.of(
            ErrorKind.ERROR_KIND_STREAM, "the stream ended without its last message", null);
  }

  /** The failure of the call with all steps that were complete before it. */
  final OutriggerException withSteps(OutriggerException failure) {
    return failure.withSteps(steps);
  }

  /** Notes that a step is complete. */
  protected final void noteStep(StepResult step) {
    outputStarted = true;
    steps.add(step);
  }

  /** Notes that the last message of a complete stream has come. */
  protected final void completed() {
    complete = true;
  }

  /** Notes an error in the stream. The status that follows says the same. */
  protected final void failed(InferenceError error) {
    failure = error;
  }

  /** Notes that the model has begun to produce output. */
  protected final void noteOutput() {
    outputStarted = true;
  }

  /** Notes what an event of the model says about its output. */
  protected final void noteOutput(StreamEvent event) {
    switch (event.getEventCase()) {
      case TEXT_START, REASONING_START, TOOL_CALL_START, PART_ADDED -> noteOutput();
      default -> {}
    }
  }
}
