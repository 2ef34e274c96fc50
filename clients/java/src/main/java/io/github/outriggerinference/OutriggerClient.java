package io.github.outriggerinference;

import io.github.outriggerinference.errors.NotFoundException;
import io.github.outriggerinference.v1.Capability;
import io.github.outriggerinference.v1.CatalogServiceGrpc;
import io.github.outriggerinference.v1.CountTokensResponse;
import io.github.outriggerinference.v1.EmbedRequest;
import io.github.outriggerinference.v1.EmbedResponse;
import io.github.outriggerinference.v1.EmbeddingServiceGrpc;
import io.github.outriggerinference.v1.GenerateObjectRequest;
import io.github.outriggerinference.v1.GenerateRequest;
import io.github.outriggerinference.v1.GenerateResponse;
import io.github.outriggerinference.v1.GenerationServiceGrpc;
import io.github.outriggerinference.v1.GetLatestModelRequest;
import io.github.outriggerinference.v1.GetModelRequest;
import io.github.outriggerinference.v1.InferenceServiceGrpc;
import io.github.outriggerinference.v1.ListModelsRequest;
import io.github.outriggerinference.v1.ListModelsResponse;
import io.github.outriggerinference.v1.ModelInfo;
import io.github.outriggerinference.v1.Request;
import io.github.outriggerinference.v1.Response;
import io.github.outriggerinference.v1.RunToolsRequest;
import io.github.outriggerinference.v1.RunToolsResponse;
import io.github.outriggerinference.v1.StreamEvent;
import io.github.outriggerinference.v1.StreamGenerateRequest;
import io.github.outriggerinference.v1.StreamObjectRequest;
import io.grpc.CallOptions;
import io.grpc.Channel;
import io.grpc.ClientInterceptors;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Flow;
import java.util.function.Consumer;
import java.util.function.Supplier;
import java.util.stream.Stream;
import org.jspecify.annotations.NullMarked;
import org.jspecify.annotations.Nullable;

/**
 * Calls an Outrigger sidecar over one connection. Safe for use by many threads; make one and keep
 * it.
 *
 * <p>A call that fails throws an {@link io.github.outriggerinference.errors.OutriggerException}; a
 * future completes with one, and a publisher ends with one. A call ends early when its deadline
 * expires, its future is cancelled, its stream is closed, its subscription is cancelled, the thread
 * that waits for it is interrupted, or the {@code io.grpc.Context} in which it was made is
 * cancelled. The sidecar then ends its call of the provider as well.
 */
@NullMarked
public final class OutriggerClient implements AutoCloseable {
  private final Connection connection;
  private final CallObserver observer;
  private final Calls calls;

  OutriggerClient(Connection connection, CallOptions options) {
    this(connection, options, new CallObserver(Map.of(), call -> {}));
  }

  private OutriggerClient(Connection connection, CallOptions options, CallObserver observer) {
    this.connection = connection;
    this.observer = observer;
    ClosedClient closed = new ClosedClient(connection.channel());
    Channel channel = ClientInterceptors.intercept(connection.channel(), closed, observer);
    calls = new Calls(connection, channel, options);
  }

  /** Connects to {@code OUTRIGGER_ADDRESS}, or to {@code localhost:6190} if that is not set. */
  public static OutriggerClient connect() {
    return builder().connect();
  }

  /**
   * Connects to a sidecar, without TLS.
   *
   * @param address {@code host:port}, or {@code unix:///path} on Linux
   */
  public static OutriggerClient connect(String address) {
    return builder().address(address).connect();
  }

  /** Starts with the default address, without TLS. */
  public static OutriggerClientBuilder builder() {
    return new OutriggerClientBuilder();
  }

  /** Calls a model once. */
  public Response complete(Request request) {
    return complete(request, null);
  }

  /**
   * Calls a model once.
   *
   * @param deadline how long the call may take; null for no limit of this call's own
   */
  public Response complete(Request request, @Nullable Duration deadline) {
    return calls.unary(
        InferenceServiceGrpc.getCompleteMethod(), request, Optional.ofNullable(deadline));
  }

  /** Like {@link #complete(Request, Duration)}, without waiting. */
  public CompletableFuture<Response> completeAsync(Request request, @Nullable Duration deadline) {
    return calls.unaryAsync(
        InferenceServiceGrpc.getCompleteMethod(), request, Optional.ofNullable(deadline));
  }

  /**
   * Counts the tokens of a request's input, as its provider does; an estimate if the provider
   * counts none.
   */
  public CountTokensResponse countTokens(Request request) {
    return calls.unary(InferenceServiceGrpc.getCountTokensMethod(), request, Optional.empty());
  }

  /** Embeds texts. */
  public EmbedResponse embed(EmbedRequest request) {
    return embed(request, null);
  }

  /**
   * Embeds texts.
   *
   * @param deadline how long the call may take; null for no limit of this call's own
   */
  public EmbedResponse embed(EmbedRequest request, @Nullable Duration deadline) {
    return calls.unary(
        EmbeddingServiceGrpc.getEmbedMethod(), request, Optional.ofNullable(deadline));
  }

  /** Calls a model once, and returns the events as they arrive. */
  public ResponseStream stream(Request request) {
    return stream(request, null);
  }

  /**
   * Calls a model once, and returns the events as they arrive.
   *
   * @param deadline how long the call may take, up to its end; null for no separate limit
   */
  public ResponseStream stream(Request request, @Nullable Duration deadline) {
    return new ResponseStream(streamCall(request, deadline));
  }

  /** Like {@link #stream(Request, Duration)}, for each subscriber. */
  public Flow.Publisher<StreamEvent> streamPublisher(Request request, @Nullable Duration deadline) {
    return new EventPublisher<>(streamCall(request, deadline));
  }

  /**
   * Generates, with retries and time limits, and executes the tools that have code. The options are
   * set by a lambda:
   *
   * <pre>{@code client.generate(o -> o.model("gpt-5.2").prompt("Hello").tools(getWeather))}</pre>
   */
  public GenerationResult generate(Consumer<GenerateOptions.Builder> options) {
    return generate(optionsOf(options));
  }

  /** Like {@link #generate(Consumer)}, with options that were made before. */
  public GenerationResult generate(GenerateOptions options) {
    if (!options.hasExecutableTools()) {
      return resultOf(
          calls.unary(
              GenerationServiceGrpc.getGenerateMethod(), requestOf(options), options.deadline()));
    }
    try (GenerationStream stream = new GenerationStream(runTools(options, true))) {
      return stream.result();
    }
  }

  /** Like {@link #generate(Consumer)}, without waiting. */
  public CompletableFuture<GenerationResult> generateAsync(GenerateOptions options) {
    return options.hasExecutableTools()
        ? Futures.map(LastEvent.of(runTools(options, true)), OutriggerClient::resultOf)
        : Futures.map(
            calls.unaryAsync(
                GenerationServiceGrpc.getGenerateMethod(), requestOf(options), options.deadline()),
            OutriggerClient::resultOf);
  }

  /** Like {@link #generate(Consumer)}, but returns the events as they arrive. */
  public GenerationStream streamGenerate(Consumer<GenerateOptions.Builder> options) {
    return streamGenerate(optionsOf(options));
  }

  /** Like {@link #streamGenerate(Consumer)}, with options that were made before. */
  public GenerationStream streamGenerate(GenerateOptions options) {
    return new GenerationStream(generationCall(options));
  }

  /** Like {@link #streamGenerate(Consumer)}, for each subscriber. */
  public Flow.Publisher<GenerationEvent> generationPublisher(GenerateOptions options) {
    return new EventPublisher<>(generationCall(options));
  }

  /**
   * Generates an object of a record or class. Tools are not executed.
   *
   * @throws io.github.outriggerinference.errors.NoObjectGeneratedException if it does not match
   * @throws IllegalArgumentException as {@link ObjectType#of}
   */
  public <T> ObjectResult<T> generateObject(
      Class<T> objectClass, Consumer<GenerateOptions.Builder> options) {
    return generateObject(ObjectType.of(objectClass), optionsOf(options));
  }

  /** Like {@link #generateObject(Class, Consumer)}, with options that were made before. */
  public <T> ObjectResult<T> generateObject(Class<T> objectClass, GenerateOptions options) {
    return generateObject(ObjectType.of(objectClass), options);
  }

  /** Like {@link #generateObject(Class, Consumer)}, for any type, such as a list. */
  public <T> ObjectResult<T> generateObject(
      ObjectType<T> type, Consumer<GenerateOptions.Builder> options) {
    return generateObject(type, optionsOf(options));
  }

  /** Like {@link #generateObject(ObjectType, Consumer)}, with options that were made before. */
  public <T> ObjectResult<T> generateObject(ObjectType<T> type, GenerateOptions options) {
    return type.resultOf(
        calls
            .unary(
                GenerationServiceGrpc.getGenerateObjectMethod(),
                objectRequestOf(type, options),
                options.deadline())
            .getResult());
  }

  /** Like {@link #generateObject(Class, Consumer)}, without waiting. */
  public <T> CompletableFuture<ObjectResult<T>> generateObjectAsync(
      Class<T> objectClass, GenerateOptions options) {
    return generateObjectAsync(ObjectType.of(objectClass), options);
  }

  /** Like {@link #generateObject(ObjectType, Consumer)}, without waiting. */
  public <T> CompletableFuture<ObjectResult<T>> generateObjectAsync(
      ObjectType<T> type, GenerateOptions options) {
    return Futures.map(
        calls.unaryAsync(
            GenerationServiceGrpc.getGenerateObjectMethod(),
            objectRequestOf(type, options),
            options.deadline()),
        response -> type.resultOf(response.getResult()));
  }

  /** Like {@link #generateObject(Class, Consumer)}, but returns the object as it arrives. */
  public <T> ObjectStream<T> streamObject(
      Class<T> objectClass, Consumer<GenerateOptions.Builder> options) {
    return streamObject(ObjectType.of(objectClass), optionsOf(options));
  }

  /** Like {@link #streamObject(Class, Consumer)}, with options that were made before. */
  public <T> ObjectStream<T> streamObject(Class<T> objectClass, GenerateOptions options) {
    return streamObject(ObjectType.of(objectClass), options);
  }

  /** Like {@link #streamObject(Class, Consumer)}, for any type, such as a list. */
  public <T> ObjectStream<T> streamObject(
      ObjectType<T> type, Consumer<GenerateOptions.Builder> options) {
    return streamObject(type, optionsOf(options));
  }

  /** Like {@link #streamObject(ObjectType, Consumer)}, with options that were made before. */
  public <T> ObjectStream<T> streamObject(ObjectType<T> type, GenerateOptions options) {
    return new ObjectStream<>(objectCall(type, options));
  }

  /** Like {@link #streamObject(Class, Consumer)}, for each subscriber. */
  public <T> Flow.Publisher<ObjectEvent<T>> objectPublisher(
      Class<T> objectClass, GenerateOptions options) {
    return objectPublisher(ObjectType.of(objectClass), options);
  }

  /** Like {@link #streamObject(ObjectType, Consumer)}, for each subscriber. */
  public <T> Flow.Publisher<ObjectEvent<T>> objectPublisher(
      ObjectType<T> type, GenerateOptions options) {
    return new EventPublisher<>(objectCall(type, options));
  }

  /** The run engine: generations that are stored, and that can continue in the background. */
  public Runs runs() {
    return new Runs(calls);
  }

  /** The stored conversations, which runs read and append to. */
  public Threads threads() {
    return new Threads(calls);
  }

  /**
   * What the catalog knows about a model, by its id or an alias. Empty if it does not know it.
   *
   * @param provider name of its provider; empty for any
   */
  public Optional<ModelInfo> getModelInfo(String model, String provider) {
    GetModelRequest request =
        GetModelRequest.newBuilder().setModel(model).setProvider(provider).build();
    return unlessNotFound(
        () -> calls.unary(CatalogServiceGrpc.getGetModelMethod(), request, Optional.empty()));
  }

  /**
   * The known models that have all capabilities, newest first within a provider. Fetches page after
   * page.
   *
   * @param provider name of the provider; empty for all
   */
  public Stream<ModelInfo> listModels(String provider, Capability... capabilities) {
    ListModelsRequest.Builder request =
        ListModelsRequest.newBuilder()
            .setProvider(provider)
            .addAllCapabilities(List.of(capabilities));
    return Pages.stream(
        "",
        token ->
            calls.unary(
                CatalogServiceGrpc.getListModelsMethod(),
                request.clone().setPageToken(token).build(),
                Optional.empty()),
        ListModelsResponse::getModelsList,
        ListModelsResponse::getNextPageToken);
  }

  /** A provider's newest model that has all capabilities. Empty if none has. */
  public Optional<ModelInfo> getLatestModel(String provider, Capability... capabilities) {
    GetLatestModelRequest request =
        GetLatestModelRequest.newBuilder()
            .setProvider(provider)
            .addAllCapabilities(List.of(capabilities))
            .build();
    return unlessNotFound(
        () -> calls.unary(CatalogServiceGrpc.getGetLatestModelMethod(), request, Optional.empty()));
  }

  /**
   * The same client, over the same connection, which sends these headers with its calls, beside
   * those set before: for instance {@code x-request-id}. Closing either one closes the connection.
   */
  public OutriggerClient withHeaders(Map<String, String> headers) {
    Map<String, String> all = new HashMap<>(observer.headers());
    headers.forEach((name, value) -> all.put(name.toLowerCase(Locale.ROOT), value));
    CallObserver further = new CallObserver(Map.copyOf(all), observer.listener());
    return new OutriggerClient(connection, calls.options(), further);
  }

  /**
   * The same client, over the same connection, which tells a listener of each call that ended: its
   * code, headers and request id. The listener must not block.
   */
  public OutriggerClient onCall(Consumer<CallInfo> listener) {
    CallObserver further = new CallObserver(observer.headers(), listener);
    return new OutriggerClient(connection, calls.options(), further);
  }

  /** The connection, for the generated stubs of services that this class does not cover. */
  public Channel channel() {
    return connection.channel();
  }

  /** Cancels the calls in progress and closes the connection. */
  @Override
  public void close() {
    connection.close();
  }

  private static <T> Optional<T> unlessNotFound(Supplier<T> find) {
    try {
      return Optional.of(find.get());
    } catch (NotFoundException missing) {
      return Optional.empty();
    }
  }

  private StreamingCall<StreamEvent> streamCall(Request request, @Nullable Duration deadline) {
    return calls.streaming(
        InferenceServiceGrpc.getStreamMethod(),
        request,
        Optional.ofNullable(deadline),
        ResponseDecoder::new);
  }

  private StreamingCall<GenerationEvent> generationCall(GenerateOptions options) {
    if (options.hasExecutableTools()) {
      return runTools(options, false);
    }
    return calls.streaming(
        GenerationServiceGrpc.getStreamGenerateMethod(),
        StreamGenerateRequest.newBuilder().setOptions(options.toProto()).build(),
        options.deadline(),
        GenerationDecoder::new);
  }

  private StreamingCall<GenerationEvent> runTools(GenerateOptions options, boolean omitEvents) {
    return (sink, demand) -> {
      ToolLoop loop =
          new ToolLoop(
              options,
              connection.toolRunner(options.toolConcurrency()),
              connection.hidesToolErrors());
      EventReceiver<RunToolsRequest, RunToolsResponse, GenerationEvent> receiver =
          new EventReceiver<>(loop, sink, demand);
      calls.bidirectional(
          GenerationServiceGrpc.getRunToolsMethod(),
          options.deadline(),
          receiver,
          requests -> loop.open(requests, omitEvents));
      return receiver;
    };
  }

  private <T> StreamingCall<ObjectEvent<T>> objectCall(
      ObjectType<T> type, GenerateOptions options) {
    return calls.streaming(
        GenerationServiceGrpc.getStreamObjectMethod(),
        StreamObjectRequest.newBuilder()
            .setOptions(options.toProto())
            .setObject(type.format(options.objectStrategy()))
            .build(),
        options.deadline(),
        () -> new ObjectDecoder<>(type));
  }

  private static GenerateOptions optionsOf(Consumer<GenerateOptions.Builder> options) {
    GenerateOptions.Builder builder = GenerateOptions.builder();
    options.accept(builder);
    return builder.build();
  }

  private static GenerateRequest requestOf(GenerateOptions options) {
    return GenerateRequest.newBuilder().setOptions(options.toProto()).build();
  }

  private static GenerateObjectRequest objectRequestOf(
      ObjectType<?> type, GenerateOptions options) {
    return GenerateObjectRequest.newBuilder()
        .setOptions(options.toProto())
        .setObject(type.format(options.objectStrategy()))
        .build();
  }

  private static GenerationResult resultOf(GenerateResponse response) {
    return new GenerationResult(response.getResult());
  }

  /** A complete generation ends with this event. */
  private static GenerationResult resultOf(GenerationEvent last) {
    return ((GenerationEvent.Finish) last).result();
  }
}
