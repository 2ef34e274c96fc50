package io.github.outriggerinference;

/** A streaming call that can be made. */
@FunctionalInterface
interface StreamingCall<E> {
  /**
   * Makes the call.
   *
   * @param sink gets its events
   * @param demand how many events may come before more are requested
   */
  EventReceiver<?, ?, E> start(EventSink<E> sink, int demand);
}
