package io.github.outriggerinference.errors;

import com.google.protobuf.Any;
import com.google.protobuf.Duration;
import com.google.protobuf.InvalidProtocolBufferException;
import com.google.rpc.BadRequest;
import io.github.outriggerinference.Messages;
import io.github.outriggerinference.v1.Attempt;
import io.github.outriggerinference.v1.ErrorKind;
import io.github.outriggerinference.v1.FailedGeneration;
import io.github.outriggerinference.v1.InferenceError;
import io.github.outriggerinference.v1.Message;
import io.github.outriggerinference.v1.NoObject;
import io.github.outriggerinference.v1.StepResult;
import io.github.outriggerinference.v1.Usage;
import io.grpc.Status;
import io.grpc.protobuf.StatusProto;
import java.io.IOException;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.stream.Stream;
import org.jspecify.annotations.NullMarked;
import org.jspecify.annotations.Nullable;

/**
 * A call failed. There is a subclass for each {@link ErrorKind}; those of kinds that a provider
 * reports extend {@link ProviderException}. A kind that this package does not know yet is a {@code
 * ProviderException} or an {@code OutriggerException} itself.
 */
@NullMarked
public class OutriggerException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  private final InferenceError error;
  private final List<FieldViolation> fieldViolations;
  private final FailedGeneration generation;

  OutriggerException(Failure failure) {
    super(failure.error().getMessage(), failure.cause());
    this.error = failure.error();
    this.fieldViolations = failure.fieldViolations();
    this.generation = failure.generation();
  }

  /** The kind of failure. {@code UNRECOGNIZED} where this package does not know it yet. */
  public ErrorKind kind() {
    return error.getKind();
  }

  /** Whether the same request may succeed later. */
  public boolean retryable() {
    return error.getRetryable();
  }

  /** How long to wait before a retry. Empty where unknown. */
  public Optional<java.time.Duration> retryAfter() {
    return error.hasRetryAfter() ? Optional.of(toJava(error.getRetryAfter())) : Optional.empty();
  }

  /** Whether the model had begun to produce output. A retry then pays for the output again. */
  public boolean outputStarted() {
    return error.getOutputStarted();
  }

  /**
   * Tokens that the call used before it failed, in all steps, as far as the provider reported them.
   */
  public Optional<Usage> usage() {
    return error.hasUsage() ? Optional.of(error.getUsage()) : Optional.empty();
  }

  /** The answer that is not the requested object: its text and the violations. */
  public Optional<NoObject> noObject() {
    return error.hasNoObject() ? Optional.of(error.getNoObject()) : Optional.empty();
  }

  /** The invalid fields of the request. Empty if the request is not the problem. */
  public List<FieldViolation> fieldViolations() {
    return fieldViolations;
  }

  /** The steps of a generation that were complete before it failed. Empty for other failures. */
  public List<StepResult> steps() {
    return generation.getStepsList();
  }

  /**
   * What the steps add to the conversation. A generation whose messages end with them continues
   * from there, and executes none of their tools again.
   */
  public List<Message> messages() {
    return steps().stream().flatMap(step -> Messages.ofStep(step).stream()).toList();
  }

  /**
   * The calls of providers in a generation that failed after a step was complete: as many of the
   * latest as the sidecar could send with the failure.
   */
  public List<Attempt> attempts() {
    return generation.getAttemptsList();
  }

  /**
   * What a generation had done before it failed, as the contract has it. Empty for other failures.
   * For a status of the generated stubs it may have fewer steps than its {@code step_count}.
   */
  public FailedGeneration generation() {
    return generation;
  }

  /** The same exception with these complete steps, unless it has as many. */
  public OutriggerException withSteps(List<StepResult> steps) {
    if (steps.size() <= generation.getStepsCount()) {
      return this;
    }
    FailedGeneration whole =
        generation.toBuilder().clearSteps().addAllSteps(steps).setStepCount(steps.size()).build();
    OutriggerException copy = new Failure(error, fieldViolations, whole, getCause()).toException();
    copy.setStackTrace(getStackTrace());
    return copy;
  }

  /** The error as the contract has it. */
  public InferenceError toProto() {
    return error;
  }

  /**
   * The exception for anything that a call of gRPC ended with. An {@code OutriggerException} is
   * returned as it is. A failure without an {@code InferenceError}, for instance a refused
   * connection or an expired deadline, gets the kind that says the same.
   */
  public static OutriggerException from(Throwable thrown) {
    return from(thrown, false);
  }

  /** Like {@link #from(Throwable)}, for a stream that had already produced output. */
  public static OutriggerException from(Throwable thrown, boolean outputStarted) {
    if (thrown instanceof OutriggerException known) {
      return known;
    }
    com.google.rpc.Status status = StatusProto.fromThrowable(thrown);
    List<Any> details = status == null ? List.of() : status.getDetailsList();
    InferenceError error =
        find(details, InferenceError.getDefaultInstance())
            .orElseGet(() -> ofStatus(Status.fromThrowable(thrown), outputStarted));
    List<FieldViolation> violations =
        find(details, BadRequest.getDefaultInstance()).stream()
            .flatMap(request -> request.getFieldViolationsList().stream())
            .map(violation -> new FieldViolation(violation.getField(), violation.getDescription()))
            .toList();
    FailedGeneration generation =
        find(details, FailedGeneration.getDefaultInstance())
            .orElseGet(FailedGeneration::getDefaultInstance);
    return Failure.exceptionOf(error, violations, generation, thrown);
  }

  /** The exception for an error of the contract, for instance one in an {@code error} event. */
  public static OutriggerException fromProto(InferenceError error) {
    return Failure.exceptionOf(error, List.of(), FailedGeneration.getDefaultInstance(), null);
  }

  /** An exception that this package finds itself. */
  public static OutriggerException of(ErrorKind kind, String message, @Nullable Throwable cause) {
    InferenceError error = errorOf(kind, message, false);
    return Failure.exceptionOf(error, List.of(), FailedGeneration.getDefaultInstance(), cause);
  }

  private static InferenceError ofStatus(Status status, boolean outputStarted) {
    String text = status.getDescription() == null ? "" : ": " + status.getDescription();
    ErrorKind kind =
        isLostConnection(status) ? ErrorKind.ERROR_KIND_NETWORK : kindOf(status.getCode());
    String message =
        status.getCode() == Status.Code.UNIMPLEMENTED
            ? "the sidecar does not have this method, it may be older than this package" + text
            : "the call failed with " + status.getCode() + text;
    return errorOf(kind, message, outputStarted);
  }

  private static InferenceError errorOf(ErrorKind kind, String message, boolean outputStarted) {
    return InferenceError.newBuilder()
        .setKind(kind)
        .setMessage(message)
        .setRetryable(isRetryable(kind))
        .setOutputStarted(outputStarted)
        .build();
  }

  /**
   * The kind of a status without details: one of gRPC itself, of a proxy, or of the sidecar's
   * transport.
   */
  private static ErrorKind kindOf(Status.Code code) {
    return switch (code) {
      case UNAVAILABLE -> ErrorKind.ERROR_KIND_NETWORK;
      case DEADLINE_EXCEEDED -> ErrorKind.ERROR_KIND_REQUEST_TIMEOUT;
      case CANCELLED -> ErrorKind.ERROR_KIND_ABORT;
      case UNAUTHENTICATED -> ErrorKind.ERROR_KIND_AUTHENTICATION;
      case PERMISSION_DENIED -> ErrorKind.ERROR_KIND_ACCESS_DENIED;
      case NOT_FOUND -> ErrorKind.ERROR_KIND_NOT_FOUND;
      // RESOURCE_EXHAUSTED without details is a message over a size limit.
      case INVALID_ARGUMENT, OUT_OF_RANGE, RESOURCE_EXHAUSTED ->
          ErrorKind.ERROR_KIND_INVALID_REQUEST;
      case FAILED_PRECONDITION, UNIMPLEMENTED -> ErrorKind.ERROR_KIND_CONFIGURATION;
      default -> ErrorKind.ERROR_KIND_INTERNAL;
    };
  }

  /**
   * Whether gRPC found the connection closed but no longer knows why, for which it has no other
   * code than UNKNOWN. A status that was received has no cause.
   */
  private static boolean isLostConnection(Status status) {
    return status.getCode() == Status.Code.UNKNOWN
        && Stream.iterate(status.getCause(), Objects::nonNull, Throwable::getCause)
            .anyMatch(IOException.class::isInstance);
  }

  private static boolean isRetryable(ErrorKind kind) {
    return switch (kind) {
      case ERROR_KIND_NETWORK, ERROR_KIND_REQUEST_TIMEOUT, ERROR_KIND_STREAM -> true;
      default -> false;
    };
  }

  private static <T extends com.google.protobuf.Message> Optional<T> find(
      List<Any> details, T example) {
    for (Any detail : details) {
      if (detail.isSameTypeAs(example)) {
        try {
          return Optional.of(detail.unpackSameTypeAs(example));
        } catch (InvalidProtocolBufferException broken) {
          // The status itself still says what happened.
          return Optional.empty();
        }
      }
    }
    return Optional.empty();
  }

  private static java.time.Duration toJava(Duration duration) {
    return java.time.Duration.ofSeconds(duration.getSeconds(), duration.getNanos());
  }
}
