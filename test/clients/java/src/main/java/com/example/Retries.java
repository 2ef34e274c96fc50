package com.example;

import static com.example.Calls.TIMEOUT;
import static com.example.Calls.ask;

import io.grpc.Metadata;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import io.github.outriggerinference.v1.InferenceServiceGrpc.InferenceServiceBlockingStub;
import io.github.outriggerinference.v1.Request;
import io.github.outriggerinference.v1.StreamEvent;

/** Calls that gRPC repeats by itself: after a failure, or at the same time (hedging). */
final class Retries {
  /**
   * Lets gRPC repeat calls that failed before their first message. The sidecar says in the trailer
   * grpc-retry-pushback-ms when to repeat one, or that repeating it cannot help.
   */
  static final Map<String, ?> RETRY_POLICY =
      serviceConfig(
          "retryPolicy",
          Map.of(
              "maxAttempts", 4.0,
              "initialBackoff", "0.01s",
              "maxBackoff", "0.05s",
              "backoffMultiplier", 2.0,
              "retryableStatusCodes", List.of("UNAVAILABLE", "RESOURCE_EXHAUSTED")));

  /**
   * Lets gRPC begin further attempts while earlier ones wait for an answer, and cancel the others
   * once one is answered. Every attempt may be billed.
   */
  static final Map<String, ?> HEDGING_POLICY =
      serviceConfig(
          "hedgingPolicy",
          Map.of(
              "maxAttempts", 3.0,
              "hedgingDelay", "0.2s",
              "nonFatalStatusCodes", List.of("UNAVAILABLE", "RESOURCE_EXHAUSTED")));

  private static final Metadata.Key<String> PUSHBACK =
      Metadata.Key.of("grpc-retry-pushback-ms", Metadata.ASCII_STRING_MARSHALLER);

  private final InferenceServiceBlockingStub retrying;
  private final InferenceServiceBlockingStub hedging;

  Retries(InferenceServiceBlockingStub retrying, InferenceServiceBlockingStub hedging) {
    this.retrying = retrying;
    this.hedging = hedging;
  }

  void checkRetryPolicy() {
    // Each throws unless its third attempt succeeds.
    inTime(retrying).complete(askFailing("status=500,times=2"));
    checkStream(inTime(retrying), askFailing("status=500,times=2"));
  }

  void checkRetryPushback() {
    long started = System.nanoTime();
    inTime(retrying).complete(askFailing("status=429,retry_after_ms=400,times=1"));
    long waited = TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - started);
    Expect.that(waited >= 400, "repeated after %d ms, the provider asked for 400 ms", waited);
  }

  void checkRetryRefused() {
    checkRefused(inTime(retrying));
  }

  void checkHedging() {
    // The first two attempts fail, which starts the next one at once.
    inTime(hedging).complete(askFailing("status=500,times=2"));
    checkStream(inTime(hedging), askFailing("status=500,times=2"));
    // The provider never answers the first attempt; the second one is answered.
    inTime(hedging).complete(askFailing("stall_after=0,times=1"));
    checkStream(inTime(hedging), askFailing("stall_after=0,times=1"));
    checkRefused(inTime(hedging));
  }

  private static void checkStream(InferenceServiceBlockingStub stub, Request request) {
    List<StreamEvent> events = new ArrayList<>();
    stub.stream(request).forEachRemaining(events::add);
    Calls.checkOrder(events);
  }

  /** Checks that a call is not repeated if the sidecar says that repeating it cannot help. */
  private static void checkRefused(InferenceServiceBlockingStub stub) {
    try {
      stub.complete(askFailing("status=429,code=insufficient_quota,times=1"));
    } catch (StatusRuntimeException error) {
      Metadata trailers = error.getTrailers();
      String pushback = trailers == null ? null : trailers.get(PUSHBACK);
      Status.Code code = error.getStatus().getCode();
      Expect.that(code == Status.Code.RESOURCE_EXHAUSTED, "status %s", code);
      Expect.that("-1".equals(pushback), "want pushback -1, got %s", pushback);
      return;
    }
    throw new IllegalStateException("the call was repeated, though the provider's quota is used up");
  }

  private static InferenceServiceBlockingStub inTime(InferenceServiceBlockingStub stub) {
    return stub.withDeadlineAfter(TIMEOUT, TimeUnit.SECONDS);
  }

  private static Map<String, ?> serviceConfig(String kind, Map<String, ?> policy) {
    Map<String, ?> name = Map.of("service", "outrigger.v1.InferenceService");
    return Map.of("methodConfig", List.of(Map.of("name", List.of(name), kind, policy)));
  }

  /**
   * A request that fails as the simulator's options say. The simulator counts `times` by model
   * string, so a speed that no other request has makes the string unique.
   */
  private static Request askFailing(String faults) {
    int speed = ThreadLocalRandom.current().nextInt(100_000, 1_000_000);
    return ask("sim-text:" + faults + ",rate=" + speed, "Say hello.").build();
  }
}
