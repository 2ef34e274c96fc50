package io.github.outriggerinference.errors;

import io.github.outriggerinference.v1.ProviderFailure;
import java.util.Optional;
import java.util.OptionalInt;

/** A failure that a provider reported, or of a request that a provider would reject. */
public class ProviderException extends OutriggerException {
  private static final long serialVersionUID = 1L;

  ProviderException(Failure failure) {
    super(failure);
  }

  /** What the provider said. Empty where Outrigger found the problem itself. */
  public Optional<ProviderFailure> providerFailure() {
    return toProto().hasProviderFailure()
        ? Optional.of(toProto().getProviderFailure())
        : Optional.empty();
  }

  /** Name of the provider. Empty where Outrigger found the problem itself. */
  public String provider() {
    return toProto().getProviderFailure().getProvider();
  }

  /** HTTP status of the provider's answer. Empty if there was none. */
  public OptionalInt httpStatusCode() {
    ProviderFailure failure = toProto().getProviderFailure();
    return failure.hasHttpStatusCode()
        ? OptionalInt.of(failure.getHttpStatusCode())
        : OptionalInt.empty();
  }

  /** The provider's own code, for instance {@code insufficient_quota}. May be empty. */
  public String errorCode() {
    return toProto().getProviderFailure().getErrorCode();
  }

  /** The provider's request id, for its support team. May be empty. */
  public String requestId() {
    return toProto().getProviderFailure().getRequestId();
  }
}
