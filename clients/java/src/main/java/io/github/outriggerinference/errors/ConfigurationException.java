package io.github.outriggerinference.errors;

/** The sidecar is not configured for this call. */
public final class ConfigurationException extends OutriggerException {
  private static final long serialVersionUID = 1L;

  ConfigurationException(Failure failure) {
    super(failure);
  }
}
