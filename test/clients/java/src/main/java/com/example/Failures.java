package com.example;

import static com.example.Calls.TIMEOUT;
import static com.example.Calls.ask;

import com.google.protobuf.InvalidProtocolBufferException;
import com.google.protobuf.util.Durations;
import com.google.rpc.BadRequest.FieldViolation;
import io.grpc.Context;
import io.grpc.Status;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.concurrent.TimeUnit;
import io.github.outriggerinference.v1.ErrorKind;
import io.github.outriggerinference.v1.InferenceError;
import io.github.outriggerinference.v1.InferenceServiceGrpc.InferenceServiceBlockingStub;
import io.github.outriggerinference.v1.Request;
import io.github.outriggerinference.v1.StreamEvent;

/** Calls that fail: how a program reads the failure, and how it ends a call itself. */
final class Failures {
  /**
   * A cancelled call, and one whose deadline expires, ends at once. The bound, in milliseconds,
   * is generous so that a busy machine does not fail the check.
   */
  private static final long PROMPTLY = 3000;

  /** An answer that takes 50 seconds, far longer than any check waits. */
  private static final Request LONG = ask("sim-long:tokens=1000,rate=20", "Write a lot.").build();

  private final InferenceServiceBlockingStub inference;

  Failures(InferenceServiceBlockingStub inference) {
    this.inference = inference;
  }

  void checkErrorDetails() throws InvalidProtocolBufferException {
    Request request = ask("sim-text:status=429,retry_after=2", "Hello?").build();
    Failure found = Failure.of(() -> inTime().complete(request));
    InferenceError failed = found.inference();
    Expect.that(found.code() == Status.Code.RESOURCE_EXHAUSTED, "status %s", found.code());
    Expect.that(
        failed.getKind() == ErrorKind.ERROR_KIND_RATE_LIMIT && failed.getRetryable(),
        "want a retryable RATE_LIMIT, got {%s}",
        failed);
    Expect.that(
        Durations.toMillis(failed.getRetryAfter()) == 2000, "want retry_after 2s: {%s}", failed);
    Expect.that(
        failed.getProviderFailure().getHttpStatusCode() == 429,
        "want the provider's status 429: {%s}",
        failed);
    Expect.that(
        found.info().getReason().equals("RATE_LIMIT")
            && found.info().getDomain().equals("outrigger"),
        "ErrorInfo %s",
        found.info());
    Expect.that(
        Durations.toMillis(found.retry().getRetryDelay()) == 2000, "RetryInfo %s", found.retry());
  }

  void checkValidationError() throws InvalidProtocolBufferException {
    Request request = Request.newBuilder().setModel("sim-text").build();
    Failure found = Failure.of(() -> inTime().complete(request));
    Expect.that(found.code() == Status.Code.INVALID_ARGUMENT, "status %s", found.code());
    Expect.that(
        found.inference().getKind() == ErrorKind.ERROR_KIND_INVALID_REQUEST,
        "want INVALID_REQUEST, got {%s}",
        found.inference());
    Expect.that(!found.inference().hasProviderFailure(), "no provider was asked, yet one is named");
    List<String> fields =
        found.fields().getFieldViolationsList().stream().map(FieldViolation::getField).toList();
    Expect.that(fields.contains("messages"), "BadRequest names %s, want messages", fields);
  }

  void checkMidStreamError() throws InvalidProtocolBufferException {
    Request request = ask("sim-text:error_after=5", "Hello?").build();
    // Once the stream has begun, a failure is reported twice: as its last event, for code that reads
    // events, and as the status, for interceptors, retries and metrics.
    List<StreamEvent> events = new ArrayList<>();
    Failure found = Failure.of(() -> inTime().stream(request).forEachRemaining(events::add));
    Expect.that(
        !events.isEmpty() && events.get(events.size() - 1).hasError(),
        "the last of %d events is no error",
        events.size());
    InferenceError announced = events.get(events.size() - 1).getError();
    Expect.that(
        announced.getOutputStarted(), "output_started is not set, though text was streamed");
    Expect.that(found.code() == Status.Code.UNAVAILABLE, "status %s", found.code());
    Expect.that(
        found.inference().equals(announced),
        "event %s and status %s differ",
        announced,
        found.inference());
  }

  void checkDeadline() throws InvalidProtocolBufferException {
    long started = System.nanoTime();
    Failure found =
        Failure.of(
            () ->
                inference.withDeadlineAfter(300, TimeUnit.MILLISECONDS).stream(LONG)
                    .forEachRemaining(event -> {}));
    Expect.that(found.code() == Status.Code.DEADLINE_EXCEEDED, "status %s", found.code());
    Expect.that(
        millisSince(started) < PROMPTLY,
        "waited %d ms for a deadline of 300 ms",
        millisSince(started));
  }

  void checkCancellation() throws Exception {
    // A blocking call ends with its context; the sidecar then closes its connection to the provider.
    Context.CancellableContext context = Context.current().withCancellation();
    Iterator<StreamEvent> events = context.call(() -> inTime().stream(LONG));
    while (!events.next().hasTextDelta()) {
      // Skip the events before the first delta.
    }
    context.cancel(null);
    long started = System.nanoTime();
    Failure found = Failure.of(() -> events.forEachRemaining(event -> {}));
    Expect.that(found.code() == Status.Code.CANCELLED, "status %s", found.code());
    Expect.that(
        millisSince(started) < PROMPTLY,
        "waited %d ms for the end of a cancelled stream",
        millisSince(started));
  }

  /** A stub whose calls have a deadline. It starts when this is called, so it serves one call. */
  private InferenceServiceBlockingStub inTime() {
    return inference.withDeadlineAfter(TIMEOUT, TimeUnit.SECONDS);
  }

  private static long millisSince(long nanos) {
    return TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - nanos);
  }
}
