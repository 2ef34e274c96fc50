package com.example;

/** Fails the running check. */
final class Expect {
  static void that(boolean condition, String why, Object... details) {
    if (!condition) {
      throw new IllegalStateException(String.format(why, details));
    }
  }

  /** The call must fail with this exception. */
  static <E extends Exception> E failure(Class<E> kind, Call call) {
    try {
      call.run();
    } catch (Exception e) {
      that(kind.isInstance(e), "want %s, got %s", kind.getSimpleName(), e);
      return kind.cast(e);
    }
    throw new IllegalStateException("the call succeeded, want " + kind.getSimpleName());
  }

  interface Call {
    void run() throws Exception;
  }

  private Expect() {}
}
