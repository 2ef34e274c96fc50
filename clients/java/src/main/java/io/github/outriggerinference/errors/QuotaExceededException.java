package io.github.outriggerinference.errors;

/** The account's credit or quota is used up. */
public final class QuotaExceededException extends ProviderException {
  private static final long serialVersionUID = 1L;

  QuotaExceededException(Failure failure) {
    super(failure);
  }
}
