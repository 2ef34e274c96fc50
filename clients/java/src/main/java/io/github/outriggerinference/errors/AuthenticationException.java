package io.github.outriggerinference.errors;

/** The API key is missing, wrong or expired. */
public final class AuthenticationException extends ProviderException {
  private static final long serialVersionUID = 1L;

  AuthenticationException(Failure failure) {
    super(failure);
  }
}
