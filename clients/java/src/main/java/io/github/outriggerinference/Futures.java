package io.github.outriggerinference;

import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.function.Function;

/** Futures whose cancellation reaches the call behind them. */
final class Futures {
  private Futures() {}

  /** Like {@code thenApply}, which would not pass a cancellation on. */
  static <A, B> CompletableFuture<B> map(CompletableFuture<A> source, Function<A, B> change) {
    CompletableFuture<B> result = new CompletableFuture<>();
    source.whenComplete((value, failure) -> settle(result, value, failure, change));
    result.whenComplete(
        (value, failure) -> {
          if (failure instanceof CancellationException) {
            source.cancel(true);
          }
        });
    return result;
  }

  private static <A, B> void settle(
      CompletableFuture<B> result, A value, Throwable failure, Function<A, B> change) {
    if (failure != null) {
      result.completeExceptionally(failure);
      return;
    }
    try {
      result.complete(change.apply(value));
    } catch (RuntimeException failed) {
      result.completeExceptionally(failed);
    }
  }
}
