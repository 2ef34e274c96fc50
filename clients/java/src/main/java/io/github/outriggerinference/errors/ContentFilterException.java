package io.github.outriggerinference.errors;

/** A safety filter blocked the call. */
public final class ContentFilterException extends ProviderException {
  private static final long serialVersionUID = 1L;

  ContentFilterException(Failure failure) {
    super(failure);
  }
}
