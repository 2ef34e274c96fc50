package io.github.outriggerinference;

import io.github.outriggerinference.v1.StepResult;
import io.github.outriggerinference.v1.StreamEvent;
import io.github.outriggerinference.v1.ToolCall;
import java.util.Optional;

/** Something that happened in a generation. */
public sealed interface GenerationEvent {
  /**
   * An event of the model.
   *
   * @param step number of the step, from 1
   * @param event the event
   */
  record Model(int step, StreamEvent event) implements GenerationEvent {
    @Override
    public Optional<String> textDelta() {
      return event.hasTextDelta() ? Optional.of(event.getTextDelta().getDelta()) : Optional.empty();
    }
  }

  /**
   * A tool is being executed.
   *
   * @param step number of the step, from 1
   * @param call the call that it answers
   */
  record ToolStart(int step, ToolCall call) implements GenerationEvent {}

  /**
   * A step is complete: the model answered, and its tools were executed.
   *
   * @param step number of the step, from 1
   * @param result the step
   */
  record StepFinish(int step, StepResult result) implements GenerationEvent {}

  /**
   * The generation is complete. Always the last event.
   *
   * @param result the result
   */
  record Finish(GenerationResult result) implements GenerationEvent {}

  /** The text that this event adds to the answer. Empty for other events. */
  default Optional<String> textDelta() {
    return Optional.empty();
  }
}
