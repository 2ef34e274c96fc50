package io.github.outriggerinference.errors;

/** The provider failed or is overloaded. */
public final class ServerException extends ProviderException {
  private static final long serialVersionUID = 1L;

  ServerException(Failure failure) {
    super(failure);
  }
}
