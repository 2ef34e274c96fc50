package io.github.outriggerinference.errors;

/** A tool call does not match its schema, or is malformed. */
public final class InvalidToolCallException extends ProviderException {
  private static final long serialVersionUID = 1L;

  InvalidToolCallException(Failure failure) {
    super(failure);
  }
}
