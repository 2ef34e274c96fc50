package io.github.outriggerinference;

import com.google.protobuf.Duration;

/** Durations of Java and of the contract. */
final class Durations {
  private Durations() {}

  static Duration toProto(java.time.Duration duration) {
    return Duration.newBuilder()
        .setSeconds(duration.getSeconds())
        .setNanos(duration.getNano())
        .build();
  }

  static java.time.Duration toJava(Duration duration) {
    return java.time.Duration.ofSeconds(duration.getSeconds(), duration.getNanos());
  }

  /** Nanoseconds; durations of over 292 years become as long as that. */
  static long toNanos(java.time.Duration duration) {
    try {
      return duration.toNanos();
    } catch (ArithmeticException tooLong) {
      return duration.isNegative() ? Long.MIN_VALUE : Long.MAX_VALUE;
    }
  }
}
