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
import java.util.function.Consumer;
import java.util.function.Supplier;

/**
 * Makes calls on the connection, each with a separate deadline. A call that finds no sidecar is
 * made once more if a connection comes up in time: nothing of it was sent.
 *
 * @param channel the connection's, with what is added to these calls
 * @param options what all calls have in common
 */
record Calls(Connection connection, Channel channel, CallOptions options) {

  /** A call with one answer. */
  <Q, A> A unary(MethodDescriptor<Q, A> method, Q request, Optional<Duration> deadline) {
    CallOptions bounded = optionsOf(deadline);
    try {
      return ClientCalls.blockingUnaryCall(channel, method, bounded, request);
    } catch (StatusRuntimeException status) {
      if (!UnsentCalls.isUnsent(status) || !connection.reconnect(bounded.getDeadline()).join()) {
        throw OutriggerException.from(connection.explain(status));
      }
    }
    try {
      return ClientCalls.blockingUnaryCall(channel, method, bounded, request);
    } catch (StatusRuntimeException status) {
      throw OutriggerException.from(connection.explain(status));
    }
  }

  /** A call with one answer, which is cancelled with the future. */
  <Q, A> CompletableFuture<A> unaryAsync(
      MethodDescriptor<Q, A> method, Q request, Optional<Duration> deadline) {
    CallOptions bounded = optionsOf(deadline);
    CompletableFuture<A> answer = new CompletableFuture<>();
    Runnable call =
        () ->
            ClientCalls.asyncUnaryCall(
                channel.newCall(method, bounded),
                request,
                new AnswerObserver<Q, A>(connection, bounded, answer, null));
    ClientCalls.asyncUnaryCall(
        channel.newCall(method, bounded),
        request,
        new AnswerObserver<Q, A>(connection, bounded, answer, call));
    return answer;
  }

  /** A call with one request and a stream of messages. */
  <Q, M, E> StreamingCall<E> streaming(
      MethodDescriptor<Q, M> method,
      Q request,
      Optional<Duration> deadline,
      Supplier<EventDecoder<M, E>> decoder) {
    return (sink, demand) -> {
      CallOptions bounded = optionsOf(deadline);
      EventReceiver<Q, M, E> receiver = new EventReceiver<>(decoder.get(), sink, demand);
      receiver.start(
          connection,
          bounded.getDeadline(),
          () ->
              ClientCalls.asyncServerStreamingCall(
                  channel.newCall(method, bounded), request, receiver));
      return receiver;
    };
  }

  /**
   * A call with messages in both directions.
   *
   * @param open sends the first message, again if the call is made once more
   */
  <Q, M, E> void bidirectional(
      MethodDescriptor<Q, M> method,
      Optional<Duration> deadline,
      EventReceiver<Q, M, E> receiver,
      Consumer<StreamObserver<Q>> open) {
    CallOptions bounded = optionsOf(deadline);
    receiver.start(
        connection,
        bounded.getDeadline(),
        () ->
            open.accept(
                ClientCalls.asyncBidiStreamingCall(channel.newCall(method, bounded), receiver)));
  }

  private CallOptions optionsOf(Optional<Duration> deadline) {
    return deadline
        .map(Durations::toNanos)
        .map(nanos -> options.withDeadlineAfter(nanos, TimeUnit.NANOSECONDS))
        .orElse(options);
  }

  /**
   * Completes a future with the answer.
   *
   * @param retry makes the call once more; null if this call is the second one
   */
  private record AnswerObserver<Q, A>(
      Connection connection, CallOptions options, CompletableFuture<A> answer, Runnable retry)
      implements ClientResponseObserver<Q, A> {
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
      if (retry == null || !UnsentCalls.isUnsent(status)) {
        fail(status);
        return;
      }
      connection
          .reconnect(options.getDeadline())
          .thenAccept(
              connected -> {
                if (connected && !answer.isDone()) {
                  retry.run();
                } else {
                  fail(status);
                }
              });
    }

    @Override
    public void onCompleted() {
      // The answer came before; gRPC fails a call without one.
    }

    private void fail(Throwable status) {
      answer.completeExceptionally(OutriggerException.from(connection.explain(status)));
    }
  }
}
