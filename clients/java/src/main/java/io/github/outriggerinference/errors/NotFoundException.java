package io.github.outriggerinference.errors;

/** No such model or endpoint. */
public final class NotFoundException extends ProviderException {
  private static final long serialVersionUID = 1L;

  NotFoundException(Failure failure) {
    super(failure);
  }
}
