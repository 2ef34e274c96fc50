package com.example;

/** Fails the running check. */
final class Expect {
  static void that(boolean condition, String why, Object... details) {
    if (!condition) {
      throw new IllegalStateException(String.format(why, details));
    }
  }

  private Expect() {}
}
