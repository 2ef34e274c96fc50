package io.github.outriggerinference.errors;

/** A stream ended without its end marker, or violated its protocol. */
public final class StreamException extends OutriggerException {
  private static final long serialVersionUID = 1L;

  StreamException(Failure failure) {
    super(failure);
  }
}
