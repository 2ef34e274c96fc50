package com.example;

import static com.example.Target.finished;
import static com.example.Target.json;
import static com.example.Target.textOf;
import static com.example.Target.user;

import com.fasterxml.jackson.databind.JsonNode;
import com.openai.core.JsonValue;
import com.openai.core.ObjectMappers;
import com.openai.errors.NotFoundException;
import com.openai.models.Reasoning;
import com.openai.models.ReasoningEffort;
import com.openai.models.responses.FunctionTool;
import com.openai.models.responses.Response;
import com.openai.models.responses.ResponseCreateParams;
import com.openai.models.responses.ResponseFunctionToolCall;
import com.openai.models.responses.ResponseIncludable;
import com.openai.models.responses.ResponseInputItem;
import com.openai.models.responses.ResponseStatus;
import com.openai.models.responses.ResponseStreamEvent;
import com.openai.models.responses.ToolChoiceOptions;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** Conversations in which the model calls a function: the three ways to give it the results. */
record Tools(Target target) {
  private static final String QUESTION = "How is the weather in Oslo and Paris?";

  private static final FunctionTool WEATHER =
      FunctionTool.builder()
          .name("get_weather")
          .description("Returns the weather of a city.")
          .parameters(
              FunctionTool.Parameters.builder()
                  .putAdditionalProperty("type", JsonValue.from("object"))
                  .putAdditionalProperty(
                      "properties", JsonValue.from(Map.of("city", Map.of("type", "string"))))
                  .putAdditionalProperty("required", JsonValue.from(List.of("city")))
                  .putAdditionalProperty("additionalProperties", JsonValue.from(false))
                  .build())
          .strict(true)
          .build();

  void addTo(Map<String, Expect.Call> checks) {
    checks.put("tools_previous_response", this::previousResponse);
    checks.put("tools_conversation", this::conversation);
    checks.put("tools_stateless", this::stateless);
    checks.put("tools_stream", this::stream);
  }

  /** The results of the calls of a response, whose arguments must be those that the function takes. */
  private static List<ResponseInputItem> resultsOf(Response response, int calls) throws Exception {
    List<ResponseInputItem> results = new ArrayList<>();
    for (ResponseFunctionToolCall call :
        response.output().stream().flatMap(item -> item.functionCall().stream()).toList()) {
      JsonNode arguments = ObjectMappers.jsonMapper().readTree(call.arguments());
      Expect.that(call.name().equals("get_weather"), "%s", call);
      Expect.that(arguments.size() == 1 && arguments.path("city").isTextual(), "%s", call);
      results.add(
          ResponseInputItem.ofFunctionCallOutput(
              ResponseInputItem.FunctionCallOutput.builder()
                  .callId(call.callId())
                  .output(results.size() + 11 + " degrees")
                  .build()));
    }
    Expect.that(results.size() == calls, "%d calls, want %d", results.size(), calls);
    return results;
  }

  /** The model has read the results. */
  private static void checkAnswer(Response response, String... results) {
    Target.expectStatus(response, ResponseStatus.COMPLETED);
    for (String result : results) {
      Expect.that(textOf(response).contains(result), "%s", textOf(response));
    }
  }

  /** A request without tools has the tools of the previous response. */
  private void previousResponse() throws Exception {
    Response first =
        target.responses().create(target.with("tools:calls=2").input(QUESTION).addTool(WEATHER).build());
    Response second =
        target
            .responses()
            .create(
                target
                    .with("tools:calls=2")
                    .previousResponseId(first.id())
                    .inputOfResponse(resultsOf(first, 2))
                    .build());
    checkAnswer(second, "11 degrees", "12 degrees");
    Expect.that(second.previousResponseId().orElse("").equals(first.id()), "%s", second.previousResponseId());
  }

  private void conversation() throws Exception {
    String id = target.client().conversations().create().id();
    ResponseCreateParams.Builder request = target.with("tools").addTool(WEATHER).conversation(id);
    Response first = target.responses().create(request.input(QUESTION).build());
    Expect.that(json(first).at("/conversation/id").asText().equals(id), "%s", first);
    Response second = target.responses().create(request.inputOfResponse(resultsOf(first, 1)).build());
    checkAnswer(second, "11 degrees");
    List<String> types =
        Conversations.itemsOf(target, id).stream().map(item -> json(item).path("type").asText()).toList();
    Expect.that(
        types.equals(List.of("message", "function_call", "function_call_output", "message")), "items %s", types);
  }

  /** All items are sent back, reasoning included, which the provider verifies. Nothing is stored. */
  private void stateless() throws Exception {
    List<ResponseInputItem> history = new ArrayList<>(List.of(user(QUESTION)));
    Response first = target.responses().create(withReasoning(history));
    Expect.that(first.output().get(0).isReasoning(), "%s", first.output());
    history.addAll(Target.sendBack(first.output()));
    history.addAll(resultsOf(first, 2));
    Response second = finished(target.stream(withReasoning(history)));
    checkAnswer(second, "11 degrees", "12 degrees");
    Expect.failure(NotFoundException.class, () -> target.responses().retrieve(second.id()));
  }

  private ResponseCreateParams withReasoning(List<ResponseInputItem> input) {
    return target
        .with("reasoning:calls=2")
        .addTool(WEATHER)
        .store(false)
        .addInclude(ResponseIncludable.REASONING_ENCRYPTED_CONTENT)
        .reasoning(Reasoning.builder().effort(ReasoningEffort.MEDIUM).summary(Reasoning.Summary.AUTO).build())
        .inputOfResponse(input)
        .build();
  }

  /** The arguments of calls arrive in pieces. */
  private void stream() throws Exception {
    List<ResponseStreamEvent> events =
        target.stream(
            target
                .with("tools:calls=2")
                .input(QUESTION)
                .addTool(WEATHER)
                .toolChoice(ToolChoiceOptions.REQUIRED)
                .build());
    Response response = finished(events);
    resultsOf(response, 2);
    Map<String, String> joined = new HashMap<>();
    events.stream()
        .flatMap(event -> event.functionCallArgumentsDelta().stream())
        .forEach(delta -> joined.merge(delta.itemId(), delta.delta(), String::concat));
    response.output().stream()
        .flatMap(item -> item.functionCall().stream())
        .forEach(
            call -> Expect.that(call.arguments().equals(joined.get(call.id().orElse(""))), "%s", joined));
  }
}
