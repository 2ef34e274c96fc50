package io.github.outriggerinference;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.github.outriggerinference.errors.NetworkException;
import io.github.outriggerinference.v1.GenerateResult;
import io.github.outriggerinference.v1.Request;
import io.github.outriggerinference.v1.Response;
import io.github.outriggerinference.v1.RunToolsResponse;
import java.io.IOException;
import java.net.HttpURLConnection;
import java.net.ServerSocket;
import java.net.URI;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIfEnvironmentVariable;

@DisplayName("A client whose sidecar is away")
class ReconnectTest {
  /** So long that gRPC's default backoff would wait for seconds more. */
  private static final Duration OUTAGE = Duration.ofSeconds(10);

  /**
   * Bounds the time until a client reaches a sidecar that returned. Twice the promise, for busy
   * machines.
   */
  private static final Duration RECONNECTED = Duration.ofSeconds(2);

  private static final Request REQUEST =
      Request.newBuilder().setModel("sim-echo").addMessages(Messages.user("hello")).build();

  private static final Tool TOOL = Tool.ofText("act", "Acts.", text -> text);

  @Test
  void namesItsAddressInEveryFailure() throws Exception {
    String address = "localhost:" + freePort();
    try (OutriggerClient client = OutriggerClient.connect(address)) {
      assertAsks(address, assertThrows(NetworkException.class, () -> client.complete(REQUEST)));
      assertAsks(
          address, assertThrows(NetworkException.class, () -> client.stream(REQUEST).hasNext()));
      Throwable cause =
          assertThrows(ExecutionException.class, () -> client.completeAsync(REQUEST, null).get())
              .getCause();
      assertAsks(address, assertInstanceOf(NetworkException.class, cause));
    }
  }

  @Test
  void makesACallAgainIfTheSidecarStartsMeanwhile() throws Exception {
    int port = freePort();
    try (OutriggerClient client = OutriggerClient.connect("localhost:" + port)) {
      assertThrows(NetworkException.class, () -> client.complete(REQUEST));
      try (FakeSidecar late = new FakeSidecar(port, ReconnectTest::answer)) {
        assertEquals("r1", client.complete(REQUEST).getId());
      }
    }
  }

  @Test
  void makesAFutureAndAToolLoopAgain() throws Exception {
    int port = freePort();
    try (OutriggerClient client = OutriggerClient.connect("localhost:" + port)) {
      assertThrows(NetworkException.class, () -> client.complete(REQUEST));
      try (FakeSidecar late = new FakeSidecar(port, ReconnectTest::answer)) {
        late.runTools =
            loop -> {
              assertTrue(loop.receive().hasStart());
              loop.send(
                  RunToolsResponse.newBuilder()
                      .setResult(GenerateResult.getDefaultInstance())
                      .build());
            };
        CompletableFuture<Response> answer = client.completeAsync(REQUEST, null);
        CompletableFuture<GenerationResult> result =
            client.generateAsync(
                GenerateOptions.builder().model("m").prompt("Hi").tools(TOOL).build());
        assertEquals("r1", answer.get(10, TimeUnit.SECONDS).getId());
        assertEquals("", result.get(10, TimeUnit.SECONDS).text());
      }
    }
  }

  @Test
  @EnabledIfEnvironmentVariable(named = "OUTRIGGER_COMMAND", matches = "(?s).+")
  void reachesARealSidecarThatReturns() throws Exception {
    int port = freePort();
    try (OutriggerClient client = OutriggerClient.connect("localhost:" + port)) {
      try (RealSidecar sidecar = RealSidecar.start(port)) {
        client.complete(REQUEST);
      }
      for (long start = System.nanoTime(); since(start).compareTo(OUTAGE) < 0; ) {
        assertThrows(NetworkException.class, () -> client.complete(REQUEST));
      }
      try (RealSidecar sidecar = RealSidecar.start(port)) {
        reach(client);
      }
    }
  }

  private static void reach(OutriggerClient client) {
    long returned = System.nanoTime();
    while (true) {
      try {
        client.complete(REQUEST);
        return;
      } catch (NetworkException away) {
        assertTrue(since(returned).compareTo(RECONNECTED) < 0, () -> "not reached: " + away);
      }
    }
  }

  /** `outrigger demo`, by the command in OUTRIGGER_COMMAND, which has an argument a line. */
  private record RealSidecar(Process process) implements AutoCloseable {
    static RealSidecar start(int port) throws Exception {
      int admin = freePort();
      List<String> command =
          new ArrayList<>(List.of(System.getenv("OUTRIGGER_COMMAND").split("\n")));
      command.add("demo");
      ProcessBuilder builder = new ProcessBuilder(command);
      builder
          .environment()
          .putAll(
              Map.of(
                  "OUTRIGGER_LISTEN", "127.0.0.1:" + port,
                  "OUTRIGGER_ADMIN_LISTEN", "127.0.0.1:" + admin));
      Process process =
          builder
              .redirectOutput(ProcessBuilder.Redirect.DISCARD)
              .redirectError(ProcessBuilder.Redirect.DISCARD)
              .start();
      long started = System.nanoTime();
      while (!isReady("http://127.0.0.1:" + admin + "/readyz")) {
        assertTrue(since(started).toSeconds() < 30, "the sidecar did not become ready");
        Thread.sleep(20);
      }
      return new RealSidecar(process);
    }

    @Override
    public void close() throws Exception {
      process.destroyForcibly().waitFor();
    }

    private static boolean isReady(String url) {
      try {
        return ((HttpURLConnection) URI.create(url).toURL().openConnection()).getResponseCode()
            == HttpURLConnection.HTTP_OK;
      } catch (IOException refused) {
        return false;
      }
    }
  }

  private static void answer(FakeSidecar.Conversation<Request, Response> conversation) {
    conversation.send(Response.newBuilder().setId("r1").build());
  }

  private static void assertAsks(String address, NetworkException thrown) {
    String question = "is the sidecar running at " + address + "?";
    assertTrue(thrown.getMessage().contains(question), thrown.getMessage());
  }

  private static Duration since(long nanos) {
    return Duration.ofNanos(System.nanoTime() - nanos);
  }

  private static int freePort() throws IOException {
    try (ServerSocket socket = new ServerSocket(0)) {
      return socket.getLocalPort();
    }
  }
}
