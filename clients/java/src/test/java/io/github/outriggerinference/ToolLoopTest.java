package io.github.outriggerinference;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.protobuf.Any;
import com.google.protobuf.Duration;
import io.github.outriggerinference.errors.AbortException;
import io.github.outriggerinference.errors.NetworkException;
import io.github.outriggerinference.errors.ServerException;
import io.github.outriggerinference.errors.StreamException;
import io.github.outriggerinference.v1.Attempt;
import io.github.outriggerinference.v1.ContentPart;
import io.github.outriggerinference.v1.ErrorKind;
import io.github.outriggerinference.v1.ExecuteTool;
import io.github.outriggerinference.v1.FailedGeneration;
import io.github.outriggerinference.v1.GenerateResult;
import io.github.outriggerinference.v1.Image;
import io.github.outriggerinference.v1.InferenceError;
import io.github.outriggerinference.v1.Message;
import io.github.outriggerinference.v1.RejectedOutput;
import io.github.outriggerinference.v1.Response;
import io.github.outriggerinference.v1.RunToolsResponse;
import io.github.outriggerinference.v1.RunToolsStart;
import io.github.outriggerinference.v1.StepFinish;
import io.github.outriggerinference.v1.StepResult;
import io.github.outriggerinference.v1.StreamEvent;
import io.github.outriggerinference.v1.TextDelta;
import io.github.outriggerinference.v1.ToolCall;
import io.github.outriggerinference.v1.ToolOutput;
import io.github.outriggerinference.v1.ToolResult;
import io.grpc.Context;
import io.grpc.Status;
import io.grpc.protobuf.StatusProto;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

@DisplayName("The tool loop")
class ToolLoopTest {
  record City(String city) {}

  record Weather(int degrees, Optional<String> sky) {}

  private static final GenerateResult RESULT =
      GenerateResult.newBuilder()
          .addSteps(step("It is warm."))
          .setResponse(step("It is warm.").getResponse())
          .build();

  private FakeSidecar sidecar;
  private OutriggerClient client;

  @BeforeEach
  void start() throws IOException {
    sidecar = new FakeSidecar();
    client = sidecar.connect();
  }

  @AfterEach
  void stop() throws InterruptedException {
    client.close();
    sidecar.close();
  }

  private static StepResult step(String text) {
    return StepResult.newBuilder()
        .setResponse(Response.newBuilder().setMessage(Messages.assistant(text)))
        .build();
  }

  private static ToolCall call(String id, String name, String argumentsJson) {
    return ToolCall.newBuilder().setId(id).setName(name).setArgumentsJson(argumentsJson).build();
  }

  private static RunToolsResponse execute(ToolCall call) {
    return RunToolsResponse.newBuilder()
        .setStep(1)
        .setExecute(ExecuteTool.newBuilder().setToolCall(call))
        .build();
  }

  private static RunToolsResponse execute(String id, String argumentsJson) {
    return execute(call(id, "get_weather", argumentsJson));
  }

  private static RunToolsResponse stepFinish(StepResult result) {
    return RunToolsResponse.newBuilder()
        .setStep(1)
        .setStepFinish(StepFinish.newBuilder().setResult(result))
        .build();
  }

  private static RunToolsResponse result() {
    return RunToolsResponse.newBuilder().setStep(1).setResult(RESULT).build();
  }

  private static Tool weather(ToolFunction<City> function) {
    return Tool.of("get_weather", "Current weather of a city.", City.class, function);
  }

  private static GenerateOptions with(Tool... tools) {
    return GenerateOptions.builder().model("m").prompt("How is it?").tools(tools).build();
  }

  /** Lets the model make one call, and returns what the client answers. */
  private ToolOutput outputOf(GenerateOptions options, RunToolsResponse execute) {
    CompletableFuture<ToolOutput> output = new CompletableFuture<>();
    sidecar.runTools =
        loop -> {
          loop.receive();
          loop.send(execute);
          output.complete(loop.receive().getOutput());
          loop.send(result());
        };
    assertEquals("It is warm.", client.generate(options).text());
    return output.join();
  }

  private ToolOutput outputOf(Tool tool, String argumentsJson) {
    return outputOf(with(tool), execute(call("c1", tool.name(), argumentsJson)));
  }

  private static String textOf(ToolOutput output) {
    return output.getResult().getContent(0).getText();
  }

  @Test
  void opensWithTheRequestAndTheDefinitionsOfTheTools() {
    CompletableFuture<RunToolsStart> start = new CompletableFuture<>();
    sidecar.runTools =
        loop -> {
          start.complete(loop.receive().getStart());
          loop.send(result());
        };
    Tool search = Tool.hosted("openai", "{\"type\":\"web_search\"}");
    Tool ask = Tool.passive("ask_person", "Asks.", City.class);
    GenerateOptions options =
        GenerateOptions.builder()
            .model("m")
            .system("Be brief.")
            .prompt("Hello")
            .tools(weather(city -> "x"), search, ask)
            .maxToolRounds(3)
            .stopWhen("steps.size() > 2")
            .toolTimeout(java.time.Duration.ofMillis(1500))
            .build();
    client.generate(options);
    RunToolsStart sent = start.join();
    assertEquals(options.toProto(), sent.getOptions());
    assertEquals(3, sent.getOptions().getMaxToolRounds());
    assertEquals("get_weather", sent.getOptions().getRequest().getTools(0).getFunction().getName());
    assertEquals(
        "{\"type\":\"object\",\"properties\":{\"city\":{\"type\":\"string\"}},"
            + "\"required\":[\"city\"],\"additionalProperties\":false}",
        sent.getOptions().getRequest().getTools(0).getFunction().getParametersJson());
    assertEquals(List.of("ask_person"), sent.getPassiveToolsList());
    assertTrue(sent.getOmitEvents());
    assertFalse(sent.getRepairCalls());
  }

  @Test
  void executesTheCallsOfAStepAtTheSameTime() throws Exception {
    CyclicBarrier together = new CyclicBarrier(3);
    Map<String, ToolOutput> outputs = Collections.synchronizedMap(new java.util.HashMap<>());
    sidecar.runTools =
        loop -> {
          loop.receive();
          for (String city : List.of("Oslo", "Rome", "Lima")) {
            loop.send(execute(city, "{\"city\":\"" + city + "\"}"));
          }
          for (int i = 0; i < 3; i++) {
            ToolOutput output = loop.receive().getOutput();
            outputs.put(output.getToolCallId(), output);
          }
          loop.send(result());
        };
    Tool tool =
        weather(
            city -> {
              together.await(10, TimeUnit.SECONDS);
              return "weather of " + city.city();
            });
    client.generate(with(tool));
    for (String city : List.of("Oslo", "Rome", "Lima")) {
      assertEquals("weather of " + city, textOf(outputs.get(city)));
    }
  }

  @Test
  void executesNoMoreCallsAtOnceThanItMay() throws Exception {
    int calls = 20;
    CountDownLatch full = new CountDownLatch(3);
    AtomicInteger running = new AtomicInteger();
    AtomicInteger most = new AtomicInteger();
    sidecar.runTools =
        loop -> {
          loop.receive();
          for (int i = 0; i < calls; i++) {
            loop.send(execute("c" + i, "{\"city\":\"Oslo\"}"));
          }
          for (int i = 0; i < calls; i++) {
            loop.receive();
          }
          loop.send(result());
        };
    Tool tool =
        weather(
            city -> {
              most.accumulateAndGet(running.incrementAndGet(), Math::max);
              full.countDown();
              assertTrue(full.await(10, TimeUnit.SECONDS), "too few calls at once");
              Thread.sleep(5);
              running.decrementAndGet();
              return "x";
            });
    client.generate(
        GenerateOptions.builder().model("m").prompt("?").tools(tool).toolConcurrency(3).build());
    assertEquals(3, most.get());
  }

  @Test
  void sendsAStringAsItIsAndAnythingElseAsJson() {
    assertEquals("18 \"degrees\"", textOf(outputOf(weather(city -> "18 \"degrees\""), ARGUMENTS)));
    assertEquals(
        "{\"degrees\":18}",
        textOf(outputOf(weather(city -> new Weather(18, Optional.empty())), ARGUMENTS)));
    assertEquals("[1,2]", textOf(outputOf(weather(city -> List.of(1, 2)), ARGUMENTS)));
    assertEquals("null", textOf(outputOf(weather(city -> null), ARGUMENTS)));
  }

  private static final String ARGUMENTS = "{\"city\":\"Oslo\"}";

  @Test
  void sendsPartsAndResultsOfTheContractAsTheyAre() {
    ContentPart image =
        ContentPart.newBuilder().setImage(Image.newBuilder().setUrl("https://example.com")).build();
    List<ContentPart> parts = List.of(Messages.text("a map"), image);
    ToolResult failed = ToolResult.newBuilder().addAllContent(parts).setFailed(true).build();
    assertEquals(
        List.of(image), outputOf(weather(city -> image), ARGUMENTS).getResult().getContentList());
    assertEquals(parts, outputOf(weather(city -> parts), ARGUMENTS).getResult().getContentList());
    assertEquals(failed, outputOf(weather(city -> failed), ARGUMENTS).getResult());
  }

  @Test
  void answersWithAFailureWhereTheToolThrows() {
    Tool tool =
        weather(
            city -> {
              throw new IOException("the station is down");
            });
    assertEquals("the station is down", outputOf(tool, ARGUMENTS).getFailure().getMessage());
    Tool overflow =
        weather(
            city -> {
              throw new StackOverflowError();
            });
    assertEquals("StackOverflowError", outputOf(overflow, ARGUMENTS).getFailure().getMessage());
    Tool unwritable = weather(city -> new Thread());
    String message = outputOf(unwritable, ARGUMENTS).getFailure().getMessage();
    assertTrue(message.startsWith("java.lang.Thread cannot be written as JSON"), message);
    Tool talkative =
        weather(
            city -> {
              throw new IOException("x".repeat(4_095) + "\uD83D\uDE00");
            });
    assertEquals("x".repeat(4_095), outputOf(talkative, ARGUMENTS).getFailure().getMessage());
  }

  @Test
  void hidesExceptionsIfTheToolOrTheClientSaysSo() {
    Tool tool =
        weather(
            city -> {
              throw new IOException("10.0.0.7 refused");
            });
    assertEquals("the tool failed", messageOf(tool.hideErrors(true)));
    client.close();
    client = OutriggerClient.builder().address(sidecar.address()).hideToolErrors().connect();
    assertEquals("the tool failed", messageOf(tool));
    assertEquals("10.0.0.7 refused", messageOf(tool.hideErrors(false)));
    String wrong = outputOf(tool, "{}").getFailure().getMessage();
    assertTrue(wrong.startsWith("invalid arguments: "), wrong);
  }

  private String messageOf(Tool tool) {
    return outputOf(tool, ARGUMENTS).getFailure().getMessage();
  }

  @Test
  void tellsTheListenerWhatAToolThrew() {
    IOException down = new IOException("the station is down");
    List<Object> told = Collections.synchronizedList(new ArrayList<>());
    Tool tool =
        weather(
            city -> {
              throw down;
            });
    GenerateOptions options =
        GenerateOptions.builder()
            .model("m")
            .prompt("?")
            .tools(tool)
            .onToolError(
                (call, thrown) -> {
                  told.addAll(List.of(call.getId(), thrown));
                  throw new IllegalStateException("the log is full");
                })
            .build();
    ToolOutput output = outputOf(options, execute("c1", ARGUMENTS));
    assertEquals("the station is down", output.getFailure().getMessage());
    assertEquals(List.of("c1", down), told);
  }

  @Test
  void answersWithAFailureForAToolThatWasNotOffered() {
    ToolOutput output = outputOf(with(weather(city -> "x")), execute(call("c1", "launch", "{}")));
    assertEquals("there is no tool named launch", output.getFailure().getMessage());
    assertEquals("c1", output.getToolCallId());
  }

  @Test
  void answersWithAFailureForArgumentsThatTheRecordRefuses() {
    ToolOutput output = outputOf(weather(city -> "x"), "{\"city\":7}");
    assertEquals(
        "invalid arguments: /city: expected a string, found a number",
        output.getFailure().getMessage());
  }

  @Test
  void answersWithARefusalWhereTheToolRefuses() {
    Tool tool =
        weather(
            city -> {
              throw new ToolRefusalException("the user said no");
            });
    assertEquals("the user said no", outputOf(tool, ARGUMENTS).getRefusal().getReason());
  }

  @Test
  void asksForARepairOfArgumentsThatDoNotMatch() {
    RunToolsResponse problem =
        RunToolsResponse.newBuilder()
            .setExecute(
                ExecuteTool.newBuilder()
                    .setToolCall(
                        call("c1", "get_weather", "{\"city\":").toBuilder()
                            .setArgumentsInvalid(true))
                    .setProblem("unexpected end"))
            .build();
    AtomicInteger executions = new AtomicInteger();
    Tool tool = weather(city -> executions.incrementAndGet());
    GenerateOptions.Builder options = GenerateOptions.builder().model("m").prompt("?").tools(tool);
    ToolOutput repaired =
        outputOf(
            options
                .repairToolCalls((call, why) -> Optional.of("{\"city\":\"" + why + "\"}"))
                .build(),
            problem);
    assertEquals("{\"city\":\"unexpected end\"}", repaired.getRepairedCall().getArgumentsJson());
    assertFalse(repaired.getRepairedCall().getArgumentsInvalid());
    ToolOutput given =
        outputOf(options.repairToolCalls((call, why) -> Optional.empty()).build(), problem);
    assertEquals("invalid arguments: unexpected end", given.getFailure().getMessage());
    assertEquals(0, executions.get());
  }

  @Test
  void tellsTheToolItsCallAndTheConversationBeforeIt() {
    CompletableFuture<ToolContext> first = new CompletableFuture<>();
    CompletableFuture<ToolContext> second = new CompletableFuture<>();
    Tool tool =
        Tool.of(
            "get_weather",
            "",
            City.class,
            (input, context) -> (first.isDone() ? second : first).complete(context));
    StepResult step =
        step("Let me look.").toBuilder().addToolResults(Messages.toolResult("c1", "warm")).build();
    sidecar.runTools =
        loop -> {
          loop.receive();
          RunToolsResponse.Builder execute = execute("c1", ARGUMENTS).toBuilder();
          execute.getExecuteBuilder().setTimeout(Duration.newBuilder().setSeconds(30));
          loop.send(execute.build());
          loop.receive();
          loop.send(stepFinish(step));
          loop.send(execute("c2", ARGUMENTS));
          loop.receive();
          loop.send(result());
        };
    List<Message> history = List.of(Messages.user("Hi"), Messages.assistant("Hello"));
    client.generate(o -> o.model("m").system("Be brief.").messages(history).tools(tool));
    assertEquals("c1", first.join().toolCallId());
    assertEquals(java.time.Duration.ofSeconds(30), first.join().timeout());
    List<Message> before = new ArrayList<>(List.of(Messages.system("Be brief.")));
    before.addAll(history);
    assertEquals(before, first.join().messages());
    before.add(Messages.assistant("Let me look."));
    before.add(Messages.tool(step.getToolResultsList()));
    assertEquals(before, second.join().messages());
  }

  @Test
  void givesAFreeTextToolItsTextOrTheOneArgumentThatStandsForIt() {
    Tool tool = Tool.ofText("shout", "", text -> text.toUpperCase());
    ToolCall text = ToolCall.newBuilder().setId("c1").setName("shout").setText("hey").build();
    assertEquals("HEY", textOf(outputOf(with(tool), execute(text))));
    assertEquals("YOU", textOf(outputOf(tool, "{\"input\":\"you\"}")));
  }

  @Test
  void givesAToolWithASchemaOfItsOwnTheArgumentsAsText() {
    Tool tool = Tool.ofJson("raw", "", "{\"type\":\"object\"}", (json, context) -> json);
    assertEquals("{\"a\": 1}", textOf(outputOf(tool, "{\"a\": 1}")));
  }

  @Test
  void interruptsAToolThatIsTooSlowAndSendsNothingOfIt() throws Exception {
    CountDownLatch returning = new CountDownLatch(1);
    CompletableFuture<Boolean> sent = new CompletableFuture<>();
    sidecar.runTools =
        loop -> {
          loop.receive();
          RunToolsResponse.Builder execute = execute("c1", ARGUMENTS).toBuilder();
          execute.getExecuteBuilder().setTimeout(Duration.newBuilder().setNanos(50_000_000));
          loop.send(execute.build());
          assertTrue(returning.await(10, TimeUnit.SECONDS));
          Thread.sleep(50);
          sent.complete(loop.hasRequest());
          loop.send(result());
        };
    Tool tool =
        weather(
            city -> {
              try {
                new Semaphore(0).acquire();
              } catch (InterruptedException expected) {
                returning.countDown();
              }
              return "too late";
            });
    assertEquals("It is warm.", client.generate(with(tool)).text());
    assertFalse(sent.join(), "the output of an interrupted tool was sent");
  }

  @Test
  void goesOnWhereAnOutputWasRejected() {
    RejectedOutput rejected =
        RejectedOutput.newBuilder().setReason(RejectedOutput.Reason.REASON_TOO_LATE).build();
    sidecar.runTools =
        loop -> {
          loop.receive();
          loop.send(execute("c1", ARGUMENTS));
          loop.receive();
          loop.send(RunToolsResponse.newBuilder().setRejectedOutput(rejected).build());
          loop.send(result());
        };
    assertEquals("It is warm.", client.generate(with(weather(city -> "x"))).text());
  }

  /** A tool that waits until it is interrupted, and the latches that tell of it. */
  private record SlowTool(Tool tool, CountDownLatch started, CountDownLatch interrupted) {
    static SlowTool create() {
      CountDownLatch started = new CountDownLatch(1);
      CountDownLatch interrupted = new CountDownLatch(1);
      return new SlowTool(
          weather(
              city -> {
                Context.current().addListener(ended -> interrupted.countDown(), Runnable::run);
                started.countDown();
                new Semaphore(0).acquire();
                return "never";
              }),
          started,
          interrupted);
    }

    void awaitStart() throws InterruptedException {
      assertTrue(started.await(10, TimeUnit.SECONDS), "the tool did not start");
    }

    void assertInterrupted() throws InterruptedException {
      assertTrue(interrupted.await(10, TimeUnit.SECONDS), "the tool was not cancelled");
    }
  }

  /** Lets the sidecar ask for a tool, and wait for the end of the call. */
  private CountDownLatch askForever() {
    CountDownLatch cancelled = new CountDownLatch(1);
    sidecar.runTools =
        loop -> {
          loop.receive();
          loop.send(execute("c1", ARGUMENTS));
          if (loop.awaitCancel()) {
            cancelled.countDown();
          }
        };
    return cancelled;
  }

  @Test
  void interruptsItsToolsWhenTheFutureIsCancelled() throws Exception {
    SlowTool slow = SlowTool.create();
    CountDownLatch cancelled = askForever();
    CompletableFuture<GenerationResult> future = client.generateAsync(with(slow.tool()));
    slow.awaitStart();
    future.cancel(true);
    slow.assertInterrupted();
    assertTrue(cancelled.await(10, TimeUnit.SECONDS));
  }

  @Test
  void interruptsItsToolsWhenTheStreamIsClosed() throws Exception {
    SlowTool slow = SlowTool.create();
    CountDownLatch cancelled = askForever();
    try (GenerationStream stream = client.streamGenerate(with(slow.tool()))) {
      assertInstanceOf(GenerationEvent.ToolStart.class, stream.next());
      slow.awaitStart();
    }
    slow.assertInterrupted();
    assertTrue(cancelled.await(10, TimeUnit.SECONDS));
  }

  @Test
  void interruptsItsToolsWhenTheCallerIsInterrupted() throws Exception {
    SlowTool slow = SlowTool.create();
    CountDownLatch cancelled = askForever();
    Thread caller =
        new Thread(
            () -> assertThrows(AbortException.class, () -> client.generate(with(slow.tool()))));
    caller.start();
    slow.awaitStart();
    caller.interrupt();
    slow.assertInterrupted();
    assertTrue(cancelled.await(10, TimeUnit.SECONDS));
    caller.join();
  }

  @Test
  void interruptsItsToolsWhenTheCallFails() throws Exception {
    SlowTool slow = SlowTool.create();
    sidecar.runTools =
        loop -> {
          loop.receive();
          loop.send(execute("c1", ARGUMENTS));
          slow.awaitStart();
        };
    assertThrows(StreamException.class, () -> client.generate(with(slow.tool())));
    slow.assertInterrupted();
  }

  @Test
  void hadOutputWhereItFailsAfterATool() {
    sidecar.runTools =
        loop -> {
          loop.receive();
          loop.send(execute("c1", ARGUMENTS));
          loop.receive();
          throw Status.UNAVAILABLE.asException();
        };
    NetworkException thrown =
        assertThrows(NetworkException.class, () -> client.generate(with(weather(city -> "rain"))));
    assertTrue(thrown.outputStarted());
  }

  @Test
  void failsWithAllItsStepsAndTheAttemptsOfTheStatus() {
    InferenceError error = InferenceError.newBuilder().setKind(ErrorKind.ERROR_KIND_SERVER).build();
    // A status has no room for the second step.
    FailedGeneration progress =
        FailedGeneration.newBuilder()
            .addSteps(step("one"))
            .setStepCount(2)
            .addAttempts(Attempt.newBuilder().setStep(3))
            .build();
    sidecar.runTools =
        loop -> {
          loop.receive();
          loop.send(stepFinish(step("one")));
          loop.send(stepFinish(step("two")));
          throw StatusProto.toStatusException(
              com.google.rpc.Status.newBuilder()
                  .setCode(Status.Code.UNAVAILABLE.value())
                  .addDetails(Any.pack(error))
                  .addDetails(Any.pack(progress))
                  .build());
        };
    ServerException thrown =
        assertThrows(ServerException.class, () -> client.generate(with(weather(city -> "rain"))));
    assertEquals(List.of("one", "two"), thrown.messages().stream().map(Messages::textOf).toList());
    assertEquals(progress.getAttemptsList(), thrown.attempts());
    assertEquals(2, thrown.generation().getStepCount());
  }

  @Test
  void streamsTheEventsOfTheModelAndOfTheTools() {
    StreamEvent delta =
        StreamEvent.newBuilder().setTextDelta(TextDelta.newBuilder().setDelta("hm")).build();
    CompletableFuture<Boolean> omitEvents = new CompletableFuture<>();
    sidecar.runTools =
        loop -> {
          omitEvents.complete(loop.receive().getStart().getOmitEvents());
          loop.send(RunToolsResponse.newBuilder().setStep(1).setEvent(delta).build());
          loop.send(execute("c1", ARGUMENTS));
          loop.receive();
          loop.send(stepFinish(step("Let me look.")));
          loop.send(result());
        };
    List<GenerationEvent> events = new ArrayList<>();
    try (GenerationStream stream = client.streamGenerate(with(weather(city -> "x")))) {
      stream.forEachRemaining(events::add);
      assertEquals("It is warm.", stream.result().text());
    }
    assertEquals(
        List.of(
            new GenerationEvent.Model(1, delta),
            new GenerationEvent.ToolStart(1, call("c1", "get_weather", ARGUMENTS)),
            new GenerationEvent.StepFinish(1, step("Let me look.")),
            new GenerationEvent.Finish(new GenerationResult(RESULT))),
        events);
    assertEquals(Optional.of("hm"), events.get(0).textDelta());
    assertEquals(Optional.empty(), events.get(1).textDelta());
    assertFalse(omitEvents.join());
  }

  @Test
  void answersEveryCallOnceHoweverLongTheToolsTake() throws Exception {
    int calls = 64;
    List<String> answered = new ArrayList<>();
    AtomicInteger executions = new AtomicInteger();
    sidecar.runTools =
        loop -> {
          loop.receive();
          for (int i = 0; i < calls; i++) {
            loop.send(execute("c" + i, "{\"city\":\"" + i + "\"}"));
          }
          for (int i = 0; i < calls; i++) {
            answered.add(loop.receive().getOutput().getToolCallId());
          }
          Thread.sleep(50);
          assertFalse(loop.hasRequest(), "more outputs than calls");
          loop.send(result());
        };
    java.util.Random random = new java.util.Random(5);
    Tool tool =
        weather(
            city -> {
              executions.incrementAndGet();
              Thread.sleep(random.nextInt(10));
              if (random.nextInt(3) == 0) {
                throw new IOException("no luck");
              }
              return city.city();
            });
    client.generateAsync(with(tool)).get(10, TimeUnit.SECONDS);
    assertEquals(calls, executions.get());
    assertEquals(calls, answered.stream().distinct().count());
  }
}
