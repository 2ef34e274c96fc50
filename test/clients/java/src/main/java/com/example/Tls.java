package com.example;

import io.github.outriggerinference.v1.InferenceServiceGrpc;
import io.grpc.ChannelCredentials;
import io.grpc.Grpc;
import io.grpc.ManagedChannel;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.TlsChannelCredentials;
import io.grpc.health.v1.HealthGrpc;
import java.io.File;
import java.io.IOException;

/**
 * A sidecar that is reached over the network: it proves who it is by its certificate, and asks for
 * the caller's.
 */
final class Tls {
  static void checkTls() throws IOException {
    File folder = new File(System.getenv("OUTRIGGER_TLS_FOLDER"));
    File authority = new File(folder, "ca.crt");
    File certificate = new File(folder, "client.crt");
    File key = new File(folder, "client.key");
    complete(
        TlsChannelCredentials.newBuilder()
            .trustManager(authority)
            .keyManager(certificate, key)
            .build());
    checkRefused(
        TlsChannelCredentials.newBuilder().trustManager(authority).build(),
        "without a certificate");
    checkRefused(
        TlsChannelCredentials.newBuilder().keyManager(certificate, key).build(),
        "without the authority");
  }

  private static void complete(ChannelCredentials credentials) {
    ManagedChannel channel =
        Grpc.newChannelBuilder(System.getenv("OUTRIGGER_TLS_ADDR"), credentials).build();
    try {
      new Calls(InferenceServiceGrpc.newBlockingStub(channel), HealthGrpc.newBlockingStub(channel))
          .checkComplete();
    } finally {
      channel.shutdownNow();
    }
  }

  private static void checkRefused(ChannelCredentials credentials, String how) {
    try {
      complete(credentials);
    } catch (StatusRuntimeException e) {
      Status.Code code = e.getStatus().getCode();
      Expect.that(code == Status.Code.UNAVAILABLE, "%s: %s, want UNAVAILABLE", how, code);
      return;
    }
    Expect.that(false, "%s: the call succeeded", how);
  }

  private Tls() {}
}
