package io.github.outriggerinference.errors;

import io.github.outriggerinference.v1.FailedGeneration;
import io.github.outriggerinference.v1.InferenceError;
import java.util.List;

/** What an exception is made of, and the choice of its class. */
record Failure(
    InferenceError error,
    List<FieldViolation> fieldViolations,
    FailedGeneration generation,
    Throwable cause) {
  /** Where causes are nested deeper, the rest is left out. */
  private static final int MAX_CAUSES = 16;

  static OutriggerException exceptionOf(
      InferenceError error,
      List<FieldViolation> fieldViolations,
      FailedGeneration generation,
      Throwable cause) {
    Throwable reason = error.hasCause() ? causeOf(error.getCause(), cause, 1) : cause;
    return new Failure(error, fieldViolations, generation, reason).toException();
  }

  /** The chain of causes, with the exception of gRPC at its end. */
  private static Throwable causeOf(InferenceError error, Throwable last, int depth) {
    boolean goesOn = error.hasCause() && depth < MAX_CAUSES;
    Throwable cause = goesOn ? causeOf(error.getCause(), last, depth + 1) : last;
    return new Failure(error, List.of(), FailedGeneration.getDefaultInstance(), cause)
        .toException();
  }

  OutriggerException toException() {
    return switch (error.getKind()) {
      case ERROR_KIND_AUTHENTICATION -> new AuthenticationException(this);
      case ERROR_KIND_ACCESS_DENIED -> new AccessDeniedException(this);
      case ERROR_KIND_NOT_FOUND -> new NotFoundException(this);
      case ERROR_KIND_INVALID_REQUEST -> new InvalidRequestException(this);
      case ERROR_KIND_RATE_LIMIT -> new RateLimitException(this);
      case ERROR_KIND_SERVER -> new ServerException(this);
      case ERROR_KIND_CONTENT_FILTER -> new ContentFilterException(this);
      case ERROR_KIND_CONTEXT_LENGTH -> new ContextLengthException(this);
      case ERROR_KIND_QUOTA_EXCEEDED -> new QuotaExceededException(this);
      case ERROR_KIND_REQUEST_TIMEOUT -> new RequestTimeoutException(this);
      case ERROR_KIND_ABORT -> new AbortException(this);
      case ERROR_KIND_NETWORK -> new NetworkException(this);
      case ERROR_KIND_STREAM -> new StreamException(this);
      case ERROR_KIND_INVALID_TOOL_CALL -> new InvalidToolCallException(this);
      case ERROR_KIND_NO_OBJECT_GENERATED -> new NoObjectGeneratedException(this);
      case ERROR_KIND_CONFIGURATION -> new ConfigurationException(this);
      case ERROR_KIND_UNSUPPORTED_TOOL_CHOICE -> new UnsupportedToolChoiceException(this);
      case ERROR_KIND_INTERNAL -> new InternalException(this);
      case ERROR_KIND_PROVIDER -> new ProviderException(this);
      default -> unknownKind();
    };
  }

  /** Kinds 100 to 199 speak of the request or the provider. */
  private OutriggerException unknownKind() {
    int number = error.getKindValue();
    return number >= 100 && number < 200
        ? new ProviderException(this)
        : new OutriggerException(this);
  }
}
