package com.example;

import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import io.grpc.health.v1.HealthCheckRequest;
import io.grpc.health.v1.HealthCheckResponse.ServingStatus;
import io.grpc.health.v1.HealthGrpc.HealthBlockingStub;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import io.github.outriggerinference.v1.ContentPart;
import io.github.outriggerinference.v1.FinishReason;
import io.github.outriggerinference.v1.FunctionTool;
import io.github.outriggerinference.v1.InferenceServiceGrpc.InferenceServiceBlockingStub;
import io.github.outriggerinference.v1.Message;
import io.github.outriggerinference.v1.Request;
import io.github.outriggerinference.v1.Response;
import io.github.outriggerinference.v1.Role;
import io.github.outriggerinference.v1.StreamEvent;
import io.github.outriggerinference.v1.StreamEvent.EventCase;
import io.github.outriggerinference.v1.TextEnd;
import io.github.outriggerinference.v1.Tool;
import io.github.outriggerinference.v1.ToolCall;
import io.github.outriggerinference.v1.ToolResult;
import io.github.outriggerinference.v1.Usage;

/** Calls that succeed: a whole answer, a streamed one, and a tool's round trip. */
final class Calls {
  /** Every call gets a deadline, in seconds. The sidecar applies it to the provider call. */
  static final int TIMEOUT = 20;

  private final InferenceServiceBlockingStub inference;
  private final HealthBlockingStub health;

  Calls(InferenceServiceBlockingStub inference, HealthBlockingStub health) {
    this.inference = inference;
    this.health = health;
  }

  void checkHealth() {
    for (String service : List.of("", "outrigger.v1.InferenceService")) {
      ServingStatus status =
          health
              .withDeadlineAfter(TIMEOUT, TimeUnit.SECONDS)
              .check(HealthCheckRequest.newBuilder().setService(service).build())
              .getStatus();
      Expect.that(status == ServingStatus.SERVING, "service '%s' is %s", service, status);
    }
  }

  void checkComplete() {
    Response response = complete(ask("sim-text", "Say hello.").build());
    FinishReason.Reason reason = response.getFinishReason().getReason();
    Usage usage = response.getUsage();
    Expect.that(!textOf(response.getMessage()).isEmpty(), "the answer has no text");
    Expect.that(reason == FinishReason.Reason.REASON_STOP, "finish reason %s, want STOP", reason);
    Expect.that(
        usage.getTotalTokens() > 0
            && usage.getTotalTokens() == usage.getInputTokens() + usage.getOutputTokens(),
        "usage does not add up: %s",
        usage);
  }

  void checkStream() {
    List<StreamEvent> events = new ArrayList<>();
    // A call that streams is an iterator; a service would forward each delta as it arrives.
    inference.withDeadlineAfter(TIMEOUT, TimeUnit.SECONDS).stream(
            ask("sim-text", "Say hello.").build())
        .forEachRemaining(events::add);
    checkOrder(events);
    checkText(events);
  }

  /** Checks laws 1 and 2 of a stream; the laws are listed at StreamEvent in the contract. */
  static void checkOrder(List<StreamEvent> events) {
    int last = events.size() - 1;
    Expect.that(last >= 0, "the stream has no events");
    for (int i = 0; i <= last; i++) {
      StreamEvent event = events.get(i);
      Expect.that(event.getSequence() == i, "event %d has sequence %d", i, event.getSequence());
      Expect.that(
          event.hasStreamStart() == (i == 0),
          "event %d is %s; stream_start is first, and only there",
          i,
          event.getEventCase());
      Expect.that(
          event.hasFinish() == (i == last),
          "event %d of %d is %s; finish is last, and only there",
          i,
          last,
          event.getEventCase());
    }
  }

  /**
   * Checks law 4 of a stream: the deltas of a block concatenate to the text in its end and in the
   * final response.
   */
  private static void checkText(List<StreamEvent> events) {
    Message message = events.get(events.size() - 1).getFinish().getResponse().getMessage();
    Map<Integer, String> streamed = new HashMap<>();
    int ends = 0;
    for (StreamEvent event : events) {
      // Callers must skip unknown events, since kinds may be added.
      if (event.getEventCase() == EventCase.TEXT_DELTA) {
        streamed.merge(
            event.getTextDelta().getPartIndex(), event.getTextDelta().getDelta(), String::concat);
      } else if (event.getEventCase() == EventCase.TEXT_END) {
        ends++;
        TextEnd end = event.getTextEnd();
        String deltas = streamed.get(end.getPartIndex());
        String response = message.getContent(end.getPartIndex()).getText();
        Expect.that(
            end.getText().equals(deltas) && end.getText().equals(response),
            "deltas '%s', text_end '%s', final response '%s'",
            deltas,
            end.getText(),
            response);
      }
    }
    Expect.that(
        ends > 0 && ends == streamed.size(),
        "%d parts of text were streamed, %d ended",
        streamed.size(),
        ends);
  }

  void checkToolRoundTrip() {
    String result = "18 degrees and drizzle";
    // JSON is sent as text: a Struct would lose the order of its keys.
    String parameters =
        """
        {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}\
        """;
    FunctionTool weather =
        FunctionTool.newBuilder()
            .setName("get_weather")
            .setDescription("Current weather of a city.")
            .setParametersJson(parameters)
            .build();
    Request.Builder request =
        ask("sim-tools", "How is the weather in Oslo?")
            .addTools(Tool.newBuilder().setFunction(weather));
    Response first = complete(request.build());
    FinishReason.Reason reason = first.getFinishReason().getReason();
    Expect.that(
        reason == FinishReason.Reason.REASON_TOOL_CALLS,
        "finish reason %s, want TOOL_CALLS",
        reason);

    // The assistant's message is sent back unchanged. Its parts may carry provider_state
    // (signatures, encrypted reasoning) that the provider requires.
    request.addMessages(first.getMessage()).addMessages(runTools(first.getMessage(), result));
    String text = textOf(complete(request.build()).getMessage());
    Expect.that(text.contains(result), "the answer '%s' does not quote the tool's result", text);
  }

  /** Executes every tool call of a message; a model may make several at once. */
  private static Message runTools(Message message, String result) {
    Message.Builder answers = Message.newBuilder().setRole(Role.ROLE_TOOL);
    for (ContentPart part : message.getContentList()) {
      if (!part.hasToolCall()) {
        continue;
      }
      ToolCall call = part.getToolCall();
      // The model generates the arguments, which may not be valid JSON; then this throws.
      JsonObject arguments = JsonParser.parseString(call.getArgumentsJson()).getAsJsonObject();
      Expect.that(
          call.getName().equals("get_weather") && !arguments.get("city").getAsString().isEmpty(),
          "unexpected call %s(%s)",
          call.getName(),
          call.getArgumentsJson());
      ToolResult answer =
          ToolResult.newBuilder().setToolCallId(call.getId()).addContent(textPart(result)).build();
      answers.addContent(ContentPart.newBuilder().setToolResult(answer));
    }
    Expect.that(answers.getContentCount() > 0, "the model called no tool");
    return answers.build();
  }

  private Response complete(Request request) {
    return inference.withDeadlineAfter(TIMEOUT, TimeUnit.SECONDS).complete(request);
  }

  static Request.Builder ask(String model, String text) {
    return Request.newBuilder()
        .setModel(model)
        .addMessages(Message.newBuilder().setRole(Role.ROLE_USER).addContent(textPart(text)));
  }

  private static ContentPart textPart(String text) {
    return ContentPart.newBuilder().setText(text).build();
  }

  /** Joins the text parts of a message. A message may have other parts between them. */
  private static String textOf(Message message) {
    return message.getContentList().stream()
        .map(ContentPart::getText)
        .collect(Collectors.joining());
  }
}
