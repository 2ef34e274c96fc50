package io.github.outriggerinference;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.github.outriggerinference.errors.NoObjectGeneratedException;
import io.github.outriggerinference.errors.RateLimitException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Flow;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIfEnvironmentVariable;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Objects of a real sidecar with the simulator behind it. */
@DisplayName("An object of a sidecar")
@EnabledIfEnvironmentVariable(named = "OUTRIGGER_ADDRESS", matches = ".+")
class SidecarObjectsTest {
  private static final Duration TIMEOUT = Duration.ofSeconds(30);

  enum Mood {
    CALM,
    TENSE
  }

  /** Public fields suffice. */
  public static final class Ship {
    public String name;
    public Mood crew;
  }

  record Place(String city, Optional<String> country) {}

  record Person(
      @Description("Full name") String name,
      int age,
      double height,
      boolean sails,
      Mood mood,
      Place home,
      List<Place> visited,
      Optional<String> note) {}

  private static OutriggerClient client;

  @BeforeAll
  static void connect() {
    client = OutriggerClient.connect();
  }

  @AfterAll
  static void close() {
    client.close();
  }

  private static GenerateOptions options(String model) {
    return GenerateOptions.builder()
        .model(model)
        .prompt("Invent a sailor.")
        .maxRetries(0)
        .deadline(TIMEOUT)
        .build();
  }

  @ParameterizedTest
  @ValueSource(strings = {"openai", "anthropic", "gemini"})
  void isOfTheRecordForEveryProvider(String provider) {
    ObjectResult<Person> result =
        client.generateObject(
            Person.class,
            GenerateOptions.builder()
                .model("sim-text")
                .provider(provider)
                .prompt("Invent a sailor.")
                .deadline(TIMEOUT)
                .build());
    assertFalse(result.object().name().isEmpty());
    assertFalse(result.generation().output().isEmpty());
  }

  @ParameterizedTest
  @ValueSource(strings = {"openai", "anthropic", "gemini", "compatible"})
  void mayBeAListForEveryProvider(String provider) {
    List<Person> persons =
        client
            .generateObject(
                ObjectType.listOf(Person.class),
                o -> o.model("sim-text").provider(provider).prompt("Sailors.").deadline(TIMEOUT))
            .object();
    assertFalse(persons.isEmpty());
    assertFalse(persons.get(0).name().isEmpty());
  }

  @Test
  void mayBeAListThatGrows() {
    try (ObjectStream<List<Mood>> stream =
        client.streamObject(ObjectType.listOf(Mood.class), options("sim-text:rate=200"))) {
      ObjectEvent<List<Mood>> first = stream.next();
      assertTrue(first instanceof ObjectEvent.Partial<List<Mood>>, first::toString);
      assertFalse(stream.result().object().isEmpty());
    }
  }

  @Test
  void mayBeAClassOrAnEnum() throws Exception {
    GenerateOptions options = options("sim-text");
    assertFalse(client.generateObject(Ship.class, options).object().name.isEmpty());
    assertNotNull(
        client.generateObjectAsync(Mood.class, options).get(10, TimeUnit.SECONDS).object());
  }

  @Test
  void growsInItsStream() {
    List<String> partials = new ArrayList<>();
    try (ObjectStream<Person> stream =
        client.streamObject(Person.class, options("sim-text:rate=200"))) {
      for (ObjectEvent<Person> event : stream) {
        if (event instanceof ObjectEvent.Partial<Person> partial) {
          Json.parse(partial.json());
          partials.add(partial.json());
        }
      }
      assertFalse(partials.isEmpty());
      assertFalse(stream.result().object().name().isEmpty());
    }
  }

  @Test
  void isPublishedAsItArrives() throws Exception {
    CompletableFuture<Person> last = new CompletableFuture<>();
    client
        .objectPublisher(Person.class, options("sim-text"))
        .subscribe(
            new Flow.Subscriber<>() {
              @Override
              public void onSubscribe(Flow.Subscription subscription) {
                subscription.request(Long.MAX_VALUE);
              }

              @Override
              public void onNext(ObjectEvent<Person> event) {
                if (event instanceof ObjectEvent.Finish<Person> finish) {
                  last.complete(finish.result().object());
                }
              }

              @Override
              public void onError(Throwable thrown) {
                last.completeExceptionally(thrown);
              }

              @Override
              public void onComplete() {
                last.completeExceptionally(new AssertionError("no event had the object"));
              }
            });
    assertFalse(last.get(30, TimeUnit.SECONDS).name().isEmpty());
  }

  @Test
  void isAFailureWhereTheAnswerIsNone() {
    NoObjectGeneratedException thrown =
        assertThrows(
            NoObjectGeneratedException.class,
            () -> client.generateObject(Person.class, options("sim-text:stop=length")));
    assertFalse(thrown.noObject().orElseThrow().getViolationsList().isEmpty());
    assertTrue(thrown.usage().isPresent());
  }

  @Test
  void failsWithTheProvidersError() {
    GenerateOptions limited = options("sim-text:status=429,retry_after=2");
    List<Runnable> calls =
        List.of(
            () -> client.generateObject(Person.class, limited),
            () -> client.streamObject(Person.class, limited).result());
    for (Runnable call : calls) {
      RateLimitException thrown = assertThrows(RateLimitException.class, call::run);
      assertTrue(thrown.retryable());
      assertEquals(Optional.of(Duration.ofSeconds(2)), thrown.retryAfter());
    }
  }
}
