package io.github.outriggerinference;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.github.outriggerinference.errors.AbortException;
import io.github.outriggerinference.errors.ConfigurationException;
import io.github.outriggerinference.errors.InvalidRequestException;
import io.github.outriggerinference.errors.NetworkException;
import io.github.outriggerinference.errors.RequestTimeoutException;
import io.github.outriggerinference.v1.Request;
import io.github.outriggerinference.v1.Response;
import io.grpc.Context;
import io.grpc.TlsChannelCredentials;
import io.grpc.TlsServerCredentials;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.Key;
import java.security.KeyStore;
import java.time.Duration;
import java.util.Base64;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.function.Executable;
import org.junit.jupiter.api.io.TempDir;

@DisplayName("A connection")
class ConnectionTest {
  private static final Request REQUEST = Request.newBuilder().setModel("m").build();

  private FakeSidecar sidecar;
  private OutriggerClient client;

  @BeforeEach
  void start() throws IOException {
    sidecar = new FakeSidecar();
    sidecar.complete = conversation -> conversation.send(Response.newBuilder().setId("r1").build());
    client = sidecar.connect();
  }

  @AfterEach
  void stop() throws InterruptedException {
    client.close();
    sidecar.close();
  }

  @Test
  void namesThePackageAndItsVersionInEveryCall() {
    client.complete(REQUEST);
    String expected = "outrigger-java/" + Version.VALUE + " grpc-java-netty/";
    assertTrue(sidecar.userAgent.startsWith(expected), sidecar.userAgent);
  }

  @Test
  void sendsItsAccessKeyWithEveryCall() {
    client.complete(REQUEST);
    assertNull(sidecar.authorization);
    try (OutriggerClient named =
        OutriggerClient.builder().address(sidecar.address()).accessKey("a-key").connect()) {
      named.complete(REQUEST);
      assertEquals("Bearer a-key", sidecar.authorization);
    }
  }

  @Test
  void carriesMessagesOf32MebibytesInBothDirections() {
    String text = "x".repeat(32 << 20);
    sidecar.complete =
        conversation -> {
          String model = conversation.receive().getModel();
          conversation.send(Response.newBuilder().setModel(model).build());
        };
    assertEquals(text, client.complete(Request.newBuilder().setModel(text).build()).getModel());
  }

  @Test
  void refusesAnAnswerOverItsLimit() {
    sidecar.complete =
        conversation ->
            conversation.send(Response.newBuilder().setModel("x".repeat(2_000)).build());
    try (OutriggerClient small =
        OutriggerClient.builder().address(sidecar.address()).maxMessageBytes(1_000).connect()) {
      assertThrows(InvalidRequestException.class, () -> small.complete(REQUEST));
    }
  }

  @Test
  void failsWithANetworkErrorWhereNobodyListens() throws IOException {
    int port = freePort();
    try (OutriggerClient nobody = OutriggerClient.connect("localhost:" + port)) {
      NetworkException thrown =
          assertThrows(NetworkException.class, () -> nobody.complete(REQUEST));
      assertTrue(thrown.retryable());
    }
  }

  @Test
  void waitsForASidecarThatStartsLaterWhereItIsToldTo() throws Exception {
    int port = freePort();
    try (OutriggerClient patient =
        OutriggerClient.builder().address("localhost:" + port).waitForReady().connect()) {
      assertThrows(
          RequestTimeoutException.class, () -> patient.complete(REQUEST, Duration.ofMillis(100)));
      CompletableFuture<Response> answer = patient.completeAsync(REQUEST, Duration.ofSeconds(20));
      try (FakeSidecar late = new FakeSidecar(port, sidecar.complete)) {
        assertEquals("r1", answer.get(20, TimeUnit.SECONDS).getId());
      }
    }
  }

  @Test
  void usesTlsWithAnAuthorityOfOnesOwn(@TempDir Path folder) throws Exception {
    KeyStore keys = selfSigned(folder);
    Key key = keys.getKey("sidecar", PASSWORD.toCharArray());
    byte[] certificate = pem("CERTIFICATE", keys.getCertificate("sidecar").getEncoded());
    var credentials =
        TlsServerCredentials.create(
            new ByteArrayInputStream(certificate),
            new ByteArrayInputStream(pem("PRIVATE KEY", key.getEncoded())));
    try (FakeSidecar secure = new FakeSidecar(credentials)) {
      secure.complete = sidecar.complete;
      try (OutriggerClient trusting =
              OutriggerClient.builder()
                  .address(secure.address())
                  .credentials(
                      TlsChannelCredentials.newBuilder()
                          .trustManager(new ByteArrayInputStream(certificate))
                          .build())
                  .connect();
          OutriggerClient distrusting =
              OutriggerClient.builder().address(secure.address()).tls().connect()) {
        assertEquals("r1", trusting.complete(REQUEST).getId());
        assertThrows(NetworkException.class, () -> distrusting.complete(REQUEST));
      }
    }
  }

  private static final String PASSWORD = "password";

  private static KeyStore selfSigned(Path folder) throws Exception {
    Path file = folder.resolve("keys.p12");
    String keytool = Path.of(System.getProperty("java.home"), "bin", "keytool").toString();
    Process process =
        new ProcessBuilder(
                keytool,
                "-genkeypair",
                "-alias",
                "sidecar",
                "-keyalg",
                "EC",
                "-dname",
                "CN=localhost",
                "-ext",
                "san=dns:localhost",
                "-storetype",
                "PKCS12",
                "-keystore",
                file.toString(),
                "-storepass",
                PASSWORD)
            .redirectErrorStream(true)
            .start();
    String output = new String(process.getInputStream().readAllBytes());
    assertEquals(0, process.waitFor(), output);
    KeyStore keys = KeyStore.getInstance("PKCS12");
    try (InputStream in = Files.newInputStream(file)) {
      keys.load(in, PASSWORD.toCharArray());
    }
    return keys;
  }

  private static byte[] pem(String type, byte[] content) {
    String base64 = Base64.getMimeEncoder().encodeToString(content);
    return ("-----BEGIN " + type + "-----\n" + base64 + "\n-----END " + type + "-----\n")
        .getBytes();
  }

  @Test
  @EnabledOnOs(OS.LINUX)
  void goesOverAUnixSocket(@TempDir Path folder) throws Exception {
    Path socket = folder.resolve("outrigger.sock");
    try (FakeSidecar local = FakeSidecar.onUnixSocket(socket)) {
      local.complete = sidecar.complete;
      try (OutriggerClient near = OutriggerClient.connect("unix://" + socket)) {
        assertEquals("r1", near.complete(REQUEST).getId());
        // Node's HTTP/2 server takes no percent-encoded path.
        assertEquals("localhost", local.authority);
      }
    }
  }

  @Test
  void endsACallWhoseDeadlineExpires() {
    hang();
    RequestTimeoutException thrown =
        assertThrows(
            RequestTimeoutException.class, () -> client.complete(REQUEST, Duration.ofMillis(100)));
    assertTrue(thrown.retryable());
  }

  @Test
  void endsACallWhoseContextIsCancelled() throws Exception {
    HangingCall call = hang();
    Context.CancellableContext context = Context.current().withCancellation();
    CompletableFuture<Response> answer = context.call(() -> client.completeAsync(REQUEST, null));
    call.awaitArrival();
    context.cancel(null);
    ExecutionException thrown = assertThrows(ExecutionException.class, answer::get);
    assertInstanceOf(AbortException.class, thrown.getCause());
    call.awaitCancel();
  }

  @Test
  void endsACallWhoseFutureIsCancelled() throws Exception {
    HangingCall call = hang();
    CompletableFuture<Response> answer = client.completeAsync(REQUEST, null);
    call.awaitArrival();
    answer.cancel(true);
    call.awaitCancel();
  }

  @Test
  void endsACallWhoseThreadIsInterruptedAndKeepsTheInterrupt() throws Exception {
    HangingCall call = hang();
    CompletableFuture<Boolean> interrupted = new CompletableFuture<>();
    Thread caller =
        new Thread(
            () -> {
              assertThrows(AbortException.class, () -> client.complete(REQUEST));
              interrupted.complete(Thread.currentThread().isInterrupted());
            });
    caller.start();
    call.awaitArrival();
    caller.interrupt();
    assertTrue(interrupted.get(10, TimeUnit.SECONDS));
    call.awaitCancel();
  }

  @Test
  void endsTheCallsUnderWayWhenItIsClosed() throws Exception {
    HangingCall call = hang();
    CompletableFuture<Response> answer = client.completeAsync(REQUEST, null);
    call.awaitArrival();
    client.close();
    ExecutionException thrown = assertThrows(ExecutionException.class, answer::get);
    assertInstanceOf(NetworkException.class, thrown.getCause());
    call.awaitCancel();
  }

  @Test
  void saysThatItIsClosed() {
    client.close();
    GenerateOptions loop =
        GenerateOptions.builder()
            .model("m")
            .prompt("Hi")
            .tools(Tool.ofText("act", "Acts.", text -> text))
            .build();
    List<Executable> calls =
        List.of(
            () -> client.complete(REQUEST),
            () -> client.stream(REQUEST).hasNext(),
            () -> client.generate(loop));
    for (Executable call : calls) {
      ConfigurationException closed = assertThrows(ConfigurationException.class, call);
      assertTrue(closed.getMessage().endsWith("the client is closed"), closed.getMessage());
    }
  }

  private static int freePort() throws IOException {
    try (ServerSocket socket = new ServerSocket(0)) {
      return socket.getLocalPort();
    }
  }

  /** Lets the sidecar answer nothing. */
  private HangingCall hang() {
    HangingCall call = new HangingCall(new CountDownLatch(1), new CountDownLatch(1));
    sidecar.complete =
        conversation -> {
          call.arrived().countDown();
          if (conversation.awaitCancel()) {
            call.cancelled().countDown();
          }
        };
    return call;
  }

  private record HangingCall(CountDownLatch arrived, CountDownLatch cancelled) {
    void awaitArrival() throws InterruptedException {
      assertTrue(arrived.await(10, TimeUnit.SECONDS), "the call did not arrive");
    }

    void awaitCancel() throws InterruptedException {
      assertTrue(cancelled.await(10, TimeUnit.SECONDS), "the call was not cancelled");
    }
  }
}
