package io.github.outriggerinference;

import io.github.outriggerinference.errors.OutriggerException;

/** Takes the events of one call, one after the other. */
interface EventSink<E> {
  /** An event, at most as many as were requested. */
  void next(E event);

  /**
   * The call has ended. Called once, after all events.
   *
   * @param failure why it failed; null if the stream is complete
   */
  void end(OutriggerException failure);
}
