package io.github.outriggerinference;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.github.outriggerinference.errors.NetworkException;
import io.github.outriggerinference.errors.OutriggerException;
import io.github.outriggerinference.v1.ErrorKind;
import io.github.outriggerinference.v1.InferenceServiceGrpc;
import io.github.outriggerinference.v1.Request;
import io.github.outriggerinference.v1.Response;
import io.grpc.Attributes;
import io.grpc.CallOptions;
import io.grpc.Channel;
import io.grpc.ClientCall;
import io.grpc.Grpc;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.stub.ClientCalls;
import java.io.EOFException;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.channels.ClosedChannelException;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.stream.Stream;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

@DisplayName("A call whose connection is lost")
class LostConnectionTest {
  private static final Request REQUEST = Request.newBuilder().setModel("m").build();
  private static final Tool TOOL = Tool.ofText("act", "Acts.", text -> text);
  private static final Attributes CONNECTED =
      Attributes.newBuilder()
          .set(Grpc.TRANSPORT_ATTR_REMOTE_ADDR, new InetSocketAddress("localhost", 1))
          .build();

  static Stream<Arguments> losses() {
    return Stream.of(BrokenSidecar.Moment.values())
        .flatMap(moment -> Stream.of(Arguments.of(moment, false), Arguments.of(moment, true)));
  }

  @ParameterizedTest
  @MethodSource("losses")
  void failsWithTheKindOfTheNetwork(BrokenSidecar.Moment moment, boolean resets) throws Exception {
    try (BrokenSidecar sidecar = new BrokenSidecar(moment, resets);
        OutriggerClient client = OutriggerClient.connect(sidecar.address())) {
      GenerateOptions loop = GenerateOptions.builder().model("m").prompt("Hi").tools(TOOL).build();
      List<Executable> calls =
          List.of(
              () -> client.complete(REQUEST),
              () -> client.stream(REQUEST).hasNext(),
              () -> client.generate(loop));
      for (Executable call : calls) {
        NetworkException lost = assertThrows(NetworkException.class, call);
        assertTrue(lost.retryable());
        // A connection without SETTINGS never was one: nothing of the call could be sent.
        if (moment.compareTo(BrokenSidecar.Moment.SETTINGS_SENT) < 0) {
          assertTrue(lost.getMessage().contains("is the sidecar running at"), lost.getMessage());
        }
      }
      if (moment.compareTo(BrokenSidecar.Moment.REQUEST_READ) >= 0) {
        assertTrue(sidecar.connections() <= calls.size(), "a call was made again");
      }
    }
  }

  @Test
  void isOfTheNetworkIfGrpcNoLongerKnowsWhy() {
    Throwable nested = new ClosedChannelException().initCause(new ClosedChannelException());
    for (Throwable cause : List.of(nested, new EOFException(), new RuntimeException(nested))) {
      OutriggerException lost =
          OutriggerException.from(
              Status.UNKNOWN.withDescription("channel closed").withCause(cause).asException());
      assertEquals(ErrorKind.ERROR_KIND_NETWORK, lost.kind());
      assertTrue(lost.retryable());
    }
    OutriggerException bug =
        OutriggerException.from(
            Status.UNKNOWN.withCause(new IllegalStateException()).asException());
    assertEquals(ErrorKind.ERROR_KIND_INTERNAL, bug.kind());
  }

  @Test
  void isUnsentWithoutAConnectionOnly() {
    Status closed = Status.UNKNOWN.withCause(new ClosedChannelException());
    Status refused = Status.UNAVAILABLE.withCause(new IOException());
    for (Status status : List.of(closed, refused, Status.UNAVAILABLE)) {
      assertTrue(UnsentCalls.isUnsent(failureOf(status, Attributes.EMPTY)), status.toString());
      assertFalse(UnsentCalls.isUnsent(failureOf(status, CONNECTED)), status.toString());
    }
    for (Status status : List.of(Status.CANCELLED, Status.DEADLINE_EXCEEDED, Status.UNKNOWN)) {
      assertFalse(UnsentCalls.isUnsent(failureOf(status, Attributes.EMPTY)), status.toString());
    }
  }

  /** The failure of a call that gRPC ends with a status. */
  private static StatusRuntimeException failureOf(Status status, Attributes attributes) {
    MethodDescriptor<Request, Response> method = InferenceServiceGrpc.getCompleteMethod();
    ClientCall<Request, Response> call =
        new UnsentCalls()
            .interceptCall(method, CallOptions.DEFAULT, new EndedChannel(status, attributes));
    return assertThrows(
        StatusRuntimeException.class,
        () -> {
          try {
            ClientCalls.futureUnaryCall(call, REQUEST).get();
          } catch (ExecutionException failed) {
            throw failed.getCause();
          }
        });
  }

  /** Ends each call at once. */
  private static final class EndedChannel extends Channel {
    private final Status status;
    private final Attributes attributes;

    EndedChannel(Status status, Attributes attributes) {
      this.status = status;
      this.attributes = attributes;
    }

    @Override
    public String authority() {
      return "localhost";
    }

    @Override
    public <Q, A> ClientCall<Q, A> newCall(MethodDescriptor<Q, A> method, CallOptions options) {
      return new ClientCall<>() {
        @Override
        public void start(Listener<A> answers, Metadata headers) {
          answers.onClose(status, new Metadata());
        }

        @Override
        public Attributes getAttributes() {
          return attributes;
        }

        @Override
        public void request(int messages) {}

        @Override
        public void cancel(String reason, Throwable cause) {}

        @Override
        public void halfClose() {}

        @Override
        public void sendMessage(Q message) {}
      };
    }
  }
}
