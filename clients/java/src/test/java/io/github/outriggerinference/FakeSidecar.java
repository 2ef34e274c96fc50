package io.github.outriggerinference;

import io.github.outriggerinference.v1.GenerateObjectRequest;
import io.github.outriggerinference.v1.GenerateObjectResponse;
import io.github.outriggerinference.v1.GenerateRequest;
import io.github.outriggerinference.v1.GenerateResponse;
import io.github.outriggerinference.v1.GenerationServiceGrpc;
import io.github.outriggerinference.v1.InferenceServiceGrpc;
import io.github.outriggerinference.v1.Request;
import io.github.outriggerinference.v1.Response;
import io.github.outriggerinference.v1.RunToolsRequest;
import io.github.outriggerinference.v1.RunToolsResponse;
import io.github.outriggerinference.v1.StreamEvent;
import io.github.outriggerinference.v1.StreamGenerateRequest;
import io.github.outriggerinference.v1.StreamGenerateResponse;
import io.github.outriggerinference.v1.StreamObjectRequest;
import io.github.outriggerinference.v1.StreamObjectResponse;
import io.grpc.Grpc;
import io.grpc.InsecureServerCredentials;
import io.grpc.Metadata;
import io.grpc.Server;
import io.grpc.ServerBuilder;
import io.grpc.ServerCall;
import io.grpc.ServerCallHandler;
import io.grpc.ServerCredentials;
import io.grpc.ServerInterceptor;
import io.grpc.Status;
import io.grpc.netty.shaded.io.grpc.netty.NettyServerBuilder;
import io.grpc.netty.shaded.io.netty.channel.MultiThreadIoEventLoopGroup;
import io.grpc.netty.shaded.io.netty.channel.epoll.EpollIoHandler;
import io.grpc.netty.shaded.io.netty.channel.epoll.EpollServerDomainSocketChannel;
import io.grpc.netty.shaded.io.netty.channel.unix.DomainSocketAddress;
import io.grpc.protobuf.StatusProto;
import io.grpc.stub.ServerCallStreamObserver;
import io.grpc.stub.StreamObserver;
import java.io.IOException;
import java.nio.file.Path;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;

/**
 * A server in this process that plays the sidecar's side of each call as a test scripts it, on a
 * thread of the call's own.
 */
final class FakeSidecar implements AutoCloseable {
  private static final int WAIT_SECONDS = 10;

  /** One side of a conversation. Throws to fail the call. */
  interface Script<Q, A> {
    void play(Conversation<Q, A> conversation) throws Exception;
  }

  /** A call as the sidecar sees it. */
  static final class Conversation<Q, A> {
    private final BlockingQueue<Q> requests = new LinkedBlockingQueue<>();
    private final CountDownLatch cancelled = new CountDownLatch(1);
    private final ServerCallStreamObserver<A> answers;

    private Conversation(StreamObserver<A> answers) {
      this.answers = (ServerCallStreamObserver<A>) answers;
      this.answers.setOnCancelHandler(cancelled::countDown);
    }

    /** The next message of the client. */
    Q receive() throws InterruptedException {
      Q request = requests.poll(WAIT_SECONDS, TimeUnit.SECONDS);
      if (request == null) {
        throw new IllegalStateException("the client sent nothing");
      }
      return request;
    }

    /** Whether the client has sent something that was not received. */
    boolean hasRequest() {
      return !requests.isEmpty();
    }

    void send(A answer) {
      answers.onNext(answer);
    }

    /** Whether the client takes more without buffering. */
    boolean isReady() {
      return answers.isReady();
    }

    /** Waits until the client has cancelled the call. */
    boolean awaitCancel() throws InterruptedException {
      return cancelled.await(WAIT_SECONDS, TimeUnit.SECONDS);
    }
  }

  Script<Request, Response> complete;
  Script<Request, StreamEvent> stream;
  Script<GenerateRequest, GenerateResponse> generate;
  Script<StreamGenerateRequest, StreamGenerateResponse> streamGenerate;
  Script<GenerateObjectRequest, GenerateObjectResponse> generateObject;
  Script<StreamObjectRequest, StreamObjectResponse> streamObject;
  Script<RunToolsRequest, RunToolsResponse> runTools;

  /** The user agent of the last call. */
  volatile String userAgent;

  /** The header with the access key of the last call, or null. */
  volatile String authorization;

  /** The host to which the last call was addressed. */
  volatile String authority;

  private final Server server;

  private FakeSidecar(ServerBuilder<?> builder, Script<Request, Response> complete)
      throws IOException {
    this.complete = complete;
    server =
        builder
            .addService(new Inference())
            .addService(new Generation())
            .intercept(new Headers())
            .maxInboundMessageSize(64 << 20)
            .build()
            .start();
  }

  FakeSidecar() throws IOException {
    this(InsecureServerCredentials.create());
  }

  /** A server that calls wait for, so that its script must be there before it listens. */
  FakeSidecar(int port, Script<Request, Response> complete) throws IOException {
    this(Grpc.newServerBuilderForPort(port, InsecureServerCredentials.create()), complete);
  }

  FakeSidecar(ServerCredentials credentials) throws IOException {
    this(Grpc.newServerBuilderForPort(0, credentials), null);
  }

  static FakeSidecar onUnixSocket(Path path) throws IOException {
    return new FakeSidecar(
        NettyServerBuilder.forAddress(new DomainSocketAddress(path.toFile()))
            .channelType(EpollServerDomainSocketChannel.class)
            .bossEventLoopGroup(new MultiThreadIoEventLoopGroup(1, EpollIoHandler.newFactory()))
            .workerEventLoopGroup(new MultiThreadIoEventLoopGroup(1, EpollIoHandler.newFactory())),
        null);
  }

  String address() {
    return "localhost:" + server.getPort();
  }

  OutriggerClient connect() {
    return OutriggerClient.connect(address());
  }

  @Override
  public void close() throws InterruptedException {
    server.shutdownNow();
    server.awaitTermination(WAIT_SECONDS, TimeUnit.SECONDS);
  }

  private static <Q, A> StreamObserver<Q> play(Script<Q, A> script, StreamObserver<A> answers) {
    Conversation<Q, A> conversation = new Conversation<>(answers);
    Thread thread =
        new Thread(
            () -> {
              try {
                script.play(conversation);
                if (conversation.cancelled.getCount() > 0) {
                  answers.onCompleted();
                }
              } catch (Throwable failed) {
                boolean isStatus = StatusProto.fromThrowable(failed) != null;
                answers.onError(
                    isStatus ? failed : Status.INTERNAL.withCause(failed).asException());
              }
            });
    thread.setDaemon(true);
    thread.start();
    return new StreamObserver<>() {
      @Override
      public void onNext(Q request) {
        conversation.requests.add(request);
      }

      @Override
      public void onError(Throwable cancelled) {}

      @Override
      public void onCompleted() {}
    };
  }

  private static <Q, A> void play(Script<Q, A> script, Q request, StreamObserver<A> answers) {
    play(script, answers).onNext(request);
  }

  private final class Inference extends InferenceServiceGrpc.InferenceServiceImplBase {
    @Override
    public void complete(Request request, StreamObserver<Response> answers) {
      play(complete, request, answers);
    }

    @Override
    public void stream(Request request, StreamObserver<StreamEvent> answers) {
      play(stream, request, answers);
    }
  }

  private final class Generation extends GenerationServiceGrpc.GenerationServiceImplBase {
    @Override
    public void generate(GenerateRequest request, StreamObserver<GenerateResponse> answers) {
      play(generate, request, answers);
    }

    @Override
    public void streamGenerate(
        StreamGenerateRequest request, StreamObserver<StreamGenerateResponse> answers) {
      play(streamGenerate, request, answers);
    }

    @Override
    public void generateObject(
        GenerateObjectRequest request, StreamObserver<GenerateObjectResponse> answers) {
      play(generateObject, request, answers);
    }

    @Override
    public void streamObject(
        StreamObjectRequest request, StreamObserver<StreamObjectResponse> answers) {
      play(streamObject, request, answers);
    }

    @Override
    public StreamObserver<RunToolsRequest> runTools(StreamObserver<RunToolsResponse> answers) {
      return play(runTools, answers);
    }
  }

  private final class Headers implements ServerInterceptor {
    @Override
    public <Q, A> ServerCall.Listener<Q> interceptCall(
        ServerCall<Q, A> call, Metadata headers, ServerCallHandler<Q, A> next) {
      userAgent = headers.get(Metadata.Key.of("user-agent", Metadata.ASCII_STRING_MARSHALLER));
      authorization =
          headers.get(Metadata.Key.of("authorization", Metadata.ASCII_STRING_MARSHALLER));
      authority = call.getAuthority();
      return next.startCall(call, headers);
    }
  }
}
