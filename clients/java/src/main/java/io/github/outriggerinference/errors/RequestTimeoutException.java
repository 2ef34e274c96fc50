package io.github.outriggerinference.errors;

/** A time limit ran out. */
public final class RequestTimeoutException extends OutriggerException {
  private static final long serialVersionUID = 1L;

  RequestTimeoutException(Failure failure) {
    super(failure);
  }
}
