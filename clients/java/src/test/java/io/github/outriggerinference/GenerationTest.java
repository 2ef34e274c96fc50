package io.github.outriggerinference;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.github.outriggerinference.errors.NoObjectGeneratedException;
import io.github.outriggerinference.errors.StreamException;
import io.github.outriggerinference.v1.ContentPart;
import io.github.outriggerinference.v1.FinishReason;
import io.github.outriggerinference.v1.GenerateObjectRequest;
import io.github.outriggerinference.v1.GenerateObjectResponse;
import io.github.outriggerinference.v1.GenerateRequest;
import io.github.outriggerinference.v1.GenerateResponse;
import io.github.outriggerinference.v1.GenerateResult;
import io.github.outriggerinference.v1.GenerationOptions;
import io.github.outriggerinference.v1.Message;
import io.github.outriggerinference.v1.ObjectFormat;
import io.github.outriggerinference.v1.PartialObject;
import io.github.outriggerinference.v1.Reasoning;
import io.github.outriggerinference.v1.Request;
import io.github.outriggerinference.v1.Response;
import io.github.outriggerinference.v1.StepFinish;
import io.github.outriggerinference.v1.StepResult;
import io.github.outriggerinference.v1.StreamEvent;
import io.github.outriggerinference.v1.StreamGenerateResponse;
import io.github.outriggerinference.v1.StreamObjectResponse;
import io.github.outriggerinference.v1.TextDelta;
import io.github.outriggerinference.v1.ToolCall;
import io.github.outriggerinference.v1.ToolResult;
import io.github.outriggerinference.v1.Usage;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

@DisplayName("A generation without tools to execute")
class GenerationTest {
  record Person(String name, int age) {
    Person {
      if (age > 150) {
        throw new IllegalArgumentException("nobody is that old");
      }
    }
  }

  private static final ToolCall CALL =
      ToolCall.newBuilder().setId("c1").setName("look").setArgumentsJson("{}").build();
  private static final ToolResult TOOL_RESULT = Messages.toolResult("c1", "warm");
  private static final Message QUESTION =
      Message.newBuilder().addContent(ContentPart.newBuilder().setToolCall(CALL)).build();
  private static final Message ANSWER =
      Message.newBuilder()
          .addContent(ContentPart.newBuilder().setReasoning(Reasoning.newBuilder().setText("hm")))
          .addContent(Messages.text("It is "))
          .addContent(Messages.text("warm."))
          .build();
  private static final Response RESPONSE =
      Response.newBuilder()
          .setMessage(ANSWER)
          .setFinishReason(FinishReason.newBuilder().setReason(FinishReason.Reason.REASON_STOP))
          .setUsage(Usage.newBuilder().setTotalTokens(5))
          .build();
  private static final StepResult FIRST_STEP =
      StepResult.newBuilder()
          .setResponse(Response.newBuilder().setMessage(QUESTION))
          .addToolResults(TOOL_RESULT)
          .build();
  private static final GenerateResult RESULT =
      GenerateResult.newBuilder()
          .addSteps(FIRST_STEP)
          .addSteps(StepResult.newBuilder().setResponse(RESPONSE))
          .setResponse(RESPONSE)
          .setTotalUsage(Usage.newBuilder().setTotalTokens(12))
          .setStopReason(GenerateResult.StopReason.STOP_REASON_COMPLETED)
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

  @Test
  void givesAccessToEverythingInTheResult() {
    GenerationResult result = new GenerationResult(RESULT);
    assertEquals("It is warm.", result.text());
    assertEquals("hm", result.reasoning());
    assertEquals(List.of(), result.toolCalls());
    assertEquals(List.of(), result.toolResults());
    assertEquals(FinishReason.Reason.REASON_STOP, result.finishReason().getReason());
    assertEquals(GenerateResult.StopReason.STOP_REASON_COMPLETED, result.stopReason());
    assertEquals(5, result.usage().getTotalTokens());
    assertEquals(12, result.totalUsage().getTotalTokens());
    assertEquals(List.of(QUESTION, Messages.tool(List.of(TOOL_RESULT)), ANSWER), result.messages());
    GenerationResult open =
        new GenerationResult(GenerateResult.newBuilder().addSteps(FIRST_STEP).build());
    assertEquals(List.of(CALL), open.toolCalls());
    assertEquals(List.of(TOOL_RESULT), open.toolResults());
    assertEquals(List.of(), open.openCalls());
    StepResult unanswered = FIRST_STEP.toBuilder().clearToolResults().build();
    assertEquals(
        List.of(CALL),
        new GenerationResult(GenerateResult.newBuilder().addSteps(unanswered).build()).openCalls());
  }

  @Test
  void hasTheContentOfTheLastStepWhereTheResponseHasNone() {
    Response without = RESPONSE.toBuilder().clearMessage().build();
    GenerationResult result = new GenerationResult(RESULT.toBuilder().setResponse(without).build());
    assertEquals("It is warm.", result.text());
  }

  @Test
  void sendsEveryOption() throws Exception {
    CompletableFuture<GenerateRequest> received = new CompletableFuture<>();
    sidecar.generate =
        call -> {
          received.complete(call.receive());
          call.send(GenerateResponse.newBuilder().setResult(RESULT).build());
        };
    GenerationResult result =
        client.generate(
            o ->
                o.model("m")
                    .provider("openai")
                    .prompt("Hello")
                    .system("Be brief.")
                    .tools(Tool.passive("ask", "Asks.", Person.class))
                    .maxRetries(0)
                    .totalTimeout(Duration.ofSeconds(9))
                    .stepTimeout(Duration.ofMillis(1500))
                    .temperature(0.5)
                    .topP(0.9)
                    .maxTokens(100)
                    .stopSequences("END")
                    .reasoningEffort("low")
                    .providerOptions("openai", "{\"a\":1}")
                    .request(request -> request.putMetadata("k", "v")));
    assertEquals(RESULT, result.toProto());
    GenerationOptions options = received.get(10, TimeUnit.SECONDS).getOptions();
    Request request = options.getRequest();
    assertEquals("Hello", options.getPrompt());
    assertEquals("Be brief.", options.getSystem());
    assertFalse(options.hasMaxToolRounds());
    assertTrue(options.getRetry().hasMaxRetries());
    assertEquals(0, options.getRetry().getMaxRetries());
    assertEquals(9, options.getTimeouts().getTotal().getSeconds());
    assertEquals(500_000_000, options.getTimeouts().getPerStep().getNanos());
    assertFalse(options.getTimeouts().hasPerTool());
    assertEquals("m", request.getModel());
    assertEquals("openai", request.getProvider());
    assertEquals("ask", request.getTools(0).getFunction().getName());
    assertEquals(0.5, request.getTemperature());
    assertEquals(0.9, request.getTopP());
    assertEquals(100, request.getMaxTokens());
    assertEquals(List.of("END"), request.getStopSequencesList());
    assertEquals("low", request.getReasoningEffort());
    assertEquals("{\"a\":1}", request.getProviderOptionsJsonOrThrow("openai"));
    assertEquals("v", request.getMetadataOrThrow("k"));
  }

  @Test
  void completesAFutureAndIsCancelledWithIt() throws Exception {
    sidecar.generate = call -> call.send(GenerateResponse.newBuilder().setResult(RESULT).build());
    GenerateOptions options = GenerateOptions.builder().model("m").prompt("?").build();
    assertEquals("It is warm.", client.generateAsync(options).get(10, TimeUnit.SECONDS).text());
    CountDownLatch arrived = new CountDownLatch(1);
    CountDownLatch cancelled = new CountDownLatch(1);
    sidecar.generate =
        call -> {
          arrived.countDown();
          if (call.awaitCancel()) {
            cancelled.countDown();
          }
        };
    CompletableFuture<GenerationResult> future = client.generateAsync(options);
    assertTrue(arrived.await(10, TimeUnit.SECONDS));
    future.cancel(true);
    assertTrue(cancelled.await(10, TimeUnit.SECONDS));
  }

  @Test
  void streamsItsEventsAndFailsWhereTheResultIsMissing() {
    StreamEvent delta =
        StreamEvent.newBuilder().setTextDelta(TextDelta.newBuilder().setDelta("x")).build();
    sidecar.streamGenerate =
        call -> {
          boolean isWhole = call.receive().getOptions().getPrompt().equals("whole");
          call.send(StreamGenerateResponse.newBuilder().setStep(1).setEvent(delta).build());
          call.send(
              StreamGenerateResponse.newBuilder()
                  .setStep(1)
                  .setStepFinish(StepFinish.newBuilder().setResult(FIRST_STEP))
                  .build());
          if (isWhole) {
            call.send(StreamGenerateResponse.newBuilder().setResult(RESULT).build());
          }
        };
    List<GenerationEvent> expected =
        List.of(
            new GenerationEvent.Model(1, delta),
            new GenerationEvent.StepFinish(1, FIRST_STEP),
            new GenerationEvent.Finish(new GenerationResult(RESULT)));
    List<GenerationEvent> events = new ArrayList<>();
    try (GenerationStream stream = client.streamGenerate(o -> o.model("m").prompt("whole"))) {
      stream.forEachRemaining(events::add);
    }
    assertEquals(expected, events);
    try (GenerationStream stream = client.streamGenerate(o -> o.model("m").prompt("cut"))) {
      assertEquals(expected.get(0), stream.next());
      assertThrows(StreamException.class, stream::result);
    }
  }

  /** Lets the sidecar give this object, and returns what it was asked for. */
  private CompletableFuture<GenerateObjectRequest> answerObject(String json) {
    CompletableFuture<GenerateObjectRequest> received = new CompletableFuture<>();
    sidecar.generateObject =
        call -> {
          received.complete(call.receive());
          GenerateResult result = RESULT.toBuilder().setOutputJson(json).build();
          call.send(GenerateObjectResponse.newBuilder().setResult(result).build());
        };
    return received;
  }

  @Test
  void givesAnObjectOfTheClass() throws Exception {
    CompletableFuture<GenerateObjectRequest> received =
        answerObject("{\"name\":\"Ann\",\"age\":30}");
    ObjectResult<Person> result =
        client.generateObject(
            Person.class,
            o -> o.model("m").prompt("?").objectStrategy(ObjectFormat.Strategy.STRATEGY_TOOL));
    assertEquals(new Person("Ann", 30), result.object());
    assertEquals(12, result.generation().totalUsage().getTotalTokens());
    ObjectFormat format = received.get(10, TimeUnit.SECONDS).getObject();
    assertEquals("Person", format.getName());
    assertEquals(ObjectFormat.Strategy.STRATEGY_TOOL, format.getStrategy());
    assertEquals(JsonTypes.of(Person.class).schema().toString(), format.getSchemaJson());
    GenerateOptions options = GenerateOptions.builder().model("m").prompt("?").build();
    assertEquals(
        new Person("Ann", 30),
        client.generateObjectAsync(Person.class, options).get(10, TimeUnit.SECONDS).object());
  }

  @Test
  void failsWhereTheRecordRefusesAnObjectThatMatchesTheSchema() {
    answerObject("{\"name\":\"Ann\",\"age\":900}");
    NoObjectGeneratedException thrown =
        assertThrows(
            NoObjectGeneratedException.class,
            () -> client.generateObject(Person.class, o -> o.model("m").prompt("?")));
    assertEquals("the answer is not a valid Person: the value: nobody is that old", thrown.getMessage());
    assertEquals("{\"name\":\"Ann\",\"age\":900}", thrown.noObject().orElseThrow().getText());
    assertEquals(12, thrown.usage().orElseThrow().getTotalTokens());
    GenerateOptions options = GenerateOptions.builder().model("m").prompt("?").build();
    ExecutionException failed =
        assertThrows(
            ExecutionException.class,
            () -> client.generateObjectAsync(Person.class, options).get(10, TimeUnit.SECONDS));
    assertInstanceOf(NoObjectGeneratedException.class, failed.getCause());
  }

  @Test
  void streamsAnObjectWhileItGrows() {
    sidecar.streamObject =
        call -> {
          int age = call.receive().getOptions().getPrompt().length();
          for (String json : List.of("{\"name\":\"A\"}", "{\"name\":\"Ann\"}")) {
            call.send(
                StreamObjectResponse.newBuilder()
                    .setPartialObject(PartialObject.newBuilder().setObjectJson(json))
                    .build());
          }
          String json = "{\"name\":\"Ann\",\"age\":" + age + "}";
          call.send(
              StreamObjectResponse.newBuilder()
                  .setResult(RESULT.toBuilder().setOutputJson(json))
                  .build());
        };
    List<String> partials = new ArrayList<>();
    try (ObjectStream<Person> stream =
        client.streamObject(Person.class, o -> o.model("m").prompt("four"))) {
      for (ObjectEvent<Person> event : stream) {
        if (event instanceof ObjectEvent.Partial<Person> partial) {
          partials.add(partial.json());
        }
      }
      assertEquals(new Person("Ann", 4), stream.result().object());
    }
    assertEquals(List.of("{\"name\":\"A\"}", "{\"name\":\"Ann\"}"), partials);
    String long151 = "x".repeat(151);
    try (ObjectStream<Person> stream =
        client.streamObject(Person.class, o -> o.model("m").prompt(long151))) {
      assertThrows(NoObjectGeneratedException.class, stream::result);
    }
  }
}
