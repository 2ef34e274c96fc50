package io.github.outriggerinference.v1;

import static io.grpc.MethodDescriptor.generateFullMethodName;

/**
 * <pre>
 * Stored conversations. A thread can be created, read and appended to over this service and over
 * `/v1/conversations`, regardless of which API created it, and runs of either API continue it
 * (`CreateRunRequest.thread_id`). Every run that names no thread creates one.
 * A thread belongs to the access key that created it. Other callers get NOT_FOUND.
 * </pre>
 */
@io.grpc.stub.annotations.GrpcGenerated
public final class ThreadServiceGrpc {

  private ThreadServiceGrpc() {}

  public static final java.lang.String SERVICE_NAME = "outrigger.v1.ThreadService";

  // Static method descriptors that strictly reflect the proto.
  private static volatile io.grpc.MethodDescriptor<io.github.outriggerinference.v1.CreateThreadRequest,
      io.github.outriggerinference.v1.Thread> getCreateThreadMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "CreateThread",
      requestType = io.github.outriggerinference.v1.CreateThreadRequest.class,
      responseType = io.github.outriggerinference.v1.Thread.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<io.github.outriggerinference.v1.CreateThreadRequest,
      io.github.outriggerinference.v1.Thread> getCreateThreadMethod() {
    io.grpc.MethodDescriptor<io.github.outriggerinference.v1.CreateThreadRequest, io.github.outriggerinference.v1.Thread> getCreateThreadMethod;
    if ((getCreateThreadMethod = ThreadServiceGrpc.getCreateThreadMethod) == null) {
      synchronized (ThreadServiceGrpc.class) {
        if ((getCreateThreadMethod = ThreadServiceGrpc.getCreateThreadMethod) == null) {
          ThreadServiceGrpc.getCreateThreadMethod = getCreateThreadMethod =
              io.grpc.MethodDescriptor.<io.github.outriggerinference.v1.CreateThreadRequest, io.github.outriggerinference.v1.Thread>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "CreateThread"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.github.outriggerinference.v1.CreateThreadRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.github.outriggerinference.v1.Thread.getDefaultInstance()))
              .setSchemaDescriptor(new ThreadServiceMethodDescriptorSupplier("CreateThread"))
              .build();
        }
      }
    }
    return getCreateThreadMethod;
  }

  private static volatile io.grpc.MethodDescriptor<io.github.outriggerinference.v1.GetThreadRequest,
      io.github.outriggerinference.v1.Thread> getGetThreadMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "GetThread",
      requestType = io.github.outriggerinference.v1.GetThreadRequest.class,
      responseType = io.github.outriggerinference.v1.Thread.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<io.github.outriggerinference.v1.GetThreadRequest,
      io.github.outriggerinference.v1.Thread> getGetThreadMethod() {
    io.grpc.MethodDescriptor<io.github.outriggerinference.v1.GetThreadRequest, io.github.outriggerinference.v1.Thread> getGetThreadMethod;
    if ((getGetThreadMethod = ThreadServiceGrpc.getGetThreadMethod) == null) {
      synchronized (ThreadServiceGrpc.class) {
        if ((getGetThreadMethod = ThreadServiceGrpc.getGetThreadMethod) == null) {
          ThreadServiceGrpc.getGetThreadMethod = getGetThreadMethod =
              io.grpc.MethodDescriptor.<io.github.outriggerinference.v1.GetThreadRequest, io.github.outriggerinference.v1.Thread>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "GetThread"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.github.outriggerinference.v1.GetThreadRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.github.outriggerinference.v1.Thread.getDefaultInstance()))
              .setSchemaDescriptor(new ThreadServiceMethodDescriptorSupplier("GetThread"))
              .build();
        }
      }
    }
    return getGetThreadMethod;
  }

  private static volatile io.grpc.MethodDescriptor<io.github.outriggerinference.v1.UpdateThreadRequest,
      io.github.outriggerinference.v1.Thread> getUpdateThreadMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "UpdateThread",
      requestType = io.github.outriggerinference.v1.UpdateThreadRequest.class,
      responseType = io.github.outriggerinference.v1.Thread.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<io.github.outriggerinference.v1.UpdateThreadRequest,
      io.github.outriggerinference.v1.Thread> getUpdateThreadMethod() {
    io.grpc.MethodDescriptor<io.github.outriggerinference.v1.UpdateThreadRequest, io.github.outriggerinference.v1.Thread> getUpdateThreadMethod;
    if ((getUpdateThreadMethod = ThreadServiceGrpc.getUpdateThreadMethod) == null) {
      synchronized (ThreadServiceGrpc.class) {
        if ((getUpdateThreadMethod = ThreadServiceGrpc.getUpdateThreadMethod) == null) {
          ThreadServiceGrpc.getUpdateThreadMethod = getUpdateThreadMethod =
              io.grpc.MethodDescriptor.<io.github.outriggerinference.v1.UpdateThreadRequest, io.github.outriggerinference.v1.Thread>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "UpdateThread"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.github.outriggerinference.v1.UpdateThreadRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.github.outriggerinference.v1.Thread.getDefaultInstance()))
              .setSchemaDescriptor(new ThreadServiceMethodDescriptorSupplier("UpdateThread"))
              .build();
        }
      }
    }
    return getUpdateThreadMethod;
  }

  private static volatile io.grpc.MethodDescriptor<io.github.outriggerinference.v1.DeleteThreadRequest,
      io.github.outriggerinference.v1.DeleteThreadResponse> getDeleteThreadMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "DeleteThread",
      requestType = io.github.outriggerinference.v1.DeleteThreadRequest.class,
      responseType = io.github.outriggerinference.v1.DeleteThreadResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<io.github.outriggerinference.v1.DeleteThreadRequest,
      io.github.outriggerinference.v1.DeleteThreadResponse> getDeleteThreadMethod() {
    io.grpc.MethodDescriptor<io.github.outriggerinference.v1.DeleteThreadRequest, io.github.outriggerinference.v1.DeleteThreadResponse> getDeleteThreadMethod;
    if ((getDeleteThreadMethod = ThreadServiceGrpc.getDeleteThreadMethod) == null) {
      synchronized (ThreadServiceGrpc.class) {
        if ((getDeleteThreadMethod = ThreadServiceGrpc.getDeleteThreadMethod) == null) {
          ThreadServiceGrpc.getDeleteThreadMethod = getDeleteThreadMethod =
              io.grpc.MethodDescriptor.<io.github.outriggerinference.v1.DeleteThreadRequest, io.github.outriggerinference.v1.DeleteThreadResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "DeleteThread"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.github.outriggerinference.v1.DeleteThreadRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.github.outriggerinference.v1.DeleteThreadResponse.getDefaultInstance()))
              .setSchemaDescriptor(new ThreadServiceMethodDescriptorSupplier("DeleteThread"))
              .build();
        }
      }
    }
    return getDeleteThreadMethod;
  }

  private static volatile io.grpc.MethodDescriptor<io.github.outriggerinference.v1.AppendMessagesRequest,
      io.github.outriggerinference.v1.AppendMessagesResponse> getAppendMessagesMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "AppendMessages",
      requestType = io.github.outriggerinference.v1.AppendMessagesRequest.class,
      responseType = io.github.outriggerinference.v1.AppendMessagesResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<io.github.outriggerinference.v1.AppendMessagesRequest,
      io.github.outriggerinference.v1.AppendMessagesResponse> getAppendMessagesMethod() {
    io.grpc.MethodDescriptor<io.github.outriggerinference.v1.AppendMessagesRequest, io.github.outriggerinference.v1.AppendMessagesResponse> getAppendMessagesMethod;
    if ((getAppendMessagesMethod = ThreadServiceGrpc.getAppendMessagesMethod) == null) {
      synchronized (ThreadServiceGrpc.class) {
        if ((getAppendMessagesMethod = ThreadServiceGrpc.getAppendMessagesMethod) == null) {
          ThreadServiceGrpc.getAppendMessagesMethod = getAppendMessagesMethod =
              io.grpc.MethodDescriptor.<io.github.outriggerinference.v1.AppendMessagesRequest, io.github.outriggerinference.v1.AppendMessagesResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "AppendMessages"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.github.outriggerinference.v1.AppendMessagesRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.github.outriggerinference.v1.AppendMessagesResponse.getDefaultInstance()))
              .setSchemaDescriptor(new ThreadServiceMethodDescriptorSupplier("AppendMessages"))
              .build();
        }
      }
    }
    return getAppendMessagesMethod;
  }

  private static volatile io.grpc.MethodDescriptor<io.github.outriggerinference.v1.ListMessagesRequest,
      io.github.outriggerinference.v1.ListMessagesResponse> getListMessagesMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "ListMessages",
      requestType = io.github.outriggerinference.v1.ListMessagesRequest.class,
      responseType = io.github.outriggerinference.v1.ListMessagesResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<io.github.outriggerinference.v1.ListMessagesRequest,
      io.github.outriggerinference.v1.ListMessagesResponse> getListMessagesMethod() {
    io.grpc.MethodDescriptor<io.github.outriggerinference.v1.ListMessagesRequest, io.github.outriggerinference.v1.ListMessagesResponse> getListMessagesMethod;
    if ((getListMessagesMethod = ThreadServiceGrpc.getListMessagesMethod) == null) {
      synchronized (ThreadServiceGrpc.class) {
        if ((getListMessagesMethod = ThreadServiceGrpc.getListMessagesMethod) == null) {
          ThreadServiceGrpc.getListMessagesMethod = getListMessagesMethod =
              io.grpc.MethodDescriptor.<io.github.outriggerinference.v1.ListMessagesRequest, io.github.outriggerinference.v1.ListMessagesResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "ListMessages"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.github.outriggerinference.v1.ListMessagesRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.github.outriggerinference.v1.ListMessagesResponse.getDefaultInstance()))
              .setSchemaDescriptor(new ThreadServiceMethodDescriptorSupplier("ListMessages"))
              .build();
        }
      }
    }
    return getListMessagesMethod;
  }

  private static volatile io.grpc.MethodDescriptor<io.github.outriggerinference.v1.GetMessageRequest,
      io.github.outriggerinference.v1.ThreadMessage> getGetMessageMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "GetMessage",
      requestType = io.github.outriggerinference.v1.GetMessageRequest.class,
      responseType = io.github.outriggerinference.v1.ThreadMessage.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<io.github.outriggerinference.v1.GetMessageRequest,
      io.github.outriggerinference.v1.ThreadMessage> getGetMessageMethod() {
    io.grpc.MethodDescriptor<io.github.outriggerinference.v1.GetMessageRequest, io.github.outriggerinference.v1.ThreadMessage> getGetMessageMethod;
    if ((getGetMessageMethod = ThreadServiceGrpc.getGetMessageMethod) == null) {
      synchronized (ThreadServiceGrpc.class) {
        if ((getGetMessageMethod = ThreadServiceGrpc.getGetMessageMethod) == null) {
          ThreadServiceGrpc.getGetMessageMethod = getGetMessageMethod =
              io.grpc.MethodDescriptor.<io.github.outriggerinference.v1.GetMessageRequest, io.github.outriggerinference.v1.ThreadMessage>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "GetMessage"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.github.outriggerinference.v1.GetMessageRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.github.outriggerinference.v1.ThreadMessage.getDefaultInstance()))
              .setSchemaDescriptor(new ThreadServiceMethodDescriptorSupplier("GetMessage"))
              .build();
        }
      }
    }
    return getGetMessageMethod;
  }

  private static volatile io.grpc.MethodDescriptor<io.github.outriggerinference.v1.DeleteMessageRequest,
      io.github.outriggerinference.v1.DeleteMessageResponse> getDeleteMessageMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "DeleteMessage",
      requestType = io.github.outriggerinference.v1.DeleteMessageRequest.class,
      responseType = io.github.outriggerinference.v1.DeleteMessageResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<io.github.outriggerinference.v1.DeleteMessageRequest,
      io.github.outriggerinference.v1.DeleteMessageResponse> getDeleteMessageMethod() {
    io.grpc.MethodDescriptor<io.github.outriggerinference.v1.DeleteMessageRequest, io.github.outriggerinference.v1.DeleteMessageResponse> getDeleteMessageMethod;
    if ((getDeleteMessageMethod = ThreadServiceGrpc.getDeleteMessageMethod) == null) {
      synchronized (ThreadServiceGrpc.class) {
        if ((getDeleteMessageMethod = ThreadServiceGrpc.getDeleteMessageMethod) == null) {
          ThreadServiceGrpc.getDeleteMessageMethod = getDeleteMessageMethod =
              io.grpc.MethodDescriptor.<io.github.outriggerinference.v1.DeleteMessageRequest, io.github.outriggerinference.v1.DeleteMessageResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "DeleteMessage"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.github.outriggerinference.v1.DeleteMessageRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.github.outriggerinference.v1.DeleteMessageResponse.getDefaultInstance()))
              .setSchemaDescriptor(new ThreadServiceMethodDescriptorSupplier("DeleteMessage"))
              .build();
        }
      }
    }
    return getDeleteMessageMethod;
  }

  /**
   * Creates a new async stub that supports all call types for the service
   */
  public static ThreadServiceStub newStub(io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<ThreadServiceStub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<ThreadServiceStub>() {
        @java.lang.Override
        public ThreadServiceStub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new ThreadServiceStub(channel, callOptions);
        }
      };
    return ThreadServiceStub.newStub(factory, channel);
  }

  /**
   * Creates a new blocking-style stub that supports all types of calls on the service
   */
  public static ThreadServiceBlockingV2Stub newBlockingV2Stub(
      io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<ThreadServiceBlockingV2Stub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<ThreadServiceBlockingV2Stub>() {
        @java.lang.Override
        public ThreadServiceBlockingV2Stub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new ThreadServiceBlockingV2Stub(channel, callOptions);
        }
      };
    return ThreadServiceBlockingV2Stub.newStub(factory, channel);
  }

  /**
   * Creates a new blocking-style stub that supports unary and streaming output calls on the service
   */
  public static ThreadServiceBlockingStub newBlockingStub(
      io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<ThreadServiceBlockingStub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<ThreadServiceBlockingStub>() {
        @java.lang.Override
        public ThreadServiceBlockingStub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new ThreadServiceBlockingStub(channel, callOptions);
        }
      };
    return ThreadServiceBlockingStub.newStub(factory, channel);
  }

  /**
   * Creates a new ListenableFuture-style stub that supports unary calls on the service
   */
  public static ThreadServiceFutureStub newFutureStub(
      io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<ThreadServiceFutureStub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<ThreadServiceFutureStub>() {
        @java.lang.Override
        public ThreadServiceFutureStub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new ThreadServiceFutureStub(channel, callOptions);
        }
      };
    return ThreadServiceFutureStub.newStub(factory, channel);
  }

  /**
   * <pre>
   * Stored conversations. A thread can be created, read and appended to over this service and over
   * `/v1/conversations`, regardless of which API created it, and runs of either API continue it
   * (`CreateRunRequest.thread_id`). Every run that names no thread creates one.
   * A thread belongs to the access key that created it. Other callers get NOT_FOUND.
   * </pre>
   */
  public interface AsyncService {

    /**
     * <pre>
     * Creates a thread, with messages if the conversation has begun elsewhere.
     * </pre>
     */
    default void createThread(io.github.outriggerinference.v1.CreateThreadRequest request,
        io.grpc.stub.StreamObserver<io.github.outriggerinference.v1.Thread> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getCreateThreadMethod(), responseObserver);
    }

    /**
     * <pre>
     * Returns a thread, without its messages.
     * </pre>
     */
    default void getThread(io.github.outriggerinference.v1.GetThreadRequest request,
        io.grpc.stub.StreamObserver<io.github.outriggerinference.v1.Thread> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getGetThreadMethod(), responseObserver);
    }

    /**
     * <pre>
     * Replaces the labels of a thread.
     * </pre>
     */
    default void updateThread(io.github.outriggerinference.v1.UpdateThreadRequest request,
        io.grpc.stub.StreamObserver<io.github.outriggerinference.v1.Thread> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getUpdateThreadMethod(), responseObserver);
    }

    /**
     * <pre>
     * Deletes a thread with its messages, except those that a fork of it has as well. Its runs can still be
     * read, and cannot be continued.
     * </pre>
     */
    default void deleteThread(io.github.outriggerinference.v1.DeleteThreadRequest request,
        io.grpc.stub.StreamObserver<io.github.outriggerinference.v1.DeleteThreadResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getDeleteThreadMethod(), responseObserver);
    }

    /**
     * <pre>
     * Appends messages to a thread without calling a model. Waits until no run of the thread is in
     * progress.
     * </pre>
     */
    default void appendMessages(io.github.outriggerinference.v1.AppendMessagesRequest request,
        io.grpc.stub.StreamObserver<io.github.outriggerinference.v1.AppendMessagesResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getAppendMessagesMethod(), responseObserver);
    }

    /**
     * <pre>
     * Returns the messages of a thread.
     * </pre>
     */
    default void listMessages(io.github.outriggerinference.v1.ListMessagesRequest request,
        io.grpc.stub.StreamObserver<io.github.outriggerinference.v1.ListMessagesResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getListMessagesMethod(), responseObserver);
    }

    /**
     * <pre>
     * Returns a message.
     * </pre>
     */
    default void getMessage(io.github.outriggerinference.v1.GetMessageRequest request,
        io.grpc.stub.StreamObserver<io.github.outriggerinference.v1.ThreadMessage> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getGetMessageMethod(), responseObserver);
    }

    /**
     * <pre>
     * Deletes a message from a thread. Forks of the thread keep it.
     * </pre>
     */
    default void deleteMessage(io.github.outriggerinference.v1.DeleteMessageRequest request,
        io.grpc.stub.StreamObserver<io.github.outriggerinference.v1.DeleteMessageResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getDeleteMessageMethod(), responseObserver);
    }
  }

  /**
   * Base class for the server implementation of the service ThreadService.
   * <pre>
   * Stored conversations. A thread can be created, read and appended to over this service and over
   * `/v1/conversations`, regardless of which API created it, and runs of either API continue it
   * (`CreateRunRequest.thread_id`). Every run that names no thread creates one.
   * A thread belongs to the access key that created it. Other callers get NOT_FOUND.
   * </pre>
   */
  public static abstract class ThreadServiceImplBase
      implements io.grpc.BindableService, AsyncService {

    @java.lang.Override public final io.grpc.ServerServiceDefinition bindService() {
      return ThreadServiceGrpc.bindService(this);
    }
  }

  /**
   * A stub to allow clients to do asynchronous rpc calls to service ThreadService.
   * <pre>
   * Stored conversations. A thread can be created, read and appended to over this service and over
   * `/v1/conversations`, regardless of which API created it, and runs of either API continue it
   * (`CreateRunRequest.thread_id`). Every run that names no thread creates one.
   * A thread belongs to the access key that created it. Other callers get NOT_FOUND.
   * </pre>
   */
  public static final class ThreadServiceStub
      extends io.grpc.stub.AbstractAsyncStub<ThreadServiceStub> {
    private ThreadServiceStub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected ThreadServiceStub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new ThreadServiceStub(channel, callOptions);
    }

    /**
     * <pre>
     * Creates a thread, with messages if the conversation has begun elsewhere.
     * </pre>
     */
    public void createThread(io.github.outriggerinference.v1.CreateThreadRequest request,
        io.grpc.stub.StreamObserver<io.github.outriggerinference.v1.Thread> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getCreateThreadMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Returns a thread, without its messages.
     * </pre>
     */
    public void getThread(io.github.outriggerinference.v1.GetThreadRequest request,
        io.grpc.stub.StreamObserver<io.github.outriggerinference.v1.Thread> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getGetThreadMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Replaces the labels of a thread.
     * </pre>
     */
    public void updateThread(io.github.outriggerinference.v1.UpdateThreadRequest request,
        io.grpc.stub.StreamObserver<io.github.outriggerinference.v1.Thread> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getUpdateThreadMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Deletes a thread with its messages, except those that a fork of it has as well. Its runs can still be
     * read, and cannot be continued.
     * </pre>
     */
    public void deleteThread(io.github.outriggerinference.v1.DeleteThreadRequest request,
        io.grpc.stub.StreamObserver<io.github.outriggerinference.v1.DeleteThreadResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getDeleteThreadMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Appends messages to a thread without calling a model. Waits until no run of the thread is in
     * progress.
     * </pre>
     */
    public void appendMessages(io.github.outriggerinference.v1.AppendMessagesRequest request,
        io.grpc.stub.StreamObserver<io.github.outriggerinference.v1.AppendMessagesResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getAppendMessagesMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Returns the messages of a thread.
     * </pre>
     */
    public void listMessages(io.github.outriggerinference.v1.ListMessagesRequest request,
        io.grpc.stub.StreamObserver<io.github.outriggerinference.v1.ListMessagesResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getListMessagesMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Returns a message.
     * </pre>
     */
    public void getMessage(io.github.outriggerinference.v1.GetMessageRequest request,
        io.grpc.stub.StreamObserver<io.github.outriggerinference.v1.ThreadMessage> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getGetMessageMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Deletes a message from a thread. Forks of the thread keep it.
     * </pre>
     */
    public void deleteMessage(io.github.outriggerinference.v1.DeleteMessageRequest request,
        io.grpc.stub.StreamObserver<io.github.outriggerinference.v1.DeleteMessageResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getDeleteMessageMethod(), getCallOptions()), request, responseObserver);
    }
  }

  /**
   * A stub to allow clients to do synchronous rpc calls to service ThreadService.
   * <pre>
   * Stored conversations. A thread can be created, read and appended to over this service and over
   * `/v1/conversations`, regardless of which API created it, and runs of either API continue it
   * (`CreateRunRequest.thread_id`). Every run that names no thread creates one.
   * A thread belongs to the access key that created it. Other callers get NOT_FOUND.
   * </pre>
   */
  public static final class ThreadServiceBlockingV2Stub
      extends io.grpc.stub.AbstractBlockingStub<ThreadServiceBlockingV2Stub> {
    private ThreadServiceBlockingV2Stub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected ThreadServiceBlockingV2Stub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new ThreadServiceBlockingV2Stub(channel, callOptions);
    }

    /**
     * <pre>
     * Creates a thread, with messages if the conversation has begun elsewhere.
     * </pre>
     */
    public io.github.outriggerinference.v1.Thread createThread(io.github.outriggerinference.v1.CreateThreadRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getCreateThreadMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Returns a thread, without its messages.
     * </pre>
     */
    public io.github.outriggerinference.v1.Thread getThread(io.github.outriggerinference.v1.GetThreadRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getGetThreadMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Replaces the labels of a thread.
     * </pre>
     */
    public io.github.outriggerinference.v1.Thread updateThread(io.github.outriggerinference.v1.UpdateThreadRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getUpdateThreadMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Deletes a thread with its messages, except those that a fork of it has as well. Its runs can still be
     * read, and cannot be continued.
     * </pre>
     */
    public io.github.outriggerinference.v1.DeleteThreadResponse deleteThread(io.github.outriggerinference.v1.DeleteThreadRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getDeleteThreadMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Appends messages to a thread without calling a model. Waits until no run of the thread is in
     * progress.
     * </pre>
     */
    public io.github.outriggerinference.v1.AppendMessagesResponse appendMessages(io.github.outriggerinference.v1.AppendMessagesRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getAppendMessagesMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Returns the messages of a thread.
     * </pre>
     */
    public io.github.outriggerinference.v1.ListMessagesResponse listMessages(io.github.outriggerinference.v1.ListMessagesRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getListMessagesMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Returns a message.
     * </pre>
     */
    public io.github.outriggerinference.v1.ThreadMessage getMessage(io.github.outriggerinference.v1.GetMessageRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getGetMessageMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Deletes a message from a thread. Forks of the thread keep it.
     * </pre>
     */
    public io.github.outriggerinference.v1.DeleteMessageResponse deleteMessage(io.github.outriggerinference.v1.DeleteMessageRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getDeleteMessageMethod(), getCallOptions(), request);
    }
  }

  /**
   * A stub to allow clients to do limited synchronous rpc calls to service ThreadService.
   * <pre>
   * Stored conversations. A thread can be created, read and appended to over this service and over
   * `/v1/conversations`, regardless of which API created it, and runs of either API continue it
   * (`CreateRunRequest.thread_id`). Every run that names no thread creates one.
   * A thread belongs to the access key that created it. Other callers get NOT_FOUND.
   * </pre>
   */
  public static final class ThreadServiceBlockingStub
      extends io.grpc.stub.AbstractBlockingStub<ThreadServiceBlockingStub> {
    private ThreadServiceBlockingStub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected ThreadServiceBlockingStub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new ThreadServiceBlockingStub(channel, callOptions);
    }

    /**
     * <pre>
     * Creates a thread, with messages if the conversation has begun elsewhere.
     * </pre>
     */
    public io.github.outriggerinference.v1.Thread createThread(io.github.outriggerinference.v1.CreateThreadRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getCreateThreadMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Returns a thread, without its messages.
     * </pre>
     */
    public io.github.outriggerinference.v1.Thread getThread(io.github.outriggerinference.v1.GetThreadRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getGetThreadMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Replaces the labels of a thread.
     * </pre>
     */
    public io.github.outriggerinference.v1.Thread updateThread(io.github.outriggerinference.v1.UpdateThreadRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getUpdateThreadMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Deletes a thread with its messages, except those that a fork of it has as well. Its runs can still be
     * read, and cannot be continued.
     * </pre>
     */
    public io.github.outriggerinference.v1.DeleteThreadResponse deleteThread(io.github.outriggerinference.v1.DeleteThreadRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getDeleteThreadMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Appends messages to a thread without calling a model. Waits until no run of the thread is in
     * progress.
     * </pre>
     */
    public io.github.outriggerinference.v1.AppendMessagesResponse appendMessages(io.github.outriggerinference.v1.AppendMessagesRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getAppendMessagesMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Returns the messages of a thread.
     * </pre>
     */
    public io.github.outriggerinference.v1.ListMessagesResponse listMessages(io.github.outriggerinference.v1.ListMessagesRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getListMessagesMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Returns a message.
     * </pre>
     */
    public io.github.outriggerinference.v1.ThreadMessage getMessage(io.github.outriggerinference.v1.GetMessageRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getGetMessageMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Deletes a message from a thread. Forks of the thread keep it.
     * </pre>
     */
    public io.github.outriggerinference.v1.DeleteMessageResponse deleteMessage(io.github.outriggerinference.v1.DeleteMessageRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getDeleteMessageMethod(), getCallOptions(), request);
    }
  }

  /**
   * A stub to allow clients to do ListenableFuture-style rpc calls to service ThreadService.
   * <pre>
   * Stored conversations. A thread can be created, read and appended to over this service and over
   * `/v1/conversations`, regardless of which API created it, and runs of either API continue it
   * (`CreateRunRequest.thread_id`). Every run that names no thread creates one.
   * A thread belongs to the access key that created it. Other callers get NOT_FOUND.
   * </pre>
   */
  public static final class ThreadServiceFutureStub
      extends io.grpc.stub.AbstractFutureStub<ThreadServiceFutureStub> {
    private ThreadServiceFutureStub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected ThreadServiceFutureStub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new ThreadServiceFutureStub(channel, callOptions);
    }

    /**
     * <pre>
     * Creates a thread, with messages if the conversation has begun elsewhere.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<io.github.outriggerinference.v1.Thread> createThread(
        io.github.outriggerinference.v1.CreateThreadRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getCreateThreadMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Returns a thread, without its messages.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<io.github.outriggerinference.v1.Thread> getThread(
        io.github.outriggerinference.v1.GetThreadRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getGetThreadMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Replaces the labels of a thread.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<io.github.outriggerinference.v1.Thread> updateThread(
        io.github.outriggerinference.v1.UpdateThreadRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getUpdateThreadMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Deletes a thread with its messages, except those that a fork of it has as well. Its runs can still be
     * read, and cannot be continued.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<io.github.outriggerinference.v1.DeleteThreadResponse> deleteThread(
        io.github.outriggerinference.v1.DeleteThreadRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getDeleteThreadMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Appends messages to a thread without calling a model. Waits until no run of the thread is in
     * progress.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<io.github.outriggerinference.v1.AppendMessagesResponse> appendMessages(
        io.github.outriggerinference.v1.AppendMessagesRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getAppendMessagesMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Returns the messages of a thread.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<io.github.outriggerinference.v1.ListMessagesResponse> listMessages(
        io.github.outriggerinference.v1.ListMessagesRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getListMessagesMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Returns a message.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<io.github.outriggerinference.v1.ThreadMessage> getMessage(
        io.github.outriggerinference.v1.GetMessageRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getGetMessageMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Deletes a message from a thread. Forks of the thread keep it.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<io.github.outriggerinference.v1.DeleteMessageResponse> deleteMessage(
        io.github.outriggerinference.v1.DeleteMessageRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getDeleteMessageMethod(), getCallOptions()), request);
    }
  }

  private static final int METHODID_CREATE_THREAD = 0;
  private static final int METHODID_GET_THREAD = 1;
  private static final int METHODID_UPDATE_THREAD = 2;
  private static final int METHODID_DELETE_THREAD = 3;
  private static final int METHODID_APPEND_MESSAGES = 4;
  private static final int METHODID_LIST_MESSAGES = 5;
  private static final int METHODID_GET_MESSAGE = 6;
  private static final int METHODID_DELETE_MESSAGE = 7;

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
        case METHODID_CREATE_THREAD:
          serviceImpl.createThread((io.github.outriggerinference.v1.CreateThreadRequest) request,
              (io.grpc.stub.StreamObserver<io.github.outriggerinference.v1.Thread>) responseObserver);
          break;
        case METHODID_GET_THREAD:
          serviceImpl.getThread((io.github.outriggerinference.v1.GetThreadRequest) request,
              (io.grpc.stub.StreamObserver<io.github.outriggerinference.v1.Thread>) responseObserver);
          break;
        case METHODID_UPDATE_THREAD:
          serviceImpl.updateThread((io.github.outriggerinference.v1.UpdateThreadRequest) request,
              (io.grpc.stub.StreamObserver<io.github.outriggerinference.v1.Thread>) responseObserver);
          break;
        case METHODID_DELETE_THREAD:
          serviceImpl.deleteThread((io.github.outriggerinference.v1.DeleteThreadRequest) request,
              (io.grpc.stub.StreamObserver<io.github.outriggerinference.v1.DeleteThreadResponse>) responseObserver);
          break;
        case METHODID_APPEND_MESSAGES:
          serviceImpl.appendMessages((io.github.outriggerinference.v1.AppendMessagesRequest) request,
              (io.grpc.stub.StreamObserver<io.github.outriggerinference.v1.AppendMessagesResponse>) responseObserver);
          break;
        case METHODID_LIST_MESSAGES:
          serviceImpl.listMessages((io.github.outriggerinference.v1.ListMessagesRequest) request,
              (io.grpc.stub.StreamObserver<io.github.outriggerinference.v1.ListMessagesResponse>) responseObserver);
          break;
        case METHODID_GET_MESSAGE:
          serviceImpl.getMessage((io.github.outriggerinference.v1.GetMessageRequest) request,
              (io.grpc.stub.StreamObserver<io.github.outriggerinference.v1.ThreadMessage>) responseObserver);
          break;
        case METHODID_DELETE_MESSAGE:
          serviceImpl.deleteMessage((io.github.outriggerinference.v1.DeleteMessageRequest) request,
              (io.grpc.stub.StreamObserver<io.github.outriggerinference.v1.DeleteMessageResponse>) responseObserver);
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
          getCreateThreadMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              io.github.outriggerinference.v1.CreateThreadRequest,
              io.github.outriggerinference.v1.Thread>(
                service, METHODID_CREATE_THREAD)))
        .addMethod(
          getGetThreadMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              io.github.outriggerinference.v1.GetThreadRequest,
              io.github.outriggerinference.v1.Thread>(
                service, METHODID_GET_THREAD)))
        .addMethod(
          getUpdateThreadMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              io.github.outriggerinference.v1.UpdateThreadRequest,
              io.github.outriggerinference.v1.Thread>(
                service, METHODID_UPDATE_THREAD)))
        .addMethod(
          getDeleteThreadMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              io.github.outriggerinference.v1.DeleteThreadRequest,
              io.github.outriggerinference.v1.DeleteThreadResponse>(
                service, METHODID_DELETE_THREAD)))
        .addMethod(
          getAppendMessagesMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              io.github.outriggerinference.v1.AppendMessagesRequest,
              io.github.outriggerinference.v1.AppendMessagesResponse>(
                service, METHODID_APPEND_MESSAGES)))
        .addMethod(
          getListMessagesMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              io.github.outriggerinference.v1.ListMessagesRequest,
              io.github.outriggerinference.v1.ListMessagesResponse>(
                service, METHODID_LIST_MESSAGES)))
        .addMethod(
          getGetMessageMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              io.github.outriggerinference.v1.GetMessageRequest,
              io.github.outriggerinference.v1.ThreadMessage>(
                service, METHODID_GET_MESSAGE)))
        .addMethod(
          getDeleteMessageMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              io.github.outriggerinference.v1.DeleteMessageRequest,
              io.github.outriggerinference.v1.DeleteMessageResponse>(
                service, METHODID_DELETE_MESSAGE)))
        .build();
  }

  private static abstract class ThreadServiceBaseDescriptorSupplier
      implements io.grpc.protobuf.ProtoFileDescriptorSupplier, io.grpc.protobuf.ProtoServiceDescriptorSupplier {
    ThreadServiceBaseDescriptorSupplier() {}

    @java.lang.Override
    public com.google.protobuf.Descriptors.FileDescriptor getFileDescriptor() {
      return io.github.outriggerinference.v1.ThreadServiceOuterClass.getDescriptor();
    }

    @java.lang.Override
    public com.google.protobuf.Descriptors.ServiceDescriptor getServiceDescriptor() {
      return getFileDescriptor().findServiceByName("ThreadService");
    }
  }

  private static final class ThreadServiceFileDescriptorSupplier
      extends ThreadServiceBaseDescriptorSupplier {
    ThreadServiceFileDescriptorSupplier() {}
  }

  private static final class ThreadServiceMethodDescriptorSupplier
      extends ThreadServiceBaseDescriptorSupplier
      implements io.grpc.protobuf.ProtoMethodDescriptorSupplier {
    private final java.lang.String methodName;

    ThreadServiceMethodDescriptorSupplier(java.lang.String methodName) {
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
      synchronized (ThreadServiceGrpc.class) {
        result = serviceDescriptor;
        if (result == null) {
          serviceDescriptor = result = io.grpc.ServiceDescriptor.newBuilder(SERVICE_NAME)
              .setSchemaDescriptor(new ThreadServiceFileDescriptorSupplier())
              .addMethod(getCreateThreadMethod())
              .addMethod(getGetThreadMethod())
              .addMethod(getUpdateThreadMethod())
              .addMethod(getDeleteThreadMethod())
              .addMethod(getAppendMessagesMethod())
              .addMethod(getListMessagesMethod())
              .addMethod(getGetMessageMethod())
              .addMethod(getDeleteMessageMethod())
              .build();
        }
      }
    }
    return result;
  }
}
