package io.github.outriggerinference;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.github.outriggerinference.errors.InvalidRequestException;
import io.github.outriggerinference.errors.NetworkException;
import io.github.outriggerinference.errors.NotFoundException;
import io.github.outriggerinference.errors.OutriggerException;
import io.github.outriggerinference.v1.Capability;
import io.github.outriggerinference.v1.CountTokensResponse;
import io.github.outriggerinference.v1.CreateRunRequest;
import io.github.outriggerinference.v1.EmbedRequest;
import io.github.outriggerinference.v1.EmbedResponse;
import io.github.outriggerinference.v1.ListRunsRequest;
import io.github.outriggerinference.v1.ModelInfo;
import io.github.outriggerinference.v1.Request;
import io.github.outriggerinference.v1.RetryPolicy;
import io.github.outriggerinference.v1.Run;
import io.github.outriggerinference.v1.RunEvent;
import io.github.outriggerinference.v1.RunServiceGrpc;
import io.github.outriggerinference.v1.RunStatus;
import io.github.outriggerinference.v1.StreamRunRequest;
import io.github.outriggerinference.v1.ToolResult;
import io.grpc.Grpc;
import io.grpc.InsecureServerCredentials;
import io.grpc.Server;
import io.grpc.Status;
import io.grpc.stub.StreamObserver;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIfEnvironmentVariable;

@DisplayName("A run")
class RunsTest {
  private static final Tool WEATHER =
      Tool.passive("get_weather", "Current weather of a city.", Place.class);

  record Place(String city) {}

  /** Loses the connection after each pair of events. */
  private static final class LosingEngine extends RunServiceGrpc.RunServiceImplBase {
    final List<Integer> resumedAfter = new ArrayList<>();
    private final RunStatus last;

    LosingEngine(RunStatus last) {
      this.last = last;
    }

    @Override
    public void createRunStream(CreateRunRequest request, StreamObserver<RunEvent> answers) {
      answers.onNext(change(0, RunStatus.RUN_STATUS_QUEUED));
      answers.onNext(change(1, RunStatus.RUN_STATUS_IN_PROGRESS));
      answers.onError(Status.UNAVAILABLE.asException());
    }

    @Override
    public void streamRun(StreamRunRequest request, StreamObserver<RunEvent> answers) {
      resumedAfter.add(request.getAfterSequence());
      if (resumedAfter.size() == 1) {
        answers.onNext(RunEvent.newBuilder().setSequence(2).build());
        answers.onCompleted();
        return;
      }
      answers.onNext(change(3, last));
      if (last == RunStatus.RUN_STATUS_FAILED) {
        answers.onError(Status.UNAVAILABLE.asException());
      } else {
        answers.onCompleted();
      }
    }

    private static RunEvent change(int sequence, RunStatus status) {
      Run run = Run.newBuilder().setId("run_1").setStatus(status).setBackground(true).build();
      return RunEvent.newBuilder().setSequence(sequence).setRun(run).build();
    }
  }

  @Test
  void inTheBackgroundIsResumedWhenTheConnectionIsLost() throws Exception {
    LosingEngine engine = new LosingEngine(RunStatus.RUN_STATUS_COMPLETED);
    Server server = serve(engine);
    try (OutriggerClient client = OutriggerClient.connect("localhost:" + server.getPort());
        RunStream events =
            client.runs().createStream(o -> o.generate(g -> g.model("m")).background(true))) {
      List<Integer> seen = new ArrayList<>();
      events.forEachRemaining(event -> seen.add(event.getSequence()));
      assertEquals(List.of(0, 1, 2, 3), seen);
      assertEquals(List.of(1, 2), engine.resumedAfter);
    } finally {
      server.shutdownNow();
    }
  }

  @Test
  void thatFailedThrowsAtItsEndAndIsNotResumed() throws Exception {
    LosingEngine engine = new LosingEngine(RunStatus.RUN_STATUS_FAILED);
    Server server = serve(engine);
    try (OutriggerClient client = OutriggerClient.connect("localhost:" + server.getPort());
        RunStream events = client.runs().events("run_1", 1)) {
      List<RunEvent> seen = new ArrayList<>();
      assertThrows(OutriggerException.class, () -> events.forEachRemaining(seen::add));
      assertEquals(2, seen.size());
      assertEquals(List.of(1, 2), engine.resumedAfter);
    } finally {
      server.shutdownNow();
    }
  }

  @Test
  @EnabledIfEnvironmentVariable(named = "OUTRIGGER_ADDRESS", matches = ".+")
  void canBeCancelledAwaitedAndDeleted() {
    try (OutriggerClient client = OutriggerClient.connect()) {
      Run run =
          client
              .runs()
              .create(
                  o ->
                      o.generate(g -> g.model("sim-long:tokens=100000,rate=20").prompt("Hi"))
                          .background(true));
      client.runs().cancel(run.getId());
      Run ended = client.runs().await(run.getId());
      assertEquals(RunStatus.RUN_STATUS_CANCELLED, ended.getStatus());
      client.runs().delete(run.getId());
      assertThrows(NotFoundException.class, () -> client.runs().get(run.getId()));
    }
  }

  @Test
  @EnabledIfEnvironmentVariable(named = "OUTRIGGER_ADDRESS", matches = ".+")
  void thatFailedIsAwaitedAndItsEventsEndWithTheFailure() {
    RetryPolicy none = RetryPolicy.newBuilder().setMaxRetries(0).build();
    try (OutriggerClient client = OutriggerClient.connect()) {
      // The provider closes its connection, so that the failure is one of the network.
      Run run =
          client
              .runs()
              .create(
                  o ->
                      o.generate(
                              g -> g.model("sim-text:drop=1,delay_ms=300").prompt("Hi").retry(none))
                          .background(true));
      assertEquals(RunStatus.RUN_STATUS_FAILED, client.runs().await(run.getId()).getStatus());
      List<RunEvent> seen = new ArrayList<>();
      try (RunStream events = client.runs().events(run.getId())) {
        assertThrows(NetworkException.class, () -> events.forEachRemaining(seen::add));
      }
      assertEquals(RunStatus.RUN_STATUS_FAILED, seen.get(seen.size() - 1).getRun().getStatus());
    }
  }

  @Test
  @EnabledIfEnvironmentVariable(named = "OUTRIGGER_ADDRESS", matches = ".+")
  void thatRequiresActionIsContinuedWithResults() {
    try (OutriggerClient client = OutriggerClient.connect()) {
      Run run =
          client
              .runs()
              .create(
                  o ->
                      o.generate(
                          g -> g.model("sim-tools").prompt("Weather in Oslo?").tools(WEATHER)));
      assertEquals(RunStatus.RUN_STATUS_REQUIRES_ACTION, run.getStatus());
      List<ToolResult> results =
          run.getRequiredResultsList().stream()
              .map(
                  call ->
                      ToolResult.newBuilder()
                          .setToolCallId(call.getId())
                          .addContent(Messages.text("drizzle"))
                          .build())
              .toList();
      Run ended = client.runs().submitToolResults(run.getId(), results);
      assertEquals(RunStatus.RUN_STATUS_COMPLETED, ended.getStatus());
    }
  }

  @Test
  @EnabledIfEnvironmentVariable(named = "OUTRIGGER_ADDRESS", matches = ".+")
  void isListedPageAfterPage() {
    try (OutriggerClient client = OutriggerClient.connect()) {
      Run first = client.runs().create(o -> o.generate(g -> g.model("sim-text").prompt("One")));
      client
          .runs()
          .create(
              o -> o.generate(g -> g.model("sim-text").prompt("Two")).previousRunId(first.getId()));
      ListRunsRequest request =
          ListRunsRequest.newBuilder().setThreadId(first.getThreadId()).setPageSize(1).build();
      List<String> ids = client.runs().list(request).map(Run::getId).toList();
      assertEquals(2, ids.size());
      assertEquals(first.getId(), ids.get(1));
    }
  }

  @Test
  @EnabledIfEnvironmentVariable(named = "OUTRIGGER_ADDRESS", matches = ".+")
  void isCreatedWithoutWaiting() throws Exception {
    try (OutriggerClient client = OutriggerClient.connect()) {
      RunOptions options =
          RunOptions.builder().generate(g -> g.model("sim-text").prompt("Hello")).build();
      Run run = client.runs().createAsync(options).get(30, TimeUnit.SECONDS);
      assertEquals(RunStatus.RUN_STATUS_COMPLETED, run.getStatus());
    }
  }

  @Test
  @EnabledIfEnvironmentVariable(named = "OUTRIGGER_ADDRESS", matches = ".+")
  void embedsTextsAndCountsTokens() {
    try (OutriggerClient client = OutriggerClient.connect()) {
      EmbedRequest request =
          EmbedRequest.newBuilder()
              .setModel("sim-text")
              .addTexts("a")
              .addTexts("b")
              .setDimensions(8)
              .build();
      EmbedResponse embedded = client.embed(request);
      assertEquals(2, embedded.getEmbeddingsCount());
      assertEquals(8, embedded.getEmbeddings(1).getValuesCount());
      CountTokensResponse count =
          client.countTokens(
              Request.newBuilder()
                  .setModel("sim-text")
                  .addMessages(Messages.user("Hello"))
                  .build());
      assertTrue(count.getInputTokens() > 0 && !count.getEstimated());
      EmbedRequest foreign = request.toBuilder().setProvider("anthropic").build();
      assertThrows(InvalidRequestException.class, () -> client.embed(foreign));
    }
  }

  @Test
  @EnabledIfEnvironmentVariable(named = "OUTRIGGER_ADDRESS", matches = ".+")
  void usesModelsThatTheCatalogKnows() {
    try (OutriggerClient client = OutriggerClient.connect()) {
      ModelInfo latest =
          client.getLatestModel("anthropic", Capability.CAPABILITY_TOOLS).orElseThrow();
      assertEquals(latest, client.getModelInfo(latest.getId(), "anthropic").orElseThrow());
      assertTrue(
          client
              .listModels("anthropic", Capability.CAPABILITY_TOOLS)
              .anyMatch(model -> model.equals(latest)));
      assertFalse(client.getModelInfo("no such model", "").isPresent());
    }
  }

  @Test
  @EnabledIfEnvironmentVariable(named = "OUTRIGGER_ADDRESS", matches = ".+")
  void isToldWithTheIdOfItsRequest() {
    List<CallInfo> calls = new ArrayList<>();
    try (OutriggerClient client = OutriggerClient.connect()) {
      OutriggerClient told =
          client.withHeaders(Map.of("X-Request-Id", "mine-1")).onCall(calls::add);
      Request request =
          Request.newBuilder().setModel("sim-echo").addMessages(Messages.user("Hi")).build();
      told.complete(request);
      told.stream(request).response();
      assertThrows(NotFoundException.class, () -> told.runs().get("run_0"));
    }
    assertEquals(List.of("Complete", "Stream", "GetRun"), map(calls, CallInfo::method));
    assertEquals(List.of("OK", "OK", "NOT_FOUND"), map(calls, CallInfo::code));
    assertEquals(List.of("mine-1", "mine-1", "mine-1"), map(calls, CallInfo::requestId));
  }

  private static <T> List<T> map(
      List<CallInfo> calls, java.util.function.Function<CallInfo, T> read) {
    return calls.stream().map(read).toList();
  }

  private static Server serve(LosingEngine engine) throws Exception {
    return Grpc.newServerBuilderForPort(0, InsecureServerCredentials.create())
        .addService(engine)
        .build()
        .start();
  }
}
