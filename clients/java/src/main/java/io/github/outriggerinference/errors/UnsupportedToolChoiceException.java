package io.github.outriggerinference.errors;

/** The provider or model does not support the requested tool choice. */
public final class UnsupportedToolChoiceException extends OutriggerException {
  private static final long serialVersionUID = 1L;

  UnsupportedToolChoiceException(Failure failure) {
    super(failure);
  }
}
