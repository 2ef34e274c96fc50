package com.example;

import static com.example.Target.finished;
import static com.example.Target.joined;
import static com.example.Target.json;
import static com.example.Target.textOf;
import static com.example.Target.user;

import com.fasterxml.jackson.databind.JsonNode;
import com.openai.core.JsonValue;
import com.openai.core.ObjectMappers;
import com.openai.errors.BadRequestException;
import com.openai.models.Reasoning;
import com.openai.models.ReasoningEffort;
import com.openai.models.embeddings.CreateEmbeddingResponse;
import com.openai.models.embeddings.Embedding;
import com.openai.models.embeddings.EmbeddingCreateParams;
import com.openai.models.models.Model;
import com.openai.models.responses.EasyInputMessage;
import com.openai.models.responses.Response;
import com.openai.models.responses.ResponseCreateParams;
import com.openai.models.responses.ResponseIncludable;
import com.openai.models.responses.ResponseInputContent;
import com.openai.models.responses.ResponseInputImage;
import com.openai.models.responses.ResponseInputItem;
import com.openai.models.responses.ResponseInputText;
import com.openai.models.responses.ResponseReasoningItem;
import com.openai.models.responses.ResponseStatus;
import com.openai.models.responses.ResponseStreamEvent;
import com.openai.models.responses.ResponseUsage;
import com.openai.models.responses.StructuredResponse;
import com.openai.models.responses.inputtokens.InputTokenCountParams;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** Answers without tools: whole, streamed, with a schema, with reasoning, about an image. */
record Answers(Target target) {
  /** A PNG of one pixel. */
  private static final String PIXEL =
      "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

  void addTo(Map<String, Expect.Call> checks) {
    checks.put("text", this::text);
    checks.put("settings", this::settings);
    checks.put("stream", this::stream);
    checks.put("done_marker", this::doneMarker);
    checks.put("structured_output", this::structuredOutput);
    checks.put("reasoning", this::reasoning);
    checks.put("image", this::image);
    checks.put("incomplete", this::incomplete);
    checks.put("input_tokens", this::inputTokens);
    checks.put("embeddings", this::embeddings);
    checks.put("models", this::models);
  }

  private void text() {
    Response response =
        target.responses().create(target.with("text").instructions("Be brief.").input("How is the weather?").build());
    Expect.that(response.id().startsWith("resp_"), "id %s", response.id());
    Target.expectStatus(response, ResponseStatus.COMPLETED);
    // Fields without a value are null, and not missing.
    Expect.that(response._error().isNull(), "error %s", response._error());
    Expect.that(response._incompleteDetails().isNull(), "incomplete_details %s", response._incompleteDetails());
    double age = System.currentTimeMillis() / 1000.0 - response.createdAt();
    Expect.that(Math.abs(age) < 60, "created %s s ago", age);
    JsonNode message = json(response.output().get(0));
    Expect.that(message.path("role").asText().equals("assistant"), "%s", message);
    Expect.that(message.path("status").asText().equals("completed"), "%s", message);
    Expect.that(textOf(response).length() > 20, "text %s", textOf(response));
    checkUsage(response);
  }

  private static void checkUsage(Response response) {
    ResponseUsage usage = response.usage().orElseThrow();
    Expect.that(usage.inputTokens() > 0 && usage.outputTokens() > 0, "usage %s", usage);
    Expect.that(usage.totalTokens() == usage.inputTokens() + usage.outputTokens(), "usage %s", usage);
    Expect.that(usage.inputTokensDetails().cachedTokens() >= 0, "usage %s", usage);
    Expect.that(usage.outputTokensDetails().reasoningTokens() >= 0, "usage %s", usage);
  }

  /** A response repeats the settings of its request. */
  private void settings() {
    Response response =
        target
            .responses()
            .create(
                target
                    .with("text")
                    .input("Hello")
                    .instructions("Be brief.")
                    .maxOutputTokens(500)
                    .metadata(
                        ResponseCreateParams.Metadata.builder()
                            .putAdditionalProperty("team", JsonValue.from("blue"))
                            .build())
                    .parallelToolCalls(false)
                    .promptCacheKey("greeting")
                    .safetyIdentifier("user-1")
                    .truncation(ResponseCreateParams.Truncation.DISABLED)
                    .build());
    JsonNode json = json(response);
    Expect.that(json.path("instructions").asText().equals("Be brief."), "%s", json);
    Expect.that(json.path("max_output_tokens").asInt() == 500, "%s", json);
    Expect.that(json.path("metadata").toString().equals("{\"team\":\"blue\"}"), "%s", json);
    Expect.that(!json.path("parallel_tool_calls").asBoolean(true), "%s", json);
    Expect.that(json.path("prompt_cache_key").asText().equals("greeting"), "%s", json);
    Expect.that(json.path("safety_identifier").asText().equals("user-1"), "%s", json);
    Expect.that(json.at("/text/format/type").asText().equals("text"), "%s", json);
    Expect.that(json.path("tool_choice").asText().equals("auto"), "%s", json);
    Expect.that(response.tools().isEmpty(), "%s", json);
    Expect.that(json.path("truncation").asText().equals("disabled"), "%s", json);
    Expect.that(!json.path("background").asBoolean(true), "%s", json);
    Expect.that(json.path("previous_response_id").isNull(), "%s", json);
  }

  private void stream() {
    List<ResponseStreamEvent> events = target.stream(target.with("text").input("How is the weather?").build());
    Response response = finished(events);
    Expect.that(events.get(1).isInProgress(), "the second event is %s", events.get(1));
    Expect.that(joined(events, "response.output_text.delta").equals(textOf(response)), "the deltas are not the text");
    checkUsage(response);
    // The stored response equals the streamed one.
    Response stored = target.responses().retrieve(response.id());
    Expect.that(json(stored.output()).equals(json(response.output())), "stored %s", stored);
  }

  /** The bytes of a stream: named events, and {@code [DONE]} at the end. */
  private void doneMarker() throws Exception {
    String body =
        ObjectMappers.jsonMapper()
            .writeValueAsString(
                Map.of("model", target.model("text"), "input", "Hello", "stream", true));
    HttpRequest request =
        HttpRequest.newBuilder(URI.create(Target.baseUrl() + "/responses"))
            .header("content-type", "application/json")
            .POST(HttpRequest.BodyPublishers.ofString(body))
            .build();
    HttpResponse<String> response =
        HttpClient.newBuilder()
            .version(HttpClient.Version.HTTP_1_1)
            .build()
            .send(request, HttpResponse.BodyHandlers.ofString());
    String[] events = response.body().split("\n\n");
    int last = events.length - 1;
    Expect.that(last > 5 && events[last].equals("data: [DONE]"), "the stream ends with %s", events[last]);
    for (int index = 0; index < last; index++) {
      String[] lines = events[index].split("\n", 2);
      JsonNode data = ObjectMappers.jsonMapper().readTree(lines[1].substring("data: ".length()));
      Expect.that(lines[0].equals("event: " + data.path("type").asText()), "%s", events[index]);
    }
  }

  /** The value that a structured answer describes. */
  public static final class City {
    public String name;
    public double people;
    public List<String> districts;
  }

  private void structuredOutput() {
    StructuredResponse<City> response =
        target.responses().create(target.with("text").input("Describe Paris as JSON.").text(City.class).build());
    City city =
        response.output().stream()
            .flatMap(item -> item.message().stream())
            .flatMap(message -> message.content().stream())
            .flatMap(content -> content.outputText().stream())
            .findFirst()
            .orElseThrow();
    Expect.that(city.name != null && city.districts != null, "%s", response);
  }

  /** Reasoning is shown, counted, and taken back by the provider that wrote it. */
  private void reasoning() {
    List<ResponseInputItem> history = new ArrayList<>(List.of(user("Why is the sky blue?")));
    List<ResponseStreamEvent> events = target.stream(reasoningAbout(history));
    Response response = finished(events);
    ResponseReasoningItem thought = response.output().get(0).reasoning().orElseThrow();
    StringBuilder shown = new StringBuilder();
    thought.summary().forEach(part -> shown.append(part.text()));
    thought.content().ifPresent(parts -> parts.forEach(part -> shown.append(part.text())));
    Expect.that(shown.length() > 20, "the reasoning is %s", shown);
    String streamed =
        joined(events, "response.reasoning_summary_text.delta") + joined(events, "response.reasoning_text.delta");
    Expect.that(streamed.contentEquals(shown), "the reasoning is streamed as %s", streamed);
    if (target.provider().equals("openai") || target.provider().equals("anthropic")) {
      Expect.that(!thought.encryptedContent().orElse("").isEmpty(), "the reasoning is not encrypted");
    }
    long tokens = response.usage().orElseThrow().outputTokensDetails().reasoningTokens();
    Expect.that(tokens > 0, "%d reasoning tokens", tokens);
    history.addAll(Target.sendBack(response.output()));
    history.add(user("And at night?"));
    Target.expectStatus(target.responses().create(reasoningAbout(history)), ResponseStatus.COMPLETED);
  }

  private ResponseCreateParams reasoningAbout(List<ResponseInputItem> input) {
    return target
        .with("reasoning")
        .reasoning(Reasoning.builder().effort(ReasoningEffort.MEDIUM).summary(Reasoning.Summary.AUTO).build())
        .addInclude(ResponseIncludable.REASONING_ENCRYPTED_CONTENT)
        .store(false)
        .inputOfResponse(input)
        .build();
  }

  private void image() {
    ResponseInputImage picture =
        ResponseInputImage.builder()
            .detail(ResponseInputImage.Detail.AUTO)
            .imageUrl("data:image/png;base64," + PIXEL)
            .build();
    EasyInputMessage message =
        EasyInputMessage.builder()
            .role(EasyInputMessage.Role.USER)
            .contentOfResponseInputMessageContentList(
                List.of(
                    ResponseInputContent.ofInputText(ResponseInputText.builder().text("What is this?").build()),
                    ResponseInputContent.ofInputImage(picture)))
            .build();
    Response response =
        target
            .responses()
            .create(
                target.with("text").inputOfResponse(List.of(ResponseInputItem.ofEasyInputMessage(message))).build());
    Expect.that(textOf(response).contains("1 attachment(s): image"), "%s", textOf(response));
  }

  /** An answer that was truncated says so. */
  private void incomplete() {
    Response response =
        target
            .responses()
            .create(target.with("long:tokens=400,rate=100000").input("Write a lot.").maxOutputTokens(40).build());
    Target.expectStatus(response, ResponseStatus.INCOMPLETE);
    String reason = json(response).at("/incomplete_details/reason").asText();
    Expect.that(reason.equals("max_output_tokens"), "reason %s", reason);
  }

  private void inputTokens() {
    long tokens =
        target
            .responses()
            .inputTokens()
            .count(
                InputTokenCountParams.builder()
                    .model(target.model("text"))
                    .input("How is the weather in Oslo? ".repeat(20))
                    .build())
            .inputTokens();
    Expect.that(tokens > 50, "%d tokens", tokens);
  }

  /** Anthropic has none. */
  private void embeddings() {
    EmbeddingCreateParams params =
        EmbeddingCreateParams.builder()
            .model(target.model("text"))
            .inputOfArrayOfStrings(List.of("Grüße 👋", "Hello", "Hello"))
            .dimensions(8)
            .build();
    if (target.provider().equals("anthropic")) {
      try {
        target.client().embeddings().create(params);
        throw new AssertionError("Anthropic has embeddings");
      } catch (BadRequestException error) {
        Expect.that(error.param().orElse("").equals("model"), "param %s", error.param());
        return;
      }
    }
    CreateEmbeddingResponse answer = target.client().embeddings().create(params);
    List<List<Float>> vectors = answer.data().stream().map(Embedding::embedding).toList();
    Expect.that(vectors.size() == 3 && vectors.get(0).size() == 8, "%s", answer);
    Expect.that(vectors.get(1).equals(vectors.get(2)) && !vectors.get(0).equals(vectors.get(1)), "%s", answer);
    Expect.that(answer.usage().totalTokens() == answer.usage().promptTokens(), "usage %s", answer.usage());
  }

  private void models() {
    List<String> names = target.client().models().list().autoPager().stream().map(Model::id).toList();
    Expect.that(!names.isEmpty(), "there are no models");
    String name =
        names.stream().filter(id -> id.startsWith(target.provider() + "/")).findFirst().orElse(names.get(0));
    Expect.that(target.client().models().retrieve(name).id().equals(name), "another model than %s", name);
  }
}
