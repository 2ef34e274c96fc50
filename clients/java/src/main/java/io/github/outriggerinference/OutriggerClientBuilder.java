package io.github.outriggerinference;

import io.grpc.CallOptions;
import io.grpc.ChannelCredentials;
import io.grpc.Grpc;
import io.grpc.InsecureChannelCredentials;
import io.grpc.ManagedChannelBuilder;
import io.grpc.Metadata;
import io.grpc.TlsChannelCredentials;
import io.grpc.stub.MetadataUtils;
import java.time.Duration;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;

/** Settings of a connection. */
public final class OutriggerClientBuilder {
  /** The variable that names the sidecar's address. */
  private static final String ADDRESS_VARIABLE = "OUTRIGGER_ADDRESS";

  /** The variable that holds the access key. */
  private static final String ACCESS_KEY_VARIABLE = "OUTRIGGER_ACCESS_KEY";

  private static final Metadata.Key<String> AUTHORIZATION =
      Metadata.Key.of("authorization", Metadata.ASCII_STRING_MARSHALLER);

  private static final String DEFAULT_ADDRESS = "localhost:6190";

  /** The sidecar's own limit, 32 MiB, and room for what it adds to a message. */
  private static final int DEFAULT_MAX_MESSAGE_BYTES = 33 << 20;

  private static final Duration DEFAULT_KEEP_ALIVE = Duration.ofSeconds(30);
  private static final int KEEP_ALIVE_TIMEOUT_SECONDS = 10;

  private String address;
  private String accessKey;
  private ChannelCredentials credentials = InsecureChannelCredentials.create();
  private int maxMessageBytes = DEFAULT_MAX_MESSAGE_BYTES;
  private Duration keepAlive = DEFAULT_KEEP_ALIVE;
  private CallOptions callOptions = CallOptions.DEFAULT;
  private Executor toolExecutor;
  private boolean hideToolErrors;
  private Consumer<ManagedChannelBuilder<?>> channelSettings = builder -> {};

  OutriggerClientBuilder() {}

  /**
   * Where the sidecar listens: {@code host:port}, {@code unix:///path} on Linux, or another target
   * of gRPC. Default: {@code OUTRIGGER_ADDRESS}, or {@code localhost:6190} if that is not set.
   */
  public OutriggerClientBuilder address(String address) {
    this.address = address;
    return this;
  }

  /**
   * The key for a sidecar that asks its callers for one. Default: {@code OUTRIGGER_ACCESS_KEY}, or
   * none if that is not set. Without TLS the key travels in the clear.
   */
  public OutriggerClientBuilder accessKey(String key) {
    accessKey = key;
    return this;
  }

  /** Uses TLS with the certificate authorities that Java trusts. */
  public OutriggerClientBuilder tls() {
    return credentials(TlsChannelCredentials.create());
  }

  /**
   * Uses these credentials, for instance TLS with an authority or a client certificate of one's
   * own.
   */
  public OutriggerClientBuilder credentials(ChannelCredentials credentials) {
    this.credentials = credentials;
    return this;
  }

  /** How large a message may be. Default 33 MiB: the sidecar's limit and some more. */
  public OutriggerClientBuilder maxMessageBytes(int bytes) {
    maxMessageBytes = bytes;
    return this;
  }

  /** After how much silence a call in progress pings the sidecar. Default 30 s. */
  public OutriggerClientBuilder keepAlive(Duration interval) {
    keepAlive = interval;
    return this;
  }

  /**
   * Executes tools, instead of threads of the client's own. Must not run them in the caller's
   * thread.
   */
  public OutriggerClientBuilder toolExecutor(Executor executor) {
    toolExecutor = executor;
    return this;
  }

  /**
   * Sends models "the tool failed" instead of the message of a tool's exception, which may hold
   * addresses, paths or data of others. A {@link ToolRefusalException} is told all the same, and
   * what is wrong with arguments. {@link Tool#hideErrors} overrides it for one tool.
   */
  public OutriggerClientBuilder hideToolErrors() {
    hideToolErrors = true;
    return this;
  }

  /**
   * Lets calls wait for a sidecar that does not listen yet, up to their deadlines, instead of
   * failing at once: for a program that starts together with its sidecar.
   */
  public OutriggerClientBuilder waitForReady() {
    callOptions = callOptions.withWaitForReady();
    return this;
  }

  /** Changes any other setting of gRPC, for instance adds an interceptor. */
  public OutriggerClientBuilder configureChannel(Consumer<ManagedChannelBuilder<?>> settings) {
    channelSettings = settings;
    return this;
  }

  /** Makes the client. The connection itself is made by the first call. */
  public OutriggerClient connect() {
    String target = target();
    ManagedChannelBuilder<?> builder =
        Grpc.newChannelBuilder(target, credentials)
            .userAgent("outrigger-java/" + Version.VALUE)
            .maxInboundMessageSize(maxMessageBytes)
            .keepAliveTime(Durations.toNanos(keepAlive), TimeUnit.NANOSECONDS)
            .keepAliveTimeout(KEEP_ALIVE_TIMEOUT_SECONDS, TimeUnit.SECONDS)
            // The names of service configurations are looked up with every name otherwise.
            .disableServiceConfigLookUp()
            // The first one is next to the connection, so that it sees what others do.
            .intercept(new UnsentCalls());
    if (target.startsWith("unix:")) {
      // Otherwise it is the socket's path, percent-encoded, which HTTP/2 servers reject.
      builder.overrideAuthority("localhost");
    }
    sendAccessKey(builder);
    channelSettings.accept(builder);
    return new OutriggerClient(
        new Connection(builder.build(), target, toolExecutor, hideToolErrors), callOptions);
  }

  private void sendAccessKey(ManagedChannelBuilder<?> builder) {
    String key = accessKey == null ? variable(ACCESS_KEY_VARIABLE) : accessKey;
    if (key == null) {
      return;
    }
    Metadata headers = new Metadata();
    headers.put(AUTHORIZATION, "Bearer " + key);
    builder.intercept(MetadataUtils.newAttachHeadersInterceptor(headers));
  }

  private String target() {
    if (address != null) {
      return address;
    }
    String variable = variable(ADDRESS_VARIABLE);
    return variable == null ? DEFAULT_ADDRESS : variable;
  }

  /** The value of a variable, or null where it is not set or empty. */
  private static String variable(String name) {
    String value = System.getenv(name);
    return value == null || value.isBlank() ? null : value.strip();
  }
}
