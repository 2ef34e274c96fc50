package io.github.outriggerinference;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.github.outriggerinference.errors.FieldViolation;
import io.github.outriggerinference.errors.InvalidRequestException;
import io.github.outriggerinference.errors.NotFoundException;
import io.github.outriggerinference.v1.ListMessagesRequest;
import io.github.outriggerinference.v1.Run;
import io.github.outriggerinference.v1.RunStatus;
import io.github.outriggerinference.v1.ThreadMessage;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIfEnvironmentVariable;

/** Calls a real sidecar with the simulator behind it, which `node test/clients/run.ts` starts. */
@DisplayName("A thread")
@EnabledIfEnvironmentVariable(named = "OUTRIGGER_ADDRESS", matches = ".+")
class ThreadsTest {
  private static OutriggerClient client;

  @BeforeAll
  static void connect() {
    client = OutriggerClient.connect();
  }

  @AfterAll
  static void close() {
    client.close();
  }

  @Test
  void isCreatedReadRelabelledAndDeleted() {
    List<CallInfo> calls = new ArrayList<>();
    Threads threads =
        client.withHeaders(Map.of("x-request-id", "mine-1")).onCall(calls::add).threads();
    MessageThread created = threads.create(t -> t.labels(Map.of("user", "ada", "topic", "boats")));
    assertTrue(created.isConversation());
    Duration age = Duration.between(created.createdAt(), Instant.now());
    assertTrue(age.abs().compareTo(Duration.ofHours(1)) < 0, "created at " + created.createdAt());
    MessageThread updated = threads.update(created.id(), Map.of("topic", "canoes"));
    assertEquals(Map.of("topic", "canoes"), updated.labels());
    assertEquals(updated, threads.get(created.id()));
    threads.delete(created.id());
    assertThrows(NotFoundException.class, () -> threads.get(created.id()));
    assertEquals(
        List.of("CreateThread", "UpdateThread", "GetThread", "DeleteThread", "GetThread"),
        calls.stream().map(CallInfo::method).toList());
    assertTrue(calls.stream().allMatch(call -> call.requestId().equals("mine-1")));
  }

  @Test
  void takesMessagesListsThemInPagesAndDeletesThem() {
    Threads threads = client.threads();
    String id =
        threads.create(t -> t.messages(Messages.user("One"), Messages.assistant("Two"))).id();
    ThreadMessage added = threads.appendMessages(id, Messages.user("Three")).get(0);
    ListMessagesRequest.Builder request = ListMessagesRequest.newBuilder().setThreadId(id);
    assertEquals(
        List.of("One", "Two", "Three"),
        texts(threads.listMessages(request.clone().setPageSize(1).build())));
    assertEquals(
        List.of("Three", "Two", "One"),
        texts(threads.listMessages(request.setPageSize(2).setNewestFirst(true).build())));
    assertEquals(added, threads.getMessage(added.getId()));
    threads.deleteMessage(id, added.getId());
    assertThrows(NotFoundException.class, () -> threads.getMessage(added.getId()));
    assertEquals(List.of("One", "Two"), texts(threads.listMessages(id)));
  }

  @Test
  void isReadAndContinuedByRuns() {
    MessageThread thread = client.threads().create(t -> t.messages(Messages.user("I am Ada.")));
    Run run =
        client
            .runs()
            .create(
                o ->
                    o.generate(g -> g.model("sim-text").prompt("Who am I?")).threadId(thread.id()));
    assertEquals(RunStatus.RUN_STATUS_COMPLETED, run.getStatus());
    assertEquals(thread.id(), run.getThreadId());
    List<ThreadMessage> stored = client.threads().listMessages(thread.id()).toList();
    assertEquals(
        List.of("", run.getId(), run.getId()),
        stored.stream().map(ThreadMessage::getRunId).toList());
    assertEquals(run.getSteps(0).getResponse().getMessage(), stored.get(2).getMessage());
  }

  @Test
  void refusesToAppendNothing() {
    String id = client.threads().create().id();
    InvalidRequestException refused =
        assertThrows(
            InvalidRequestException.class, () -> client.threads().appendMessages(id, List.of()));
    assertEquals(
        List.of("messages"),
        refused.fieldViolations().stream().map(FieldViolation::field).toList());
  }

  private static List<String> texts(Stream<ThreadMessage> stored) {
    return stored.map(each -> Messages.textOf(each.getMessage())).toList();
  }
}
