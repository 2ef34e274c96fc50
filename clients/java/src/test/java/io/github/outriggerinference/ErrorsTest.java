package io.github.outriggerinference;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.protobuf.Any;
import com.google.protobuf.Duration;
import com.google.rpc.BadRequest;
import io.github.outriggerinference.errors.AuthenticationException;
import io.github.outriggerinference.errors.FieldViolation;
import io.github.outriggerinference.errors.NoObjectGeneratedException;
import io.github.outriggerinference.errors.OutriggerException;
import io.github.outriggerinference.errors.ProviderException;
import io.github.outriggerinference.errors.RateLimitException;
import io.github.outriggerinference.v1.ErrorKind;
import io.github.outriggerinference.v1.InferenceError;
import io.github.outriggerinference.v1.NoObject;
import io.github.outriggerinference.v1.ProviderFailure;
import io.github.outriggerinference.v1.Request;
import io.github.outriggerinference.v1.StepResult;
import io.github.outriggerinference.v1.Usage;
import io.grpc.Status;
import io.grpc.protobuf.StatusProto;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.ObjectInputStream;
import java.io.ObjectOutputStream;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

@DisplayName("The exception of a failed call")
class ErrorsTest {
  @Test
  void tellsAnAccessKeyFromTheKeyOfAProvider() {
    InferenceError.Builder refused =
        InferenceError.newBuilder().setKind(ErrorKind.ERROR_KIND_AUTHENTICATION);
    AuthenticationException ofCaller =
        assertInstanceOf(
            AuthenticationException.class, OutriggerException.fromProto(refused.build()));
    assertTrue(ofCaller.isAccessKey());
    refused.getProviderFailureBuilder().setProvider("openai");
    AuthenticationException ofProvider =
        assertInstanceOf(
            AuthenticationException.class, OutriggerException.fromProto(refused.build()));
    assertFalse(ofProvider.isAccessKey());
    assertEquals("openai", ofProvider.provider());
  }

  private static final Request REQUEST = Request.newBuilder().setModel("m").build();

  private static final InferenceError RATE_LIMIT =
      InferenceError.newBuilder()
          .setKind(ErrorKind.ERROR_KIND_RATE_LIMIT)
          .setMessage("too many requests")
          .setRetryable(true)
          .setRetryAfter(Duration.newBuilder().setSeconds(2).setNanos(500_000_000))
          .setOutputStarted(true)
          .setUsage(Usage.newBuilder().setInputTokens(7))
          .setProviderFailure(
              ProviderFailure.newBuilder()
                  .setProvider("openai")
                  .setHttpStatusCode(429)
                  .setErrorCode("slow_down")
                  .setRequestId("req_1"))
          .setCause(
              InferenceError.newBuilder()
                  .setKind(ErrorKind.ERROR_KIND_NETWORK)
                  .setMessage("connection reset"))
          .build();

  private static com.google.rpc.Status statusOf(Status.Code code, Any... details) {
    return com.google.rpc.Status.newBuilder()
        .setCode(code.value())
        .setMessage("failed")
        .addAllDetails(List.of(details))
        .build();
  }

  /** What a call throws that ends with this status. */
  private static OutriggerException failureOf(com.google.rpc.Status status) throws Exception {
    try (FakeSidecar sidecar = new FakeSidecar();
        OutriggerClient client = sidecar.connect()) {
      sidecar.complete =
          conversation -> {
            throw StatusProto.toStatusException(status);
          };
      return assertThrows(OutriggerException.class, () -> client.complete(REQUEST));
    }
  }

  @ParameterizedTest
  @EnumSource(
      value = ErrorKind.class,
      mode = EnumSource.Mode.EXCLUDE,
      names = {"ERROR_KIND_UNSPECIFIED", "UNRECOGNIZED"})
  void hasAClassOfItsOwnForEveryKind(ErrorKind kind) {
    OutriggerException exception =
        OutriggerException.fromProto(InferenceError.newBuilder().setKind(kind).build());
    assertEquals(kind, exception.kind());
    assertEquals(
        kind.name().replace("ERROR_KIND_", "").replace("_", "").toLowerCase() + "exception",
        exception.getClass().getSimpleName().toLowerCase());
    if (kind.getNumber() < 200) {
      assertInstanceOf(ProviderException.class, exception);
    }
  }

  @Test
  void isOfTheRangeOfItsNumberWhereTheKindIsNew() {
    OutriggerException provider =
        OutriggerException.fromProto(InferenceError.newBuilder().setKindValue(177).build());
    OutriggerException own =
        OutriggerException.fromProto(InferenceError.newBuilder().setKindValue(277).build());
    assertSame(ProviderException.class, provider.getClass());
    assertSame(OutriggerException.class, own.getClass());
    assertEquals(ErrorKind.UNRECOGNIZED, own.kind());
  }

  @Test
  void carriesEverythingThatTheDetailsSay() throws Exception {
    RateLimitException thrown =
        assertInstanceOf(
            RateLimitException.class,
            failureOf(statusOf(Status.Code.RESOURCE_EXHAUSTED, Any.pack(RATE_LIMIT))));
    assertEquals("too many requests", thrown.getMessage());
    assertTrue(thrown.retryable());
    assertEquals(Optional.of(java.time.Duration.ofMillis(2500)), thrown.retryAfter());
    assertTrue(thrown.outputStarted());
    assertEquals(7, thrown.usage().orElseThrow().getInputTokens());
    assertEquals("openai", thrown.provider());
    assertEquals(OptionalInt.of(429), thrown.httpStatusCode());
    assertEquals("slow_down", thrown.errorCode());
    assertEquals("req_1", thrown.requestId());
    assertEquals(RATE_LIMIT, thrown.toProto());
    OutriggerException cause = assertInstanceOf(OutriggerException.class, thrown.getCause());
    assertEquals(ErrorKind.ERROR_KIND_NETWORK, cause.kind());
    assertEquals("connection reset", cause.getMessage());
    assertEquals(Status.Code.RESOURCE_EXHAUSTED, Status.fromThrowable(cause.getCause()).getCode());
  }

  @Test
  void namesTheInvalidFieldsOfTheRequest() throws Exception {
    InferenceError invalid =
        InferenceError.newBuilder().setKind(ErrorKind.ERROR_KIND_INVALID_REQUEST).build();
    BadRequest fields =
        BadRequest.newBuilder()
            .addFieldViolations(
                BadRequest.FieldViolation.newBuilder()
                    .setField("messages")
                    .setDescription("expected at least one"))
            .build();
    OutriggerException thrown =
        failureOf(statusOf(Status.Code.INVALID_ARGUMENT, Any.pack(invalid), Any.pack(fields)));
    assertEquals(
        List.of(new FieldViolation("messages", "expected at least one")), thrown.fieldViolations());
    assertFalse(thrown.retryable());
    assertEquals(Optional.empty(), thrown.retryAfter());
  }

  @Test
  void hasTheAnswerThatIsNoObject() throws Exception {
    InferenceError error =
        InferenceError.newBuilder()
            .setKind(ErrorKind.ERROR_KIND_NO_OBJECT_GENERATED)
            .setNoObject(NoObject.newBuilder().setText("{}").addViolations("/name: missing"))
            .build();
    NoObjectGeneratedException thrown =
        assertInstanceOf(
            NoObjectGeneratedException.class,
            failureOf(statusOf(Status.Code.ABORTED, Any.pack(error))));
    assertEquals("{}", thrown.noObject().orElseThrow().getText());
    assertEquals(List.of("/name: missing"), thrown.noObject().orElseThrow().getViolationsList());
  }

  @ParameterizedTest
  @CsvSource({
    "UNAVAILABLE, NETWORK, true",
    "DEADLINE_EXCEEDED, REQUEST_TIMEOUT, true",
    "CANCELLED, ABORT, false",
    "UNAUTHENTICATED, AUTHENTICATION, false",
    "PERMISSION_DENIED, ACCESS_DENIED, false",
    "NOT_FOUND, NOT_FOUND, false",
    "INVALID_ARGUMENT, INVALID_REQUEST, false",
    "RESOURCE_EXHAUSTED, INVALID_REQUEST, false",
    "UNIMPLEMENTED, CONFIGURATION, false",
    "INTERNAL, INTERNAL, false",
    "UNKNOWN, INTERNAL, false",
  })
  void isOfTheKindThatAStatusWithoutDetailsMeans(Status.Code code, String kind, boolean retryable)
      throws Exception {
    OutriggerException thrown = failureOf(statusOf(code));
    assertEquals(ErrorKind.valueOf("ERROR_KIND_" + kind), thrown.kind());
    assertEquals(retryable, thrown.retryable());
    assertTrue(thrown.getMessage().contains("failed"), thrown.getMessage());
  }

  @Test
  void isThatOfTheStatusWhereTheDetailsCannotBeRead() throws Exception {
    Any broken =
        Any.pack(RATE_LIMIT).toBuilder()
            .setValue(com.google.protobuf.ByteString.copyFrom(new byte[] {-1, -1}))
            .build();
    OutriggerException thrown = failureOf(statusOf(Status.Code.UNAVAILABLE, broken));
    assertEquals(ErrorKind.ERROR_KIND_NETWORK, thrown.kind());
  }

  @Test
  void leavesOutCausesThatAreNestedTooDeep() {
    InferenceError error = RATE_LIMIT;
    for (int i = 0; i < 50; i++) {
      error = error.toBuilder().setCause(error).build();
    }
    int causes = 0;
    for (Throwable at = OutriggerException.fromProto(error);
        at.getCause() != null;
        at = at.getCause()) {
      causes++;
    }
    assertEquals(16, causes);
  }

  @Test
  void survivesSerialization() throws Exception {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    List<StepResult> steps = List.of(StepResult.getDefaultInstance());
    try (ObjectOutputStream out = new ObjectOutputStream(bytes)) {
      out.writeObject(OutriggerException.fromProto(RATE_LIMIT).withSteps(steps));
    }
    try (ObjectInputStream in =
        new ObjectInputStream(new ByteArrayInputStream(bytes.toByteArray()))) {
      RateLimitException read = assertInstanceOf(RateLimitException.class, in.readObject());
      assertEquals(RATE_LIMIT, read.toProto());
      assertEquals(steps, read.steps());
    }
  }
}
