package io.github.outriggerinference;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.protobuf.Any;
import io.github.outriggerinference.errors.NetworkException;
import io.github.outriggerinference.errors.NotFoundException;
import io.github.outriggerinference.errors.OutriggerException;
import io.github.outriggerinference.v1.ErrorKind;
import io.github.outriggerinference.v1.InferenceError;
import io.github.outriggerinference.v1.Run;
import io.github.outriggerinference.v1.RunEvent;
import io.github.outriggerinference.v1.RunServiceGrpc;
import io.github.outriggerinference.v1.RunStatus;
import io.github.outriggerinference.v1.StreamRunRequest;
import io.grpc.Grpc;
import io.grpc.InsecureServerCredentials;
import io.grpc.Server;
import io.grpc.Status;
import io.grpc.protobuf.StatusProto;
import io.grpc.stub.StreamObserver;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.BiConsumer;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;

/** Runs beside the other tests, since it mostly waits. */
@DisplayName("A run whose sidecar goes away")
@Execution(ExecutionMode.CONCURRENT)
class RunOutageTest {
  /** Bounds the time until events go on. Twice the promise, for busy machines. */
  private static final Duration RECONNECTED = Duration.ofSeconds(2);

  /** How long a test waits for something that must happen. */
  private static final int TIMEOUT_SECONDS = 30;

  private static final RunEvent STARTED = change(0, RunStatus.RUN_STATUS_IN_PROGRESS);
  private static final RunEvent ENDED = change(1, RunStatus.RUN_STATUS_COMPLETED);

  /** Answers each call for events as a test says. */
  private static final class Engine extends RunServiceGrpc.RunServiceImplBase {
    final List<Long> calledAt = new ArrayList<>();
    private final BiConsumer<Integer, StreamObserver<RunEvent>> answer;

    /**
     * @param answer gets the number of the call, from 0 on
     */
    Engine(BiConsumer<Integer, StreamObserver<RunEvent>> answer) {
      this.answer = answer;
    }

    @Override
    public void streamRun(StreamRunRequest request, StreamObserver<RunEvent> answers) {
      calledAt.add(System.nanoTime());
      answer.accept(calledAt.size() - 1, answers);
    }
  }

  @Test
  void isFollowedAfterMoreThanAMinuteOfSilence() throws Exception {
    Engine engine =
        new Engine(
            (call, answers) -> {
              answers.onNext(call == 0 ? STARTED : ENDED);
              if (call > 0) {
                answers.onCompleted();
              }
            });
    Server server = serve(engine, 0);
    int port = server.getPort();
    try (OutriggerClient client = OutriggerClient.connect("localhost:" + port);
        RunStream events = client.runs().events("run_1")) {
      assertEquals(0, events.next().getSequence());
      CompletableFuture<Integer> next =
          CompletableFuture.supplyAsync(() -> events.next().getSequence());
      Thread.sleep(61_000);
      server.shutdownNow().awaitTermination();
      Thread.sleep(3_000);
      server = serve(engine, port);
      long returned = System.nanoTime();
      assertEquals(1, next.get(TIMEOUT_SECONDS, TimeUnit.SECONDS));
      assertTrue(System.nanoTime() - returned < RECONNECTED.toNanos());
    } finally {
      server.shutdownNow();
    }
  }

  @Test
  void goesOnWhenASidecarDrainsOrIsBusy() throws Exception {
    List<InferenceError> failures =
        List.of(
            failure(ErrorKind.ERROR_KIND_SERVER).setRetryable(true).build(),
            failure(ErrorKind.ERROR_KIND_RATE_LIMIT)
                .setRetryable(true)
                .setRetryAfter(Durations.toProto(Duration.ofSeconds(1)))
                .build(),
            failure(ErrorKind.ERROR_KIND_NOT_FOUND).build());
    Engine engine = new Engine((call, answers) -> answers.onError(statusOf(failures.get(call))));
    Server server = serve(engine, 0);
    try (OutriggerClient client = OutriggerClient.connect("localhost:" + server.getPort());
        RunStream events = client.runs().events("run_1")) {
      assertThrows(NotFoundException.class, events::hasNext);
      assertEquals(3, engine.calledAt.size());
      long waited = engine.calledAt.get(2) - engine.calledAt.get(1);
      assertTrue(waited >= Duration.ofSeconds(1).toNanos(), () -> waited + " ns");
    } finally {
      server.shutdownNow();
    }
  }

  @Test
  void cannotBeFollowedIfThereIsNoSidecar() throws Exception {
    Server server = serve(new Engine((call, answers) -> {}), 0);
    int port = server.getPort();
    server.shutdownNow().awaitTermination();
    try (OutriggerClient client = OutriggerClient.connect("localhost:" + port);
        RunStream events = client.runs().events("run_1")) {
      NetworkException thrown = assertThrows(NetworkException.class, events::hasNext);
      assertTrue(thrown.getMessage().contains("is the sidecar running at"), thrown::getMessage);
    }
  }

  @Test
  void canBeClosedWhileTheSidecarIsAway() throws Exception {
    InferenceError lost =
        failure(ErrorKind.ERROR_KIND_NETWORK)
            .setRetryable(true)
            .setRetryAfter(Durations.toProto(Duration.ofHours(1)))
            .build();
    Server server = serve(new Engine((call, answers) -> answers.onError(statusOf(lost))), 0);
    try (OutriggerClient client = OutriggerClient.connect("localhost:" + server.getPort());
        RunStream events = client.runs().events("run_1")) {
      CompletableFuture<OutriggerException> reading =
          CompletableFuture.supplyAsync(
              () -> assertThrows(OutriggerException.class, events::hasNext));
      Thread.sleep(500);
      events.close();
      reading.get(TIMEOUT_SECONDS, TimeUnit.SECONDS);
    } finally {
      server.shutdownNow();
    }
  }

  private static RunEvent change(int sequence, RunStatus status) {
    Run run = Run.newBuilder().setId("run_1").setStatus(status).setBackground(true).build();
    return RunEvent.newBuilder().setSequence(sequence).setRun(run).build();
  }

  private static InferenceError.Builder failure(ErrorKind kind) {
    return InferenceError.newBuilder().setKind(kind).setMessage("failed");
  }

  private static Exception statusOf(InferenceError error) {
    return StatusProto.toStatusRuntimeException(
        com.google.rpc.Status.newBuilder()
            .setCode(Status.Code.UNAVAILABLE.value())
            .addDetails(Any.pack(error))
            .build());
  }

  private static Server serve(Engine engine, int port) throws Exception {
    return Grpc.newServerBuilderForPort(port, InsecureServerCredentials.create())
        .addService(engine)
        // As the sidecar, it lets clients ping as often as they want.
        .permitKeepAliveTime(1, TimeUnit.SECONDS)
        .build()
        .start();
  }
}
