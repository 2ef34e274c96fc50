package io.github.outriggerinference;

import io.github.outriggerinference.errors.OutriggerException;
import io.github.outriggerinference.v1.ErrorKind;
import io.grpc.CallOptions;
import io.grpc.Channel;
import io.grpc.ClientCall;
import io.grpc.ClientInterceptor;
import io.grpc.ForwardingClientCall.SimpleForwardingClientCall;
import io.grpc.ForwardingClientCallListener.SimpleForwardingClientCallListener;
import io.grpc.Grpc;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.Status;
import java.io.IOException;

/**
 * Marks the failures of calls that never had a connection, of which nothing was sent: gRPC's status
 * does not tell them from calls that were lost in progress.
 */
final class UnsentCalls implements ClientInterceptor {

  /** Whether a call failed before anything of it was sent. */
  static boolean isUnsent(Throwable thrown) {
    return Status.fromThrowable(thrown).getCause() instanceof UnsentException;
  }

  @Override
  public <Q, A> ClientCall<Q, A> interceptCall(
      MethodDescriptor<Q, A> method, CallOptions options, Channel next) {
    return new SimpleForwardingClientCall<>(next.newCall(method, options)) {
      @Override
      public void start(Listener<A> answers, Metadata headers) {
        super.start(
            new SimpleForwardingClientCallListener<>(answers) {
              @Override
              public void onClose(Status status, Metadata trailers) {
                super.onClose(hasConnection() ? status : mark(status), trailers);
              }
            },
            headers);
      }

      private boolean hasConnection() {
        return getAttributes().get(Grpc.TRANSPORT_ATTR_REMOTE_ADDR) != null;
      }
    };
  }

  /** A call may also end without a connection because it was cancelled, for instance. */
  private static Status mark(Status status) {
    boolean isLost =
        !status.isOk()
            && OutriggerException.from(status.asRuntimeException()).kind()
                == ErrorKind.ERROR_KIND_NETWORK;
    return isLost ? status.withCause(new UnsentException(status.getCause())) : status;
  }

  private static final class UnsentException extends IOException {
    private static final long serialVersionUID = 1L;

    UnsentException(Throwable cause) {
      super("there was no connection", cause);
    }
  }
}
