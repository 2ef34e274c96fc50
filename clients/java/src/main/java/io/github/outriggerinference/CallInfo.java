package io.github.outriggerinference;

import java.time.Duration;
import java.util.Map;
import org.jspecify.annotations.NullMarked;

/**
 * A call that has ended.
 *
 * @param method name of the method, for instance {@code Complete}
 * @param code name of the status code of gRPC, for instance {@code OK}
 * @param duration from the call to its end
 * @param headers headers and trailers of the answer, by names in lower case, without those that
 *     hold bytes
 */
@NullMarked
public record CallInfo(String method, String code, Duration duration, Map<String, String> headers) {

  /** Copies the headers. */
  public CallInfo {
    headers = Map.copyOf(headers);
  }

  /**
   * The id under which the sidecar logs the call: the caller's {@code x-request-id}, or a generated
   * one. Empty if the sidecar was not reached.
   */
  public String requestId() {
    return headers.getOrDefault("x-request-id", "");
  }
}
