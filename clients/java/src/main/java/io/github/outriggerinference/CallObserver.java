package io.github.outriggerinference;

import io.grpc.CallOptions;
import io.grpc.Channel;
import io.grpc.ClientCall;
import io.grpc.ClientInterceptor;
import io.grpc.ForwardingClientCall.SimpleForwardingClientCall;
import io.grpc.ForwardingClientCallListener.SimpleForwardingClientCallListener;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.Status;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.function.Consumer;

/**
 * Sends headers with calls, and tells of those that ended.
 *
 * @param headers by names in lower case
 * @param listener called for each call
 */
record CallObserver(Map<String, String> headers, Consumer<CallInfo> listener)
    implements ClientInterceptor {
  private static final System.Logger LOGGER = System.getLogger("io.github.outriggerinference");

  @Override
  public <Q, A> ClientCall<Q, A> interceptCall(
      MethodDescriptor<Q, A> method, CallOptions options, Channel next) {
    long started = System.nanoTime();
    return new SimpleForwardingClientCall<>(next.newCall(method, options)) {
      @Override
      public void start(Listener<A> answers, Metadata sent) {
        headers.forEach((name, value) -> sent.put(key(name), value));
        super.start(new EndListener<>(answers, method.getBareMethodName(), started), sent);
      }
    };
  }

  private final class EndListener<A> extends SimpleForwardingClientCallListener<A> {
    private final Map<String, String> received = new HashMap<>();
    private final String method;
    private final long started;

    EndListener(ClientCall.Listener<A> answers, String method, long started) {
      super(answers);
      this.method = method;
      this.started = started;
    }

    @Override
    public void onHeaders(Metadata headers) {
      add(headers);
      super.onHeaders(headers);
    }

    @Override
    public void onClose(Status status, Metadata trailers) {
      add(trailers);
      Duration duration = Duration.ofNanos(System.nanoTime() - started);
      tell(new CallInfo(method, status.getCode().name(), duration, received));
      super.onClose(status, trailers);
    }

    private void add(Metadata metadata) {
      for (String name : metadata.keys()) {
        if (!name.endsWith(Metadata.BINARY_HEADER_SUFFIX)) {
          received.put(name, metadata.get(key(name)));
        }
      }
    }
  }

  /** Neither the log nor the listener gets any text of a call. */
  private void tell(CallInfo call) {
    LOGGER.log(
        System.Logger.Level.DEBUG,
        () ->
            call.method()
                + " ended with "
                + call.code()
                + " after "
                + call.duration().toMillis()
                + " ms, request id "
                + call.requestId());
    listener.accept(call);
  }

  private static Metadata.Key<String> key(String name) {
    return Metadata.Key.of(name, Metadata.ASCII_STRING_MARSHALLER);
  }
}
