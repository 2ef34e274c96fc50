package io.github.outriggerinference;

import io.grpc.CallOptions;
import io.grpc.Channel;
import io.grpc.ClientCall;
import io.grpc.ClientInterceptor;
import io.grpc.ManagedChannel;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.Status;

/** Lets calls of a client that was closed say so; gRPC tells them as failures of the network. */
record ClosedClient(ManagedChannel channel) implements ClientInterceptor {
  private static final Status CLOSED =
      Status.FAILED_PRECONDITION.withDescription("the client is closed");

  @Override
  public <Q, A> ClientCall<Q, A> interceptCall(
      MethodDescriptor<Q, A> method, CallOptions options, Channel next) {
    return channel.isShutdown() ? new RefusedCall<>() : next.newCall(method, options);
  }

  private static final class RefusedCall<Q, A> extends ClientCall<Q, A> {
    @Override
    public void start(Listener<A> answers, Metadata headers) {
      answers.onClose(CLOSED, new Metadata());
    }

    @Override
    public void request(int messages) {}

    @Override
    public void cancel(String reason, Throwable cause) {}

    @Override
    public void halfClose() {}

    @Override
    public void sendMessage(Q message) {}
  }
}
