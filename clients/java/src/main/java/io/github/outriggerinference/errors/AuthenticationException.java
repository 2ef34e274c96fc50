package io.github.outriggerinference.errors;

/**
 * A key is missing, wrong or expired: the caller's access key, or the key that the sidecar has for
 * a provider.
 */
public final class AuthenticationException extends ProviderException {
  private static final long serialVersionUID = 1L;

  AuthenticationException(Failure failure) {
    super(failure);
  }

  /**
   * Whether it is the caller's access key. Otherwise {@link #provider()} refused the sidecar's key.
   */
  public boolean isAccessKey() {
    return providerFailure().isEmpty();
  }
}
