package io.github.outriggerinference.errors;

/** The API key is not allowed to do this. */
public final class AccessDeniedException extends ProviderException {
  private static final long serialVersionUID = 1L;

  AccessDeniedException(Failure failure) {
    super(failure);
  }
}
