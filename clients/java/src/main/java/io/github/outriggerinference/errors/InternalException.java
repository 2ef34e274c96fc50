package io.github.outriggerinference.errors;

/** A bug in Outrigger. */
public final class InternalException extends OutriggerException {
  private static final long serialVersionUID = 1L;

  InternalException(Failure failure) {
    super(failure);
  }
}
