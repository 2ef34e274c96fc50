package io.github.outriggerinference.errors;

/** The request is invalid; {@link #fieldViolations()} says where. */
public final class InvalidRequestException extends ProviderException {
  private static final long serialVersionUID = 1L;

  InvalidRequestException(Failure failure) {
    super(failure);
  }
}
