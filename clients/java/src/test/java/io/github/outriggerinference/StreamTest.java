package io.github.outriggerinference;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.protobuf.Any;
import io.github.outriggerinference.errors.AbortException;
import io.github.outriggerinference.errors.NetworkException;
import io.github.outriggerinference.errors.OutriggerException;
import io.github.outriggerinference.errors.RequestTimeoutException;
import io.github.outriggerinference.errors.ServerException;
import io.github.outriggerinference.errors.StreamException;
import io.github.outriggerinference.v1.ErrorKind;
import io.github.outriggerinference.v1.Finish;
import io.github.outriggerinference.v1.InferenceError;
import io.github.outriggerinference.v1.Request;
import io.github.outriggerinference.v1.Response;
import io.github.outriggerinference.v1.StreamEvent;
import io.github.outriggerinference.v1.StreamStart;
import io.github.outriggerinference.v1.TextDelta;
import io.github.outriggerinference.v1.TextStart;
import io.grpc.Context;
import io.grpc.Status;
import io.grpc.protobuf.StatusProto;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.NoSuchElementException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Flow;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

@DisplayName("A stream")
class StreamTest {
  private static final Request REQUEST = Request.newBuilder().setModel("m").build();

  private static final StreamEvent START =
      StreamEvent.newBuilder().setStreamStart(StreamStart.getDefaultInstance()).build();
  private static final StreamEvent TEXT_START =
      StreamEvent.newBuilder().setTextStart(TextStart.getDefaultInstance()).build();
  private static final StreamEvent FINISH =
      StreamEvent.newBuilder()
          .setFinish(Finish.newBuilder().setResponse(Response.newBuilder().setId("r1")))
          .build();
  private static final InferenceError FAILURE =
      InferenceError.newBuilder()
          .setKind(ErrorKind.ERROR_KIND_SERVER)
          .setMessage("overloaded")
          .setOutputStarted(true)
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

  private static StreamEvent delta(String text) {
    return StreamEvent.newBuilder().setTextDelta(TextDelta.newBuilder().setDelta(text)).build();
  }

  /** Lets the sidecar send these events, and then OK. */
  private void answer(StreamEvent... events) {
    sidecar.stream = conversation -> List.of(events).forEach(conversation::send);
  }

  /** Lets the sidecar send events until the client cancels. The latch opens then. */
  private CountDownLatch answerWithoutEnd() {
    CountDownLatch cancelled = new CountDownLatch(1);
    sidecar.stream =
        conversation -> {
          conversation.send(START);
          if (conversation.awaitCancel()) {
            cancelled.countDown();
          }
        };
    return cancelled;
  }

  private static void assertOpens(CountDownLatch latch) throws InterruptedException {
    assertTrue(latch.await(10, TimeUnit.SECONDS), "the call was not cancelled");
  }

  @Test
  void yieldsTheEventsAndThenTheResponse() {
    answer(START, delta("a"), delta("b"), FINISH);
    try (ResponseStream stream = client.stream(REQUEST)) {
      List<StreamEvent> events = new ArrayList<>();
      for (StreamEvent event : stream) {
        events.add(event);
      }
      assertEquals(List.of(START, delta("a"), delta("b"), FINISH), events);
      assertFalse(stream.hasNext());
      assertThrows(NoSuchElementException.class, stream::next);
      assertEquals("r1", stream.response().getId());
    }
  }

  @Test
  void yieldsTheTextAloneWhereThatIsWanted() {
    answer(START, TEXT_START, delta("a"), delta("b"), FINISH);
    try (ResponseStream stream = client.stream(REQUEST)) {
      List<String> texts = new ArrayList<>();
      stream.textDeltas().forEach(texts::add);
      assertEquals(List.of("a", "b"), texts);
      assertEquals("r1", stream.response().getId());
    }
  }

  @Test
  void isAFailureWhereItEndsWithoutItsLastEvent() {
    answer(START, delta("a"));
    try (ResponseStream stream = client.stream(REQUEST)) {
      assertEquals(START, stream.next());
      assertEquals(delta("a"), stream.next());
      assertThrows(StreamException.class, stream::hasNext);
      assertThrows(StreamException.class, stream::next);
      StreamException thrown = assertThrows(StreamException.class, stream::response);
      assertTrue(
          List.of(thrown.getStackTrace()).stream()
              .anyMatch(frame -> frame.getClassName().equals(StreamTest.class.getName())),
          "the stack trace does not show the reader");
    }
  }

  @Test
  void isAFailureWhereTheConnectionBreaksAfterOutputBegan() {
    sidecar.stream =
        conversation -> {
          conversation.send(START);
          conversation.send(TEXT_START);
          throw Status.UNAVAILABLE.withDescription("io exception").asException();
        };
    try (ResponseStream stream = client.stream(REQUEST)) {
      stream.next();
      stream.next();
      OutriggerException thrown = assertThrows(NetworkException.class, stream::hasNext);
      assertTrue(thrown.outputStarted());
    }
  }

  @Test
  void yieldsAnErrorEventAndThenThrowsTheErrorOfTheStatus() {
    StreamEvent error = StreamEvent.newBuilder().setError(FAILURE).build();
    sidecar.stream =
        conversation -> {
          conversation.send(START);
          conversation.send(error);
          throw StatusProto.toStatusException(
              com.google.rpc.Status.newBuilder()
                  .setCode(Status.Code.UNAVAILABLE.value())
                  .addDetails(Any.pack(FAILURE))
                  .build());
        };
    try (ResponseStream stream = client.stream(REQUEST)) {
      stream.next();
      assertEquals(error, stream.next());
      assertEquals(FAILURE, assertThrows(ServerException.class, stream::hasNext).toProto());
    }
  }

  @Test
  void isAFailureAfterAnErrorEventEvenWhereTheStatusIsOk() {
    answer(START, StreamEvent.newBuilder().setError(FAILURE).build());
    try (ResponseStream stream = client.stream(REQUEST)) {
      assertEquals(FAILURE, assertThrows(ServerException.class, stream::response).toProto());
    }
  }

  @Test
  void isCancelledWhenItIsClosedEarly() throws Exception {
    CountDownLatch cancelled = answerWithoutEnd();
    ResponseStream stream = client.stream(REQUEST);
    stream.next();
    stream.close();
    assertOpens(cancelled);
    assertThrows(AbortException.class, stream::hasNext);
    stream.close();
  }

  @Test
  void isCancelledWhenItsReaderIsInterrupted() throws Exception {
    CountDownLatch cancelled = answerWithoutEnd();
    ResponseStream stream = client.stream(REQUEST);
    stream.next();
    Thread.currentThread().interrupt();
    assertThrows(AbortException.class, stream::hasNext);
    assertTrue(Thread.interrupted());
    assertOpens(cancelled);
  }

  @Test
  void isCancelledWithItsContext() throws Exception {
    CountDownLatch cancelled = answerWithoutEnd();
    Context.CancellableContext context = Context.current().withCancellation();
    ResponseStream stream = context.call(() -> client.stream(REQUEST));
    stream.next();
    context.cancel(null);
    assertThrows(AbortException.class, stream::hasNext);
    assertOpens(cancelled);
  }

  @Test
  void endsWhenItsDeadlineExpires() throws Exception {
    answerWithoutEnd();
    ResponseStream stream = client.stream(REQUEST, Duration.ofMillis(200));
    assertThrows(RequestTimeoutException.class, stream::response);
  }

  @Test
  void slowsTheSidecarDownWhereItsReaderIsSlow() throws Exception {
    AtomicInteger sent = new AtomicInteger();
    CountDownLatch blocked = new CountDownLatch(1);
    String large = "x".repeat(10_000);
    sidecar.stream =
        conversation -> {
          while (conversation.isReady()) {
            conversation.send(delta(large));
            sent.incrementAndGet();
          }
          blocked.countDown();
          conversation.send(FINISH);
        };
    try (ResponseStream stream = client.stream(REQUEST)) {
      assertTrue(blocked.await(10, TimeUnit.SECONDS), "the sidecar could send without limit");
      int read = 0;
      while (stream.next().hasTextDelta()) {
        read++;
      }
      assertEquals(sent.get(), read);
    }
  }

  /** Keeps the signals that it gets. */
  private static final class Recorder implements Flow.Subscriber<StreamEvent> {
    private final CompletableFuture<Flow.Subscription> subscription = new CompletableFuture<>();
    private final LinkedBlockingQueue<Object> signals = new LinkedBlockingQueue<>();

    @Override
    public void onSubscribe(Flow.Subscription given) {
      subscription.complete(given);
    }

    @Override
    public void onNext(StreamEvent event) {
      signals.add(event);
    }

    @Override
    public void onError(Throwable thrown) {
      signals.add(thrown);
    }

    @Override
    public void onComplete() {
      signals.add("complete");
    }

    Flow.Subscription subscription() {
      return subscription.join();
    }

    Object next() throws InterruptedException {
      return signals.poll(10, TimeUnit.SECONDS);
    }
  }

  private Recorder subscribe() {
    Recorder recorder = new Recorder();
    client.streamPublisher(REQUEST, null).subscribe(recorder);
    return recorder;
  }

  @Test
  void publishesAsManyEventsAsAreRequested() throws Exception {
    answer(START, delta("a"), FINISH);
    Recorder recorder = subscribe();
    recorder.subscription().request(1);
    assertEquals(START, recorder.next());
    assertEquals(null, recorder.signals.poll(200, TimeUnit.MILLISECONDS));
    recorder.subscription().request(1);
    assertEquals(delta("a"), recorder.next());
    recorder.subscription().request(Long.MAX_VALUE);
    assertEquals(FINISH, recorder.next());
    assertEquals("complete", recorder.next());
    assertTrue(recorder.signals.isEmpty());
  }

  @Test
  void makesACallForEachSubscriberThatRequestsEvents() throws Exception {
    AtomicInteger calls = new AtomicInteger();
    sidecar.stream =
        conversation -> {
          calls.incrementAndGet();
          conversation.send(FINISH);
        };
    Flow.Publisher<StreamEvent> publisher = client.streamPublisher(REQUEST, null);
    Recorder first = new Recorder();
    Recorder second = new Recorder();
    publisher.subscribe(first);
    publisher.subscribe(second);
    publisher.subscribe(new Recorder());
    for (Recorder recorder : List.of(first, second)) {
      recorder.subscription().request(5);
      assertEquals(FINISH, recorder.next());
      assertEquals("complete", recorder.next());
    }
    assertEquals(2, calls.get());
  }

  @Test
  void publishesTheFailureOfACall() throws Exception {
    answer(START);
    Recorder recorder = subscribe();
    recorder.subscription().request(10);
    assertEquals(START, recorder.next());
    assertTrue(recorder.next() instanceof StreamException);
  }

  @Test
  void isCancelledWithItsSubscriptionAndPublishesNothingMore() throws Exception {
    CountDownLatch cancelled = answerWithoutEnd();
    Recorder recorder = subscribe();
    recorder.subscription().request(10);
    assertEquals(START, recorder.next());
    recorder.subscription().cancel();
    assertOpens(cancelled);
    recorder.subscription().request(1);
    assertEquals(null, recorder.signals.poll(200, TimeUnit.MILLISECONDS));
  }

  @Test
  void refusesARequestForNoEvents() throws Exception {
    CountDownLatch cancelled = answerWithoutEnd();
    Recorder before = subscribe();
    before.subscription().request(0);
    assertTrue(before.next() instanceof IllegalArgumentException);
    Recorder during = subscribe();
    during.subscription().request(10);
    assertEquals(START, during.next());
    during.subscription().request(-1);
    assertTrue(during.next() instanceof IllegalArgumentException);
    assertOpens(cancelled);
  }
}
