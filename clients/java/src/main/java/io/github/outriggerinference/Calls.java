package io.github.outriggerinference;

import io.github.outriggerinference.errors.OutriggerException;
import io.grpc.CallOptions;
import io.grpc.Channel;
import io.grpc.MethodDescriptor;
import io.grpc.StatusRuntimeException;
import io.grpc.stub.ClientCallStreamObserver;
import io.grpc.stub.ClientCalls;
import io.grpc.stub.ClientResponseObserver;
import io.grpc.stub.StreamObserver;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;

/**
 * Makes calls on the connection, each with a deadline of its own.
 *
 * @param options what all calls have in common
 */
record Calls(Channel channel, CallOptions options) {

  /** A call with one answer. */
  <Q, A> A unary(MethodDescriptor<Q, A> method, Q request, Optional<Duration> deadline) {
    try {
      return ClientCalls.blockingUnaryCall(channel, method, optionsOf(deadline), request);
    } catch (StatusRuntimeException status) {
      throw OutriggerException.from(status);
    }
  }

  /** A call with one answer, which is cancelled with the future. */
  <Q, A> CompletableFuture<A> unaryAsync(
      MethodDescriptor<Q, A> method, Q request, Optional<Duration> deadline) {
    AnswerFuture<Q, A> future = new AnswerFuture<>();
    ClientCalls.asyncUnaryCall(channel.newCall(method, optionsOf(deadline)), request, future);
    return future.answer;
  }

  /** A call with one request and a stream of messages. */
  <Q, M, E> StreamingCall<E> streaming(
      MethodDescriptor<Q, M> method,
      Q request,
      Optional<Duration> deadline,
      Supplier<EventDecoder<M, E>> decoder) {
    return (sink, demand) -> {
      EventReceiver<Q, M, E> receiver = new EventReceiver<>(decoder.get(), sink, demand);
      ClientCalls.asyncServerStreamingCall(
          channel.newCall(method, optionsOf(deadline)), request, receiver);
      return receiver;
    };
  }

  /** A call with messages in both directions. */
  <Q, M> StreamObserver<Q> bidirectional(
      MethodDescriptor<Q, M> method,
      Optional<Duration> deadline,
      ClientResponseObserver<Q, M> receiver) {
    return ClientCalls.asyncBidiStreamingCall(
        channel.newCall(method, optionsOf(deadline)), receiver);
  }

  private CallOptions optionsOf(Optional<Duration> deadline) {
    return deadline
        .map(Durations::toNanos)
        .map(nanos -> options.withDeadlineAfter(nanos, TimeUnit.NANOSECONDS))
        .orElse(options);
  }

  private static final class AnswerFuture<Q, A> implements ClientResponseObserver<Q, A> {
    private final CompletableFuture<A> answer = new CompletableFuture<>();

    @Override
    public void beforeStart(ClientCallStreamObserver<Q> call) {
      answer.whenComplete(
          (value, failure) -> {
            if (answer.isCancelled()) {
              call.cancel("the future was cancelled", null);
            }
          });
    }

    @Override
    public void onNext(A value) {
      answer.complete(value);
    }

    @Override
    public void onError(Throwable status) {
      answer.completeExceptionally(OutriggerException.from(status));
    }

    @Override
    public void onCompleted() {
      // The answer came before; gRPC fails a call without one.
    }
  }
}
