package io.github.outriggerinference.errors;

/** Too many requests. */
public final class RateLimitException extends ProviderException {
  private static final long serialVersionUID = 1L;

  RateLimitException(Failure failure) {
    super(failure);
  }
}
