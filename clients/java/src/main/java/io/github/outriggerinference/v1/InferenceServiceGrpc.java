package io.github.outriggerinference.v1;

import static io.grpc.MethodDescriptor.generateFullMethodName;

/**
 * <pre>
 * Calls a model once. This service does not run tools or rewrite prompts, and each RPC makes exactly
 * one call of the provider's API, unless the sidecar is configured with middleware that retries a
 * call, sends it to another provider, refuses it or answers it from a cache.
 * A failed call ends with the gRPC status of its `ErrorKind` and carries, as status details,
 * an `InferenceError`, a `google.rpc.ErrorInfo`, a `google.rpc.RetryInfo` where a delay is
 * known, and a `google.rpc.BadRequest` where a field of the request is wrong.
 * The caller's deadline bounds the whole call. When the caller cancels or disconnects, the
 * request to the provider is aborted at once.
 * </pre>
 */
@io.grpc.stub.annotations.GrpcGenerated
public final class InferenceServiceGrpc {

  private InferenceServiceGrpc() {}

  public static final java.lang.String SERVICE_NAME = "outrigger.v1.InferenceService";

  // Static method descriptors that strictly reflect the proto.
  private static volatile io.grpc.MethodDescriptor<io.github.outriggerinference.v1.Request,
      io.github.outriggerinference.v1.Response> getCompleteMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "Complete",
      requestType = io.github.outriggerinference.v1.Request.class,
      responseType = io.github.outriggerinference.v1.Response.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<io.github.outriggerinference.v1.Request,
      io.github.outriggerinference.v1.Response> getCompleteMethod() {
    io.grpc.MethodDescriptor<io.github.outriggerinference.v1.Request, io.github.outriggerinference.v1.Response> getCompleteMethod;
    if ((getCompleteMethod = InferenceServiceGrpc.getCompleteMethod) == null) {
      synchronized (InferenceServiceGrpc.class) {
        if ((getCompleteMethod = InferenceServiceGrpc.getCompleteMethod) == null) {
          InferenceServiceGrpc.getCompleteMethod = getCompleteMethod =
              io.grpc.MethodDescriptor.<io.github.outriggerinference.v1.Request, io.github.outriggerinference.v1.Response>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "Complete"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.github.outriggerinference.v1.Request.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.github.outriggerinference.v1.Response.getDefaultInstance()))
              .setSchemaDescriptor(new InferenceServiceMethodDescriptorSupplier("Complete"))
              .build();
        }
      }
    }
    return getCompleteMethod;
  }

  private static volatile io.grpc.MethodDescriptor<io.github.outriggerinference.v1.Request,
      io.github.outriggerinference.v1.StreamEvent> getStreamMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "Stream",
      requestType = io.github.outriggerinference.v1.Request.class,
      responseType = io.github.outriggerinference.v1.StreamEvent.class,
      methodType = io.grpc.MethodDescriptor.MethodType.SERVER_STREAMING)
  public static io.grpc.MethodDescriptor<io.github.outriggerinference.v1.Request,
      io.github.outriggerinference.v1.StreamEvent> getStreamMethod() {
    io.grpc.MethodDescriptor<io.github.outriggerinference.v1.Request, io.github.outriggerinference.v1.StreamEvent> getStreamMethod;
    if ((getStreamMethod = InferenceServiceGrpc.getStreamMethod) == null) {
      synchronized (InferenceServiceGrpc.class) {
        if ((getStreamMethod = InferenceServiceGrpc.getStreamMethod) == null) {
          InferenceServiceGrpc.getStreamMethod = getStreamMethod =
              io.grpc.MethodDescriptor.<io.github.outriggerinference.v1.Request, io.github.outriggerinference.v1.StreamEvent>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.SERVER_STREAMING)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "Stream"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.github.outriggerinference.v1.Request.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.github.outriggerinference.v1.StreamEvent.getDefaultInstance()))
              .setSchemaDescriptor(new InferenceServiceMethodDescriptorSupplier("Stream"))
              .build();
        }
      }
    }
    return getStreamMethod;
  }

  /**
   * Creates a new async stub that supports all call types for the service
   */
  public static InferenceServiceStub newStub(io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<InferenceServiceStub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<InferenceServiceStub>() {
        @java.lang.Override
        public InferenceServiceStub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new InferenceServiceStub(channel, callOptions);
        }
      };
    return InferenceServiceStub.newStub(factory, channel);
  }

  /**
   * Creates a new blocking-style stub that supports all types of calls on the service
   */
  public static InferenceServiceBlockingV2Stub newBlockingV2Stub(
      io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<InferenceServiceBlockingV2Stub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<InferenceServiceBlockingV2Stub>() {
        @java.lang.Override
        public InferenceServiceBlockingV2Stub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new InferenceServiceBlockingV2Stub(channel, callOptions);
        }
      };
    return InferenceServiceBlockingV2Stub.newStub(factory, channel);
  }

  /**
   * Creates a new blocking-style stub that supports unary and streaming output calls on the service
   */
  public static InferenceServiceBlockingStub newBlockingStub(
      io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<InferenceServiceBlockingStub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<InferenceServiceBlockingStub>() {
        @java.lang.Override
        public InferenceServiceBlockingStub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new InferenceServiceBlockingStub(channel, callOptions);
        }
      };
    return InferenceServiceBlockingStub.newStub(factory, channel);
  }

  /**
   * Creates a new ListenableFuture-style stub that supports unary calls on the service
   */
  public static InferenceServiceFutureStub newFutureStub(
      io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<InferenceServiceFutureStub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<InferenceServiceFutureStub>() {
        @java.lang.Override
        public InferenceServiceFutureStub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new InferenceServiceFutureStub(channel, callOptions);
        }
      };
    return InferenceServiceFutureStub.newStub(factory, channel);
  }

  /**
   * <pre>
   * Calls a model once. This service does not run tools or rewrite prompts, and each RPC makes exactly
   * one call of the provider's API, unless the sidecar is configured with middleware that retries a
   * call, sends it to another provider, refuses it or answers it from a cache.
   * A failed call ends with the gRPC status of its `ErrorKind` and carries, as status details,
   * an `InferenceError`, a `google.rpc.ErrorInfo`, a `google.rpc.RetryInfo` where a delay is
   * known, and a `google.rpc.BadRequest` where a field of the request is wrong.
   * The caller's deadline bounds the whole call. When the caller cancels or disconnects, the
   * request to the provider is aborted at once.
   * </pre>
   */
  public interface AsyncService {

    /**
     * <pre>
     * Sends the request and returns the whole response.
     * </pre>
     */
    default void complete(io.github.outriggerinference.v1.Request request,
        io.grpc.stub.StreamObserver<io.github.outriggerinference.v1.Response> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getCompleteMethod(), responseObserver);
    }

    /**
     * <pre>
     * Sends the request and returns events while the model generates. The rules that every stream
     * obeys are listed at `StreamEvent`. A failure before the first event is a status alone; after
     * the first event, an `error` event precedes the status.
     * </pre>
     */
    default void stream(io.github.outriggerinference.v1.Request request,
        io.grpc.stub.StreamObserver<io.github.outriggerinference.v1.StreamEvent> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getStreamMethod(), responseObserver);
    }
  }

  /**
   * Base class for the server implementation of the service InferenceService.
   * <pre>
   * Calls a model once. This service does not run tools or rewrite prompts, and each RPC makes exactly
   * one call of the provider's API, unless the sidecar is configured with middleware that retries a
   * call, sends it to another provider, refuses it or answers it from a cache.
   * A failed call ends with the gRPC status of its `ErrorKind` and carries, as status details,
   * an `InferenceError`, a `google.rpc.ErrorInfo`, a `google.rpc.RetryInfo` where a delay is
   * known, and a `google.rpc.BadRequest` where a field of the request is wrong.
   * The caller's deadline bounds the whole call. When the caller cancels or disconnects, the
   * request to the provider is aborted at once.
   * </pre>
   */
  public static abstract class InferenceServiceImplBase
      implements io.grpc.BindableService, AsyncService {

    @java.lang.Override public final io.grpc.ServerServiceDefinition bindService() {
      return InferenceServiceGrpc.bindService(this);
    }
  }

  /**
   * A stub to allow clients to do asynchronous rpc calls to service InferenceService.
   * <pre>
   * Calls a model once. This service does not run tools or rewrite prompts, and each RPC makes exactly
   * one call of the provider's API, unless the sidecar is configured with middleware that retries a
   * call, sends it to another provider, refuses it or answers it from a cache.
   * A failed call ends with the gRPC status of its `ErrorKind` and carries, as status details,
   * an `InferenceError`, a `google.rpc.ErrorInfo`, a `google.rpc.RetryInfo` where a delay is
   * known, and a `google.rpc.BadRequest` where a field of the request is wrong.
   * The caller's deadline bounds the whole call. When the caller cancels or disconnects, the
   * request to the provider is aborted at once.
   * </pre>
   */
  public static final class InferenceServiceStub
      extends io.grpc.stub.AbstractAsyncStub<InferenceServiceStub> {
    private InferenceServiceStub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected InferenceServiceStub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new InferenceServiceStub(channel, callOptions);
    }

    /**
     * <pre>
     * Sends the request and returns the whole response.
     * </pre>
     */
    public void complete(io.github.outriggerinference.v1.Request request,
        io.grpc.stub.StreamObserver<io.github.outriggerinference.v1.Response> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getCompleteMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Sends the request and returns events while the model generates. The rules that every stream
     * obeys are listed at `StreamEvent`. A failure before the first event is a status alone; after
     * the first event, an `error` event precedes the status.
     * </pre>
     */
    public void stream(io.github.outriggerinference.v1.Request request,
        io.grpc.stub.StreamObserver<io.github.outriggerinference.v1.StreamEvent> responseObserver) {
      io.grpc.stub.ClientCalls.asyncServerStreamingCall(
          getChannel().newCall(getStreamMethod(), getCallOptions()), request, responseObserver);
    }
  }

  /**
   * A stub to allow clients to do synchronous rpc calls to service InferenceService.
   * <pre>
   * Calls a model once. This service does not run tools or rewrite prompts, and each RPC makes exactly
   * one call of the provider's API, unless the sidecar is configured with middleware that retries a
   * call, sends it to another provider, refuses it or answers it from a cache.
   * A failed call ends with the gRPC status of its `ErrorKind` and carries, as status details,
   * an `InferenceError`, a `google.rpc.ErrorInfo`, a `google.rpc.RetryInfo` where a delay is
   * known, and a `google.rpc.BadRequest` where a field of the request is wrong.
   * The caller's deadline bounds the whole call. When the caller cancels or disconnects, the
   * request to the provider is aborted at once.
   * </pre>
   */
  public static final class InferenceServiceBlockingV2Stub
      extends io.grpc.stub.AbstractBlockingStub<InferenceServiceBlockingV2Stub> {
    private InferenceServiceBlockingV2Stub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected InferenceServiceBlockingV2Stub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new InferenceServiceBlockingV2Stub(channel, callOptions);
    }

    /**
     * <pre>
     * Sends the request and returns the whole response.
     * </pre>
     */
    public io.github.outriggerinference.v1.Response complete(io.github.outriggerinference.v1.Request request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getCompleteMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Sends the request and returns events while the model generates. The rules that every stream
     * obeys are listed at `StreamEvent`. A failure before the first event is a status alone; after
     * the first event, an `error` event precedes the status.
     * </pre>
     */
    @io.grpc.ExperimentalApi("https://github.com/grpc/grpc-java/issues/10918")
    public io.grpc.stub.BlockingClientCall<?, io.github.outriggerinference.v1.StreamEvent>
        stream(io.github.outriggerinference.v1.Request request) {
      return io.grpc.stub.ClientCalls.blockingV2ServerStreamingCall(
          getChannel(), getStreamMethod(), getCallOptions(), request);
    }
  }

  /**
   * A stub to allow clients to do limited synchronous rpc calls to service InferenceService.
   * <pre>
   * Calls a model once. This service does not run tools or rewrite prompts, and each RPC makes exactly
   * one call of the provider's API, unless the sidecar is configured with middleware that retries a
   * call, sends it to another provider, refuses it or answers it from a cache.
   * A failed call ends with the gRPC status of its `ErrorKind` and carries, as status details,
   * an `InferenceError`, a `google.rpc.ErrorInfo`, a `google.rpc.RetryInfo` where a delay is
   * known, and a `google.rpc.BadRequest` where a field of the request is wrong.
   * The caller's deadline bounds the whole call. When the caller cancels or disconnects, the
   * request to the provider is aborted at once.
   * </pre>
   */
  public static final class InferenceServiceBlockingStub
      extends io.grpc.stub.AbstractBlockingStub<InferenceServiceBlockingStub> {
    private InferenceServiceBlockingStub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected InferenceServiceBlockingStub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new InferenceServiceBlockingStub(channel, callOptions);
    }

    /**
     * <pre>
     * Sends the request and returns the whole response.
     * </pre>
     */
    public io.github.outriggerinference.v1.Response complete(io.github.outriggerinference.v1.Request request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getCompleteMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Sends the request and returns events while the model generates. The rules that every stream
     * obeys are listed at `StreamEvent`. A failure before the first event is a status alone; after
     * the first event, an `error` event precedes the status.
     * </pre>
     */
    public java.util.Iterator<io.github.outriggerinference.v1.StreamEvent> stream(
        io.github.outriggerinference.v1.Request request) {
      return io.grpc.stub.ClientCalls.blockingServerStreamingCall(
          getChannel(), getStreamMethod(), getCallOptions(), request);
    }
  }

  /**
   * A stub to allow clients to do ListenableFuture-style rpc calls to service InferenceService.
   * <pre>
   * Calls a model once. This service does not run tools or rewrite prompts, and each RPC makes exactly
   * one call of the provider's API, unless the sidecar is configured with middleware that retries a
   * call, sends it to another provider, refuses it or answers it from a cache.
   * A failed call ends with the gRPC status of its `ErrorKind` and carries, as status details,
   * an `InferenceError`, a `google.rpc.ErrorInfo`, a `google.rpc.RetryInfo` where a delay is
   * known, and a `google.rpc.BadRequest` where a field of the request is wrong.
   * The caller's deadline bounds the whole call. When the caller cancels or disconnects, the
   * request to the provider is aborted at once.
   * </pre>
   */
  public static final class InferenceServiceFutureStub
      extends io.grpc.stub.AbstractFutureStub<InferenceServiceFutureStub> {
    private InferenceServiceFutureStub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected InferenceServiceFutureStub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new InferenceServiceFutureStub(channel, callOptions);
    }

    /**
     * <pre>
     * Sends the request and returns the whole response.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<io.github.outriggerinference.v1.Response> complete(
        io.github.outriggerinference.v1.Request request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getCompleteMethod(), getCallOptions()), request);
    }
  }

  private static final int METHODID_COMPLETE = 0;
  private static final int METHODID_STREAM = 1;

  private static final class MethodHandlers<Req, Resp> implements
      io.grpc.stub.ServerCalls.UnaryMethod<Req, Resp>,
      io.grpc.stub.ServerCalls.ServerStreamingMethod<Req, Resp>,
      io.grpc.stub.ServerCalls.ClientStreamingMethod<Req, Resp>,
      io.grpc.stub.ServerCalls.BidiStreamingMethod<Req, Resp> {
    private final AsyncService serviceImpl;
    private final int methodId;

    MethodHandlers(AsyncService serviceImpl, int methodId) {
      this.serviceImpl = serviceImpl;
      this.methodId = methodId;
    }

    @java.lang.Override
    @java.lang.SuppressWarnings("unchecked")
    public void invoke(Req request, io.grpc.stub.StreamObserver<Resp> responseObserver) {
      switch (methodId) {
        case METHODID_COMPLETE:
          serviceImpl.complete((io.github.outriggerinference.v1.Request) request,
              (io.grpc.stub.StreamObserver<io.github.outriggerinference.v1.Response>) responseObserver);
          break;
        case METHODID_STREAM:
          serviceImpl.stream((io.github.outriggerinference.v1.Request) request,
              (io.grpc.stub.StreamObserver<io.github.outriggerinference.v1.StreamEvent>) responseObserver);
          break;
        default:
          throw new AssertionError();
      }
    }

    @java.lang.Override
    @java.lang.SuppressWarnings("unchecked")
    public io.grpc.stub.StreamObserver<Req> invoke(
        io.grpc.stub.StreamObserver<Resp> responseObserver) {
      switch (methodId) {
        default:
          throw new AssertionError();
      }
    }
  }

  public static final io.grpc.ServerServiceDefinition bindService(AsyncService service) {
    return io.grpc.ServerServiceDefinition.builder(getServiceDescriptor())
        .addMethod(
          getCompleteMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              io.github.outriggerinference.v1.Request,
              io.github.outriggerinference.v1.Response>(
                service, METHODID_COMPLETE)))
        .addMethod(
          getStreamMethod(),
          io.grpc.stub.ServerCalls.asyncServerStreamingCall(
            new MethodHandlers<
              io.github.outriggerinference.v1.Request,
              io.github.outriggerinference.v1.StreamEvent>(
                service, METHODID_STREAM)))
        .build();
  }

  private static abstract class InferenceServiceBaseDescriptorSupplier
      implements io.grpc.protobuf.ProtoFileDescriptorSupplier, io.grpc.protobuf.ProtoServiceDescriptorSupplier {
    InferenceServiceBaseDescriptorSupplier() {}

    @java.lang.Override
    public com.google.protobuf.Descriptors.FileDescriptor getFileDescriptor() {
      return io.github.outriggerinference.v1.InferenceServiceOuterClass.getDescriptor();
    }

    @java.lang.Override
    public com.google.protobuf.Descriptors.ServiceDescriptor getServiceDescriptor() {
      return getFileDescriptor().findServiceByName("InferenceService");
    }
  }

  private static final class InferenceServiceFileDescriptorSupplier
      extends InferenceServiceBaseDescriptorSupplier {
    InferenceServiceFileDescriptorSupplier() {}
  }

  private static final class InferenceServiceMethodDescriptorSupplier
      extends InferenceServiceBaseDescriptorSupplier
      implements io.grpc.protobuf.ProtoMethodDescriptorSupplier {
    private final java.lang.String methodName;

    InferenceServiceMethodDescriptorSupplier(java.lang.String methodName) {
      this.methodName = methodName;
    }

    @java.lang.Override
    public com.google.protobuf.Descriptors.MethodDescriptor getMethodDescriptor() {
      return getServiceDescriptor().findMethodByName(methodName);
    }
  }

  private static volatile io.grpc.ServiceDescriptor serviceDescriptor;

  public static io.grpc.ServiceDescriptor getServiceDescriptor() {
    io.grpc.ServiceDescriptor result = serviceDescriptor;
    if (result == null) {
      synchronized (InferenceServiceGrpc.class) {
        result = serviceDescriptor;
        if (result == null) {
          serviceDescriptor = result = io.grpc.ServiceDescriptor.newBuilder(SERVICE_NAME)
              .setSchemaDescriptor(new InferenceServiceFileDescriptorSupplier())
              .addMethod(getCompleteMethod())
              .addMethod(getStreamMethod())
              .build();
        }
      }
    }
    return result;
  }
}
