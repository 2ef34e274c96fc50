package io.github.outriggerinference.errors;

/** The conversation is longer than the model takes. */
public final class ContextLengthException extends ProviderException {
  private static final long serialVersionUID = 1L;

  ContextLengthException(Failure failure) {
    super(failure);
  }
}
