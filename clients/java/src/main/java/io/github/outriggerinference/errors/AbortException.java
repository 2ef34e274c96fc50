package io.github.outriggerinference.errors;

/** The call was cancelled: by the caller, an interrupt, or a closed stream. */
public final class AbortException extends OutriggerException {
  private static final long serialVersionUID = 1L;

  AbortException(Failure failure) {
    super(failure);
  }
}
