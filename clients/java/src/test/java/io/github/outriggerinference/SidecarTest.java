package io.github.outriggerinference;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.github.outriggerinference.errors.AbortException;
import io.github.outriggerinference.errors.InvalidRequestException;
import io.github.outriggerinference.errors.NetworkException;
import io.github.outriggerinference.errors.OutriggerException;
import io.github.outriggerinference.errors.RateLimitException;
import io.github.outriggerinference.errors.RequestTimeoutException;
import io.github.outriggerinference.v1.CatalogServiceGrpc;
import io.github.outriggerinference.v1.GenerateResult.StopReason;
import io.github.outriggerinference.v1.GenerationLimits;
import io.github.outriggerinference.v1.ListModelsRequest;
import io.github.outriggerinference.v1.Message;
import io.github.outriggerinference.v1.Request;
import io.github.outriggerinference.v1.Response;
import io.github.outriggerinference.v1.RetryPolicy;
import io.github.outriggerinference.v1.StepResult;
import io.github.outriggerinference.v1.ToolCall;
import io.github.outriggerinference.v1.ToolResult;
import io.grpc.CallOptions;
import io.grpc.Channel;
import io.grpc.ChannelCredentials;
import io.grpc.ClientCall;
import io.grpc.ClientInterceptor;
import io.grpc.MethodDescriptor;
import io.grpc.TlsChannelCredentials;
import java.io.File;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.Flow;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIfEnvironmentVariable;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Calls a real sidecar with the simulator behind it, which `node test/clients/run.ts` starts. */
@DisplayName("The client and a sidecar")
@EnabledIfEnvironmentVariable(named = "OUTRIGGER_ADDRESS", matches = ".+")
class SidecarTest {
  private static final Duration TIMEOUT = Duration.ofSeconds(30);
  private static final String LONG = "sim-long:tokens=1000,rate=20";

  record City(String city) {}

  private static OutriggerClient client;

  @BeforeAll
  static void connect() {
    client = OutriggerClient.connect();
  }

  @AfterAll
  static void close() {
    client.close();
  }

  /** The sidecar asks for certificates: ca.crt, client.crt and client.key in a folder. */
  @Test
  @EnabledIfEnvironmentVariable(named = "OUTRIGGER_TLS_ADDR", matches = ".+")
  void showsItsCertificateWithoutWhichItIsRefused() throws IOException {
    File folder = new File(System.getenv("OUTRIGGER_TLS_FOLDER"));
    TlsChannelCredentials.Builder authority =
        TlsChannelCredentials.newBuilder().trustManager(new File(folder, "ca.crt"));
    try (OutriggerClient nameless = connectWith(authority.build())) {
      assertThrows(NetworkException.class, () -> nameless.complete(ask("sim-text")));
    }
    authority.keyManager(new File(folder, "client.crt"), new File(folder, "client.key"));
    try (OutriggerClient named = connectWith(authority.build())) {
      assertFalse(Messages.textOf(named.complete(ask("sim-text")).getMessage()).isEmpty());
    }
  }

  private static OutriggerClient connectWith(ChannelCredentials credentials) {
    String address = System.getenv("OUTRIGGER_TLS_ADDR");
    return OutriggerClient.builder().address(address).credentials(credentials).connect();
  }

  private static Request ask(String model) {
    return Request.newBuilder().setModel(model).addMessages(Messages.user("Hello?")).build();
  }

  private static GenerateOptions.Builder options(String model, Tool... tools) {
    return GenerateOptions.builder()
        .model(model)
        .prompt("How is the weather in Oslo?")
        .tools(tools)
        .deadline(TIMEOUT);
  }

  private static Tool weather(ToolFunction<City> function) {
    return Tool.of("get_weather", "Current weather of a city.", City.class, function);
  }

  private static List<String> textsOf(List<ToolResult> results) {
    return results.stream().map(result -> result.getContent(0).getText()).toList();
  }

  /** What the model is told where a tool does this. */
  private static ToolResult toldAfter(GenerateOptions.Builder options) {
    GenerationResult result = client.generate(options.build());
    assertFalse(result.text().isEmpty(), "the loop did not go on");
    return result.steps().get(0).getToolResults(0);
  }

  @ParameterizedTest
  @ValueSource(strings = {"openai", "anthropic", "gemini", "compatible"})
  void executeTheCallsOfAStepTogetherAndAnswerThemInOrder(String provider) throws Exception {
    CyclicBarrier together = new CyclicBarrier(3);
    AtomicInteger arrivals = new AtomicInteger();
    Tool tool =
        Tool.of(
            "get_weather",
            "Current weather of a city.",
            City.class,
            (input, context) -> {
              together.await(10, TimeUnit.SECONDS);
              // Later calls answer first.
              Thread.sleep(50L * (3 - arrivals.incrementAndGet()));
              return context.toolCallId();
            });
    GenerationResult result =
        client.generate(options("sim-tools:calls=3", tool).provider(provider).build());
    List<ToolResult> results = result.steps().get(0).getToolResultsList();
    List<String> ids = idsOfCalls(result.steps().get(0));
    assertEquals(3, ids.size());
    assertEquals(ids, results.stream().map(ToolResult::getToolCallId).toList());
    assertEquals(ids, textsOf(results));
    assertEquals(2, result.steps().size());
    assertEquals(StopReason.STOP_REASON_COMPLETED, result.stopReason());
    assertEquals(
        result.steps().stream()
            .mapToInt(step -> step.getResponse().getUsage().getTotalTokens())
            .sum(),
        result.totalUsage().getTotalTokens());
  }

  @Test
  void tellTheModelThatAToolFailed() {
    ToolResult told =
        toldAfter(
            options(
                "sim-tools",
                weather(
                    city -> {
                      throw new IOException("the station is down");
                    })));
    assertTrue(told.getFailed());
    assertTrue(told.getContent(0).getText().contains("the station is down"), told.toString());
  }

  @Test
  void tellTheModelThatAToolRefused() {
    ToolResult told =
        toldAfter(
            options(
                "sim-tools",
                weather(
                    city -> {
                      throw new ToolRefusalException("the user said no");
                    })));
    assertTrue(told.getFailed());
    assertTrue(told.getContent(0).getText().contains("the user said no"), told.toString());
  }

  record Far(String city) {
    Far {
      throw new IllegalArgumentException("no city is far enough");
    }
  }

  @Test
  void tellTheModelThatItsArgumentsAreInvalid() {
    ToolResult told = toldAfter(options("sim-tools", Tool.of("far", "", Far.class, far -> "x")));
    assertTrue(told.getFailed());
    assertTrue(told.getContent(0).getText().contains("no city is far enough"), told.toString());
  }

  @Test
  void interruptAToolThatIsTooSlowAndTellTheModel() throws Exception {
    CountDownLatch interrupted = new CountDownLatch(1);
    Tool slow =
        weather(
            city -> {
              try {
                new Semaphore(0).acquire();
              } catch (InterruptedException expected) {
                interrupted.countDown();
              }
              return "too late";
            });
    ToolResult told = toldAfter(options("sim-tools", slow).toolTimeout(Duration.ofMillis(150)));
    assertTrue(told.getFailed());
    assertFalse(told.getContent(0).getText().contains("too late"), told.toString());
    assertTrue(interrupted.await(10, TimeUnit.SECONDS), "the tool was not interrupted");
  }

  @Test
  void endAGenerationInTheMiddleOfATool() throws Exception {
    CountDownLatch started = new CountDownLatch(1);
    CountDownLatch interrupted = new CountDownLatch(1);
    Tool slow =
        weather(
            city -> {
              started.countDown();
              try {
                new Semaphore(0).acquire();
              } catch (InterruptedException expected) {
                interrupted.countDown();
              }
              return "";
            });
    GenerationStream stream = client.streamGenerate(options("sim-tools", slow).build());
    // The tool starts when its event has arrived, before it is read.
    assertTrue(started.await(10, TimeUnit.SECONDS), "the tool did not start");
    stream.close();
    assertTrue(interrupted.await(10, TimeUnit.SECONDS), "the tool was not interrupted");
    assertThrows(AbortException.class, stream::result);
  }

  @ParameterizedTest
  @CsvSource({
    "0, 0, 1, STOP_REASON_TOOL_CALLS",
    "1, 1, 2, STOP_REASON_MAX_TOOL_ROUNDS",
    "5, 3, 4, STOP_REASON_COMPLETED",
  })
  void executeToolsForAsManyRoundsAsTheyMay(
      int rounds, int executions, int steps, StopReason reason) {
    AtomicInteger executed = new AtomicInteger();
    Tool tool = weather(city -> executed.incrementAndGet());
    GenerationResult result =
        client.generate(options("sim-tools:rounds=3", tool).maxToolRounds(rounds).build());
    assertEquals(executions, executed.get());
    assertEquals(steps, result.steps().size());
    assertEquals(reason, result.stopReason());
    assertEquals(reason != StopReason.STOP_REASON_COMPLETED, !result.toolCalls().isEmpty());
  }

  @Test
  void endAGenerationWhereItsConditionIsTrueOrALimitIsReached() {
    Tool tool = weather(city -> "rain");
    GenerateOptions.Builder endless = options("sim-tools:rounds=9", tool).maxToolRounds(9);
    GenerationResult stopped = client.generate(endless.stopWhen("steps.size() >= 2").build());
    assertEquals(StopReason.STOP_REASON_STOP_WHEN, stopped.stopReason());
    assertEquals(2, stopped.steps().size());
    GenerationLimits limits = GenerationLimits.newBuilder().setMaxSteps(3).build();
    GenerationResult limited = client.generate(endless.stopWhen("").limits(limits).build());
    assertEquals(StopReason.STOP_REASON_MAX_STEPS, limited.stopReason());
    InvalidRequestException invalid =
        assertThrows(
            InvalidRequestException.class,
            () -> client.generate(endless.stopWhen("steps.size() >").build()));
    assertTrue(invalid.getMessage().contains("stop_when"), invalid.getMessage());
  }

  @Test
  void goOnFromTheStepsOfAGenerationThatFailedInALaterOne() {
    AtomicInteger executed = new AtomicInteger();
    Tool tool = weather(city -> executed.incrementAndGet());
    List<Message> history = new ArrayList<>(List.of(Messages.user("How is the weather?")));
    GenerateOptions.Builder options =
        GenerateOptions.builder()
            .model("sim-tools:rounds=3")
            .messages(history)
            .tools(tool)
            .maxToolRounds(9)
            .deadline(TIMEOUT);
    // There is no tenth step, so that the second evaluation fails.
    GenerateOptions failing =
        options.stopWhen("steps.size() == 2 && steps[9].response.id == ''").build();
    InvalidRequestException failure =
        assertThrows(InvalidRequestException.class, () -> client.generate(failing));
    assertEquals(2, failure.steps().size());
    assertEquals(2, failure.attempts().size());
    assertEquals(
        failure.steps().stream()
            .mapToInt(step -> step.getResponse().getUsage().getTotalTokens())
            .sum(),
        failure.usage().orElseThrow().getTotalTokens());
    history.addAll(failure.messages());
    GenerationResult rest = client.generate(options.stopWhen("").messages(history).build());
    assertEquals(2, rest.steps().size());
    assertEquals(3, executed.get());
  }

  @Test
  void returnTheCallOfAPassiveToolAndGoOnFromItsResult() {
    Tool ask = Tool.passive("ask_person", "Asks a person.", City.class);
    AtomicInteger executed = new AtomicInteger();
    Tool tool = weather(city -> executed.incrementAndGet());
    GenerationResult open =
        client.generate(options("sim-tools:calls=2", tool, ask).maxToolRounds(5).build());
    assertEquals(StopReason.STOP_REASON_TOOL_CALLS, open.stopReason());
    assertEquals(List.of("ask_person"), open.openCalls().stream().map(ToolCall::getName).toList());

    List<Message> history = new ArrayList<>(List.of(Messages.user("How is the weather?")));
    history.addAll(open.messages());
    List<ToolResult> rest =
        open.openCalls().stream()
            .map(call -> Messages.toolResult(call.getId(), "a person said: fine"))
            .toList();
    history.add(Messages.tool(rest));
    GenerationResult closed =
        client.generate(
            o -> o.model("sim-tools:calls=2").messages(history).tools(tool, ask).deadline(TIMEOUT));
    assertTrue(closed.text().contains("a person said: fine"), closed.text());
  }

  @ParameterizedTest
  @ValueSource(strings = {"openai", "anthropic", "gemini"})
  void goOnWithAChatThatReasonedAndCalledTools(String provider) {
    List<Message> history = new ArrayList<>();
    for (String question : List.of("How is Oslo?", "And Rome?")) {
      history.add(Messages.user(question));
      GenerationResult result =
          client.generate(
              o ->
                  o.model("sim-reasoning")
                      .provider(provider)
                      .messages(history)
                      .tools(weather(city -> "rain in " + city.city()))
                      .reasoningEffort("high")
                      .deadline(TIMEOUT));
      // The simulator refuses reasoning that does not come back byte for byte.
      history.addAll(result.messages());
      assertEquals(StopReason.STOP_REASON_COMPLETED, result.stopReason());
    }
    assertEquals(8, history.size());
  }

  @Test
  void publishAGenerationWithTools() throws Exception {
    CompletableFuture<List<GenerationEvent>> events = new CompletableFuture<>();
    List<GenerationEvent> seen = new ArrayList<>();
    client
        .generationPublisher(options("sim-tools", weather(city -> "rain")).build())
        .subscribe(
            new Flow.Subscriber<>() {
              private Flow.Subscription subscription;

              @Override
              public void onSubscribe(Flow.Subscription given) {
                subscription = given;
                subscription.request(1);
              }

              @Override
              public void onNext(GenerationEvent event) {
                seen.add(event);
                subscription.request(1);
              }

              @Override
              public void onError(Throwable thrown) {
                events.completeExceptionally(thrown);
              }

              @Override
              public void onComplete() {
                events.complete(seen);
              }
            });
    List<GenerationEvent> all = events.get(30, TimeUnit.SECONDS);
    assertInstanceOf(GenerationEvent.Finish.class, all.get(all.size() - 1));
    GenerationResult result = ((GenerationEvent.Finish) all.get(all.size() - 1)).result();
    String text =
        all.stream().flatMap(event -> event.textDelta().stream()).reduce("", String::concat);
    assertEquals(result.text(), text);
    assertEquals(
        1, all.stream().filter(event -> event instanceof GenerationEvent.ToolStart).count());
    assertEquals(
        2, all.stream().filter(event -> event instanceof GenerationEvent.StepFinish).count());
  }

  @Test
  void runManyLoopsOverOneConnection() throws Exception {
    Tool tool = weather(city -> "rain");
    List<CompletableFuture<GenerationResult>> loops =
        IntStream.range(0, 40)
            .mapToObj(
                i ->
                    client.generateAsync(
                        options("sim-tools:rounds=3,calls=2", tool).maxToolRounds(5).build()))
            .toList();
    for (CompletableFuture<GenerationResult> loop : loops) {
      assertEquals(4, loop.get(60, TimeUnit.SECONDS).steps().size());
    }
  }

  /** What a tool does with a call. */
  private enum Behaviour {
    ANSWER,
    FAIL,
    REFUSE,
    HANG;

    /** Seldom hangs, since the step then takes as long as the time limit. */
    static Behaviour random(Random random) {
      return random.nextInt(12) == 0 ? HANG : values()[random.nextInt(3)];
    }
  }

  @Test
  void answerEveryCallOnceWhateverTheToolsDo() throws Exception {
    Random random = new Random(11);
    Map<String, Behaviour> executed = new ConcurrentHashMap<>();
    AtomicInteger executions = new AtomicInteger();
    Tool tool =
        Tool.of(
            "get_weather",
            "Current weather of a city.",
            City.class,
            (input, context) -> {
              Behaviour behaviour = Behaviour.random(random);
              executions.incrementAndGet();
              executed.put(context.toolCallId(), behaviour);
              Thread.sleep(random.nextInt(30));
              switch (behaviour) {
                case FAIL -> throw new IOException("no luck");
                case REFUSE -> throw new ToolRefusalException("not now");
                case HANG -> new Semaphore(0).acquire();
                default -> {}
              }
              return "answer to " + context.toolCallId();
            });
    GenerateOptions options =
        options("sim-tools:rounds=3,calls=4", tool)
            .maxToolRounds(5)
            .toolTimeout(Duration.ofSeconds(3))
            .build();
    List<CompletableFuture<GenerationResult>> loops =
        IntStream.range(0, 5).mapToObj(i -> client.generateAsync(options)).toList();
    int answers = 0;
    for (CompletableFuture<GenerationResult> loop : loops) {
      List<StepResult> steps = loop.get(60, TimeUnit.SECONDS).steps();
      assertEquals(4, steps.size());
      for (StepResult step : steps) {
        assertEquals(idsOfCalls(step), idsOfResults(step));
        step.getToolResultsList().forEach(result -> assertToldOf(executed, result));
        answers += step.getToolResultsCount();
      }
    }
    assertEquals(5 * 3 * 4, answers);
    assertEquals(answers, executions.get());
    assertEquals(answers, executed.size());
  }

  private static List<String> idsOfCalls(StepResult step) {
    return Messages.toolCallsOf(step.getResponse().getMessage()).stream()
        .map(ToolCall::getId)
        .toList();
  }

  private static List<String> idsOfResults(StepResult step) {
    return step.getToolResultsList().stream().map(ToolResult::getToolCallId).toList();
  }

  private static void assertToldOf(Map<String, Behaviour> executed, ToolResult result) {
    String text = result.getContent(0).getText();
    String expected =
        switch (executed.get(result.getToolCallId())) {
          case ANSWER -> "answer to " + result.getToolCallId();
          case FAIL -> "no luck";
          case REFUSE -> "not now";
          case HANG -> "";
        };
    assertTrue(text.contains(expected), text);
    boolean answered = executed.get(result.getToolCallId()) == Behaviour.ANSWER;
    assertEquals(!answered, result.getFailed(), text);
  }

  @Test
  void repeatACallThatFailedAndListTheAttempts() {
    RetryPolicy soon =
        RetryPolicy.newBuilder()
            .setMaxRetries(2)
            .setBaseDelay(com.google.protobuf.Duration.newBuilder().setNanos(1_000_000))
            .build();
    // The count of failures is that of the exact model string, which must be used once.
    int unused = 1 + new Random().nextInt(200_000);
    String model = "sim-text:status=500,times=2,tokens=" + unused;
    GenerationResult result = client.generate(options(model).retry(soon).build());
    assertEquals(3, result.attempts().size());
    assertTrue(result.attempts().get(0).hasError());
    assertFalse(result.attempts().get(2).hasError());
  }

  @Test
  void failWithTheProvidersErrorInEveryKindOfCall() {
    String model = "sim-text:status=429,retry_after=2";
    Tool tool = weather(city -> "rain");
    List<Runnable> calls =
        List.of(
            () -> client.complete(ask(model), TIMEOUT),
            () -> client.stream(ask(model), TIMEOUT).response(),
            () -> client.generate(options(model).maxRetries(0).build()),
            () -> client.generate(options(model, tool).maxRetries(0).build()),
            () -> client.streamGenerate(options(model, tool).maxRetries(0).build()).result());
    for (Runnable call : calls) {
      RateLimitException thrown = assertThrows(RateLimitException.class, call::run);
      assertTrue(thrown.retryable());
      assertEquals(Optional.of(Duration.ofSeconds(2)), thrown.retryAfter());
      assertEquals("openai", thrown.provider());
      assertEquals(429, thrown.httpStatusCode().orElseThrow());
    }
  }

  @Test
  void neverTakeAStreamThatWasCutForAFinishedOne() {
    for (String model : List.of("sim-text:cut_events=8", "sim-text:end_without_terminal=1")) {
      List<String> texts = new ArrayList<>();
      try (ResponseStream stream = client.stream(ask(model), TIMEOUT)) {
        OutriggerException thrown =
            assertThrows(OutriggerException.class, () -> stream.textDeltas().forEach(texts::add));
        assertFalse(texts.isEmpty());
        assertTrue(thrown.outputStarted());
        assertTrue(thrown.retryable());
      }
    }
  }

  @Test
  void endACallAtItsDeadline() {
    Duration soon = Duration.ofMillis(300);
    assertThrows(RequestTimeoutException.class, () -> client.complete(ask(LONG), soon));
    assertThrows(RequestTimeoutException.class, () -> client.stream(ask(LONG), soon).response());
    assertThrows(
        RequestTimeoutException.class,
        () -> client.generate(options(LONG).totalTimeout(soon).build()));
  }

  @Test
  void nameTheFieldThatIsInvalid() {
    InvalidRequestException thrown =
        assertThrows(
            InvalidRequestException.class,
            () -> client.complete(Request.newBuilder().setModel("sim-text").build(), TIMEOUT));
    assertEquals("messages", thrown.fieldViolations().get(0).field());
  }

  @Test
  void shareTheirConnectionWithTheStubsOfOtherServices() {
    assertTrue(
        CatalogServiceGrpc.newBlockingStub(client.channel())
                .listModels(ListModelsRequest.getDefaultInstance())
                .getModelsCount()
            > 0);
  }

  @Test
  void keepEveryFieldOfARequest() {
    Response response =
        client.complete(
            ask("sim-echo").toBuilder().putAllMetadata(Map.of("k", "v")).build(), TIMEOUT);
    assertEquals("Hello?", Messages.textOf(response.getMessage()));
  }

  @Test
  void giveTheAnswerOfTheProviderAsItWas() {
    Response response =
        client.complete(ask("sim-echo").toBuilder().setIncludeRaw(true).build(), TIMEOUT);
    assertTrue(response.getRawJson().startsWith("{"), response.getRawJson());
  }

  @Test
  void sendImagesAudioAndDocumentsAndReadTheReasoning() {
    Message message =
        Messages.user(
            Messages.text("Look:"),
            Messages.image("image/png", new byte[] {1}),
            Messages.imageUrl("https://example.com/cat.png"),
            Messages.audio("audio/wav", new byte[] {2}),
            Messages.document("application/pdf", "a.pdf", new byte[] {3}));
    Request request =
        Request.newBuilder()
            .setProvider("gemini")
            .setModel("sim-reasoning")
            .setReasoningEffort("high")
            .addMessages(message)
            .build();
    Message answer = client.complete(request, TIMEOUT).getMessage();
    assertFalse(Messages.reasoningOf(answer).isEmpty());
    assertFalse(Messages.textOf(answer).isEmpty());
  }

  @Test
  void useTheSettingsOfTheBuilder() throws Exception {
    AtomicInteger tools = new AtomicInteger();
    List<String> called = new ArrayList<>();
    ClientInterceptor interceptor =
        new ClientInterceptor() {
          @Override
          public <Q, A> ClientCall<Q, A> interceptCall(
              MethodDescriptor<Q, A> method, CallOptions options, Channel next) {
            called.add(method.getBareMethodName());
            return next.newCall(method, options);
          }
        };
    try (OutriggerClient configured =
        OutriggerClient.builder()
            .keepAlive(Duration.ofMinutes(1))
            .toolExecutor(
                work -> {
                  tools.incrementAndGet();
                  new Thread(work).start();
                })
            .configureChannel(channel -> channel.intercept(interceptor))
            .connect()) {
      GenerationResult result =
          configured.generate(options("sim-tools", weather(city -> "rain")).build());
      assertEquals(StopReason.STOP_REASON_COMPLETED, result.stopReason());
      assertEquals(List.of(), result.warnings());
      assertEquals(2, Messages.ofStep(result.steps().get(0)).size());
    }
    assertEquals(1, tools.get());
    assertEquals(List.of("RunTools"), called);
  }
}
