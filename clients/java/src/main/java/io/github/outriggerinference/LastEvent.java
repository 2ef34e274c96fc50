package io.github.outriggerinference;

import io.github.outriggerinference.errors.OutriggerException;
import java.util.concurrent.CompletableFuture;

/** Waits for the end of a streaming call, and keeps its last event only. */
final class LastEvent<E> implements EventSink<E> {
  private final CompletableFuture<E> future = new CompletableFuture<>();
  private E last;

  private LastEvent() {}

  /** The last event of a call, which is cancelled with the future. */
  static <E> CompletableFuture<E> of(StreamingCall<E> call) {
    LastEvent<E> sink = new LastEvent<>();
    EventReceiver<?, ?, E> receiver = call.start(sink, Integer.MAX_VALUE);
    sink.future.whenComplete(
        (value, failure) -> {
          if (sink.future.isCancelled()) {
            receiver.cancel("the future was cancelled");
          }
        });
    return sink.future;
  }

  @Override
  public void next(E event) {
    last = event;
  }

  @Override
  public void end(OutriggerException failure) {
    if (failure == null) {
      future.complete(last);
    } else {
      future.completeExceptionally(failure);
    }
  }
}
