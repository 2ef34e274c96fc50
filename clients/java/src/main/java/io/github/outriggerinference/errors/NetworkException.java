package io.github.outriggerinference.errors;

/** The sidecar or the provider could not be reached, or the connection broke. */
public final class NetworkException extends OutriggerException {
  private static final long serialVersionUID = 1L;

  NetworkException(Failure failure) {
    super(failure);
  }
}
