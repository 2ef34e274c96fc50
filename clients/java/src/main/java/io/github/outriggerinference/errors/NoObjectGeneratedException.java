package io.github.outriggerinference.errors;

/** The answer does not match the requested schema; {@link #noObject()} has it. */
public final class NoObjectGeneratedException extends OutriggerException {
  private static final long serialVersionUID = 1L;

  NoObjectGeneratedException(Failure failure) {
    super(failure);
  }
}
