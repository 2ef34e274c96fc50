package com.example;

import io.grpc.Grpc;
import io.grpc.InsecureChannelCredentials;
import io.grpc.ManagedChannel;
import io.grpc.health.v1.HealthGrpc;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import io.github.outriggerinference.v1.InferenceServiceGrpc;

/**
 * Calls a sidecar the way a Java service would, and checks what comes back. Every check is a method
 * that can be read, and copied, alone.
 */
public final class Main {
  /**
   * Messages can contain images, for which gRPC's default limit of 4 MiB is too small; this is the
   * sidecar's default.
   */
  private static final int MAX_MESSAGE_BYTES = 32 << 20;

  private interface Check {
    void run() throws Exception;
  }

  public static void main(String[] arguments) throws InterruptedException {
    ManagedChannel plain = connect(Map.of());
    ManagedChannel retrying = connect(Retries.RETRY_POLICY);
    ManagedChannel hedging = connect(Retries.HEDGING_POLICY);
    boolean passed = runAll(checks(plain, retrying, hedging));
    for (ManagedChannel channel : List.of(plain, retrying, hedging)) {
      channel.shutdownNow().awaitTermination(5, TimeUnit.SECONDS);
    }
    System.exit(passed ? 0 : 1);
  }

  /**
   * Opens a channel, which is expensive to open and safe to share: a service keeps one for its
   * lifetime. The sidecar shares the pod's loopback, so no TLS is needed.
   */
  private static ManagedChannel connect(Map<String, ?> serviceConfig) {
    return Grpc.newChannelBuilder(
            System.getenv("OUTRIGGER_ADDR"), InsecureChannelCredentials.create())
        .maxInboundMessageSize(MAX_MESSAGE_BYTES)
        .defaultServiceConfig(serviceConfig)
        .build();
  }

  private static Map<String, Check> checks(
      ManagedChannel plain, ManagedChannel retrying, ManagedChannel hedging) {
    Calls calls =
        new Calls(InferenceServiceGrpc.newBlockingStub(plain), HealthGrpc.newBlockingStub(plain));
    Failures failures = new Failures(InferenceServiceGrpc.newBlockingStub(plain));
    Retries retries =
        new Retries(
            InferenceServiceGrpc.newBlockingStub(retrying),
            InferenceServiceGrpc.newBlockingStub(hedging));
    Map<String, Check> checks = new LinkedHashMap<>();
    checks.put("health", calls::checkHealth);
    checks.put("complete", calls::checkComplete);
    checks.put("stream", calls::checkStream);
    checks.put("tool_round_trip", calls::checkToolRoundTrip);
    checks.put("error_details", failures::checkErrorDetails);
    checks.put("validation_error", failures::checkValidationError);
    checks.put("mid_stream_error", failures::checkMidStreamError);
    checks.put("deadline", failures::checkDeadline);
    checks.put("cancellation", failures::checkCancellation);
    checks.put("retry_policy", retries::checkRetryPolicy);
    checks.put("retry_pushback", retries::checkRetryPushback);
    checks.put("retry_refused", retries::checkRetryRefused);
    checks.put("tls", Tls::checkTls);
    checks.put("hedging", retries::checkHedging);
    return checks;
  }

  private static boolean runAll(Map<String, Check> checks) {
    boolean passed = true;
    for (Map.Entry<String, Check> check : checks.entrySet()) {
      try {
        check.getValue().run();
        System.out.println("ok " + check.getKey());
      } catch (Exception e) {
        passed = false;
        e.printStackTrace();
        System.out.println(
            "FAIL "
                + check.getKey()
                + ": "
                + String.valueOf(e.getMessage()).replaceAll("\\s+", " "));
      }
    }
    return passed;
  }

  private Main() {}
}
