package com.example;

import static com.example.Target.finished;
import static com.example.Target.joined;
import static com.example.Target.json;
import static com.example.Target.textOf;
import static com.example.Target.user;

import com.openai.errors.NotFoundException;
import com.openai.models.responses.CompactedResponse;
import com.openai.models.responses.Response;
import com.openai.models.responses.ResponseCompactParams;
import com.openai.models.responses.ResponseCreateParams;
import com.openai.models.responses.ResponseInputItem;
import com.openai.models.responses.ResponseRetrieveParams;
import com.openai.models.responses.ResponseStatus;
import com.openai.models.responses.ResponseStreamEvent;
import com.openai.models.responses.inputitems.InputItemListPage;
import com.openai.models.responses.inputitems.InputItemListParams;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;

/** Responses that the sidecar keeps: in the background, cancelled, read again from a cursor, continued, deleted. */
record Stored(Target target) {
  /** Longest wait for a response in the background; on a busy machine too. */
  private static final Duration LONGEST_WAIT = Duration.ofSeconds(30);

  void addTo(Map<String, Expect.Call> checks) {
    checks.put("background", this::background);
    checks.put("cancel", this::cancel);
    checks.put("resume", this::resume);
    checks.put("resume_live", this::resumeLive);
    checks.put("branch", this::branch);
    checks.put("instructions", this::instructions);
    checks.put("input_items", this::inputItems);
    checks.put("delete", this::delete);
    checks.put("compact", this::compact);
  }

  private ResponseCreateParams inBackground(String script) {
    return target.with(script).input("Write.").background(true).build();
  }

  private void background() throws InterruptedException {
    Response response = target.responses().create(inBackground("text"));
    Expect.that(isOpen(response), "status %s", response.status());
    Expect.that(response.background().orElse(false), "background is false");
    Instant giveUp = Instant.now().plus(LONGEST_WAIT);
    while (isOpen(response)) {
      Expect.that(Instant.now().isBefore(giveUp), "%s did not end within %s", response.id(), LONGEST_WAIT);
      Thread.sleep(50);
      response = target.responses().retrieve(response.id());
    }
    Target.expectStatus(response, ResponseStatus.COMPLETED);
    Expect.that(textOf(response).length() > 20, "text %s", textOf(response));
  }

  private static boolean isOpen(Response response) {
    ResponseStatus status = response.status().orElseThrow();
    return status.equals(ResponseStatus.QUEUED) || status.equals(ResponseStatus.IN_PROGRESS);
  }

  private void cancel() {
    String id = target.responses().create(inBackground("long:tokens=4000,rate=20")).id();
    // Cancelling twice is no mistake.
    for (int times = 0; times < 2; times++) {
      Target.expectStatus(target.responses().cancel(id), ResponseStatus.CANCELLED);
      Target.expectStatus(target.responses().retrieve(id), ResponseStatus.CANCELLED);
    }
  }

  /** A stream can be left and continued after any event; every time with the same events. */
  private void resume() {
    List<ResponseStreamEvent> live = target.stream(inBackground("long:tokens=60,rate=300"));
    String id = finished(live).id();
    List<ResponseStreamEvent> again = Target.collect(target.responses().retrieveStreaming(id), Integer.MAX_VALUE);
    Expect.that(json(again).equals(json(live)), "the stream differs when it is read again");
    Expect.that(json(after(id, 5)).equals(json(live.subList(6, live.size()))), "the stream differs after the cursor");
  }

  private List<ResponseStreamEvent> after(String id, long sequenceNumber) {
    ResponseRetrieveParams cursor = ResponseRetrieveParams.builder().startingAfter(sequenceNumber).build();
    return Target.collect(target.responses().retrieveStreaming(id, cursor), Integer.MAX_VALUE);
  }

  /** Leaves a stream in the middle, and goes on from there while the response is still being written. */
  private void resumeLive() {
    List<ResponseStreamEvent> events =
        Target.collect(target.responses().createStreaming(inBackground("long:tokens=100,rate=100")), 8);
    events.addAll(after(events.get(0).asCreated().response().id(), 7));
    Response response = finished(events);
    Expect.that(joined(events, "response.output_text.delta").equals(textOf(response)), "the deltas are not the text");
  }

  /** Two children of one response do not see each other, nor do their children. */
  private void branch() {
    Response parent = target.say("text", "The beginning.");
    Response left = reply("Go left.", parent);
    Response right = reply("Go right.", parent);
    Response leftAgain = reply("Go left.", parent);
    Expect.that(!textOf(left).equals(textOf(right)), "both children say the same");
    checkSame(left, leftAgain);
    Response further = reply("On.", left);
    checkSame(further, reply("On.", leftAgain));
    Expect.that(inputTokens(further) > inputTokens(left), "the grandchild does not see its parent");
  }

  private Response reply(String text, Response parent) {
    return target.responses().create(target.with("text").input(text).previousResponseId(parent.id()).build());
  }

  private static void checkSame(Response left, Response right) {
    Expect.that(textOf(left).equals(textOf(right)), "%s and %s", textOf(left), textOf(right));
    Expect.that(inputTokens(left) == inputTokens(right), "%d and %d", inputTokens(left), inputTokens(right));
  }

  private static long inputTokens(Response response) {
    return response.usage().orElseThrow().inputTokens();
  }

  /** Each request has only the instructions that it sets. */
  private void instructions() {
    String long20 = "Answer like a pirate. ".repeat(20);
    Response first = target.responses().create(target.with("text").input("Hello").instructions(long20).build());
    Response second = reply("Hello again", first);
    Expect.that(second._instructions().isNull(), "instructions %s", second.instructions());
    Expect.that(inputTokens(second) < inputTokens(first), "the instructions are sent again");
  }

  private void inputItems() {
    List<String> texts = List.of("one", "two", "three", "four", "five");
    String id =
        target
            .responses()
            .create(target.with("text").inputOfResponse(texts.stream().map(Target::user).toList()).build())
            .id();
    InputItemListPage first =
        target
            .responses()
            .inputItems()
            .list(id, InputItemListParams.builder().limit(2).order(InputItemListParams.Order.ASC).build());
    Expect.that(first.items().size() == 2 && first.hasNextPage(), "%s", first);
    Expect.that(textsOf(first).equals(texts), "%s", textsOf(first));
    List<String> newestFirst = new ArrayList<>(textsOf(target.responses().inputItems().list(id)));
    Collections.reverse(newestFirst);
    Expect.that(newestFirst.equals(texts), "the newest item is not the first");
  }

  /** The texts of all pages. */
  private static List<String> textsOf(InputItemListPage page) {
    return page.autoPager().stream().map(item -> json(item).at("/content/0/text").asText()).toList();
  }

  private void delete() {
    String id = target.say("text", "Hello").id();
    Expect.that(target.responses().retrieve(id).id().equals(id), "another response than %s", id);
    target.responses().delete(id);
    Expect.failure(NotFoundException.class, () -> target.responses().retrieve(id));
    Expect.failure(NotFoundException.class, () -> target.responses().delete(id));
  }

  /** A long conversation becomes a short one, which can be continued. */
  private void compact() {
    List<ResponseInputItem> facts =
        IntStream.range(0, 10).mapToObj(index -> user(("Fact " + index + ". ").repeat(30))).toList();
    // The SDK's type of the output has no content of users, which this API returns.
    CompactedResponse compacted =
        target
            .client()
            .withOptions(options -> options.responseValidation(false))
            .responses()
            .compact(ResponseCompactParams.builder().model(target.model("text")).inputOfResponseInputItems(facts).build());
    Expect.that(compacted.usage().totalTokens() > 0, "%s", compacted);
    Expect.that(compacted.output().stream().anyMatch(item -> item.isCompaction()), "%s", compacted);
    List<ResponseInputItem> input = new ArrayList<>(Target.sendBack(compacted.output()));
    input.add(user("What was the first fact?"));
    Response next = target.responses().create(target.with("text").inputOfResponse(input).build());
    Target.expectStatus(next, ResponseStatus.COMPLETED);
  }
}
