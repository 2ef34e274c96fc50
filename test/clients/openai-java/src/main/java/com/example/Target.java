package com.example;

import com.fasterxml.jackson.databind.JsonNode;
import com.openai.client.OpenAIClient;
import com.openai.core.ObjectMappers;
import com.openai.core.http.StreamResponse;
import com.openai.helpers.ResponseAccumulator;
import com.openai.models.responses.EasyInputMessage;
import com.openai.models.responses.Response;
import com.openai.models.responses.ResponseCreateParams;
import com.openai.models.responses.ResponseInputItem;
import com.openai.models.responses.ResponseOutputItem;
import com.openai.models.responses.ResponseStatus;
import com.openai.models.responses.ResponseStreamEvent;
import com.openai.services.blocking.ResponseService;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;

/**
 * A provider behind the sidecar, and what checks have in common.
 *
 * @param number Position in the list of providers.
 */
record Target(OpenAIClient client, String provider, int number) {
  static String baseUrl() {
    return "http://" + System.getenv("OUTRIGGER_ADDR") + "/v1";
  }

  ResponseService responses() {
    return client.responses();
  }

  /** Parameters with the full name of a model of the provider's simulator, such as anthropic/sim-tools:calls=2. */
  ResponseCreateParams.Builder with(String script) {
    return ResponseCreateParams.builder().model(model(script));
  }

  String model(String script) {
    return provider + "/sim-" + script;
  }

  Response say(String script, String text) {
    return responses().create(with(script).input(text).build());
  }

  /** All events of a new response. */
  List<ResponseStreamEvent> stream(ResponseCreateParams params) {
    return collect(responses().createStreaming(params), Integer.MAX_VALUE);
  }

  /** Returns the events of a stream to its end, or only its first events. */
  static List<ResponseStreamEvent> collect(StreamResponse<ResponseStreamEvent> stream, int most) {
    try (stream) {
      return stream.stream().limit(most).collect(Collectors.toCollection(ArrayList::new));
    }
  }

  /** The response that the SDK accumulates from a stream that must be complete and numbered without gaps. */
  static Response finished(List<ResponseStreamEvent> events) {
    ResponseAccumulator accumulator = ResponseAccumulator.create();
    for (int index = 0; index < events.size(); index++) {
      JsonNode event = json(events.get(index));
      Expect.that(event.path("sequence_number").asInt(-1) == index, "event %d is %s", index, event);
      accumulator.accumulate(events.get(index));
    }
    Expect.that(events.get(0).isCreated(), "the first event is %s", events.get(0));
    Expect.that(events.get(events.size() - 1).isCompleted(), "the last event is %s", events.get(events.size() - 1));
    return accumulator.response();
  }

  /** The deltas of all events of a type, joined. */
  static String joined(List<ResponseStreamEvent> events, String type) {
    return events.stream()
        .map(Target::json)
        .filter(event -> event.path("type").asText().equals(type))
        .map(event -> event.path("delta").asText())
        .collect(Collectors.joining());
  }

  static String textOf(Response response) {
    return response.output().stream()
        .flatMap(item -> item.message().stream())
        .flatMap(message -> message.content().stream())
        .flatMap(content -> content.outputText().stream())
        .map(text -> text.text())
        .collect(Collectors.joining());
  }

  static void expectStatus(Response response, ResponseStatus status) {
    Expect.that(response.status().equals(java.util.Optional.of(status)), "status %s", response.status());
  }

  static ResponseInputItem user(String text) {
    return ResponseInputItem.ofEasyInputMessage(
        EasyInputMessage.builder().role(EasyInputMessage.Role.USER).content(text).build());
  }

  /** Output items as input. */
  static List<ResponseInputItem> sendBack(List<ResponseOutputItem> output) {
    return output.stream()
        .map(item -> ObjectMappers.jsonMapper().convertValue(item, ResponseInputItem.class))
        .toList();
  }

  static JsonNode json(Object value) {
    return ObjectMappers.jsonMapper().valueToTree(value);
  }
}
