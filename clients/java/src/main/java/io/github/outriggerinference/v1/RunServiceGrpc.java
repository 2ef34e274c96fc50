package io.github.outriggerinference.v1;

import static io.grpc.MethodDescriptor.generateFullMethodName;

/**
 * <pre>
 * Stored runs: they can be started in the background, read, streamed from any event on, continued
 * and cancelled, over this service and over `/v1/responses`, regardless of which API created them.
 * A run belongs to the access key that created it. Other callers get NOT_FOUND. When a terminal
 * event is sent, everything has been stored: GetRun then returns the same state.
 * </pre>
 */
@io.grpc.stub.annotations.GrpcGenerated
public final class RunServiceGrpc {

  private RunServiceGrpc() {}

  public static final java.lang.String SERVICE_NAME = "outrigger.v1.RunService";

  // Static method descriptors that strictly reflect the proto.
  private static volatile io.grpc.MethodDescriptor<io.github.outriggerinference.v1.CreateRunRequest,
      io.github.outriggerinference.v1.Run> getCreateRunMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "CreateRun",
      requestType = io.github.outriggerinference.v1.CreateRunRequest.class,
      responseType = io.github.outriggerinference.v1.Run.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<io.github.outriggerinference.v1.CreateRunRequest,
      io.github.outriggerinference.v1.Run> getCreateRunMethod() {
    io.grpc.MethodDescriptor<io.github.outriggerinference.v1.CreateRunRequest, io.github.outriggerinference.v1.Run> getCreateRunMethod;
    if ((getCreateRunMethod = RunServiceGrpc.getCreateRunMethod) == null) {
      synchronized (RunServiceGrpc.class) {
        if ((getCreateRunMethod = RunServiceGrpc.getCreateRunMethod) == null) {
          RunServiceGrpc.getCreateRunMethod = getCreateRunMethod =
              io.grpc.MethodDescriptor.<io.github.outriggerinference.v1.CreateRunRequest, io.github.outriggerinference.v1.Run>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "CreateRun"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.github.outriggerinference.v1.CreateRunRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.github.outriggerinference.v1.Run.getDefaultInstance()))
              .setSchemaDescriptor(new RunServiceMethodDescriptorSupplier("CreateRun"))
              .build();
        }
      }
    }
    return getCreateRunMethod;
  }

  private static volatile io.grpc.MethodDescriptor<io.github.outriggerinference.v1.CreateRunRequest,
      io.github.outriggerinference.v1.RunEvent> getCreateRunStreamMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "CreateRunStream",
      requestType = io.github.outriggerinference.v1.CreateRunRequest.class,
      responseType = io.github.outriggerinference.v1.RunEvent.class,
      methodType = io.grpc.MethodDescriptor.MethodType.SERVER_STREAMING)
  public static io.grpc.MethodDescriptor<io.github.outriggerinference.v1.CreateRunRequest,
      io.github.outriggerinference.v1.RunEvent> getCreateRunStreamMethod() {
    io.grpc.MethodDescriptor<io.github.outriggerinference.v1.CreateRunRequest, io.github.outriggerinference.v1.RunEvent> getCreateRunStreamMethod;
    if ((getCreateRunStreamMethod = RunServiceGrpc.getCreateRunStreamMethod) == null) {
      synchronized (RunServiceGrpc.class) {
        if ((getCreateRunStreamMethod = RunServiceGrpc.getCreateRunStreamMethod) == null) {
          RunServiceGrpc.getCreateRunStreamMethod = getCreateRunStreamMethod =
              io.grpc.MethodDescriptor.<io.github.outriggerinference.v1.CreateRunRequest, io.github.outriggerinference.v1.RunEvent>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.SERVER_STREAMING)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "CreateRunStream"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.github.outriggerinference.v1.CreateRunRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.github.outriggerinference.v1.RunEvent.getDefaultInstance()))
              .setSchemaDescriptor(new RunServiceMethodDescriptorSupplier("CreateRunStream"))
              .build();
        }
      }
    }
    return getCreateRunStreamMethod;
  }

  private static volatile io.grpc.MethodDescriptor<io.github.outriggerinference.v1.GetRunRequest,
      io.github.outriggerinference.v1.Run> getGetRunMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "GetRun",
      requestType = io.github.outriggerinference.v1.GetRunRequest.class,
      responseType = io.github.outriggerinference.v1.Run.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<io.github.outriggerinference.v1.GetRunRequest,
      io.github.outriggerinference.v1.Run> getGetRunMethod() {
    io.grpc.MethodDescriptor<io.github.outriggerinference.v1.GetRunRequest, io.github.outriggerinference.v1.Run> getGetRunMethod;
    if ((getGetRunMethod = RunServiceGrpc.getGetRunMethod) == null) {
      synchronized (RunServiceGrpc.class) {
        if ((getGetRunMethod = RunServiceGrpc.getGetRunMethod) == null) {
          RunServiceGrpc.getGetRunMethod = getGetRunMethod =
              io.grpc.MethodDescriptor.<io.github.outriggerinference.v1.GetRunRequest, io.github.outriggerinference.v1.Run>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "GetRun"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.github.outriggerinference.v1.GetRunRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.github.outriggerinference.v1.Run.getDefaultInstance()))
              .setSchemaDescriptor(new RunServiceMethodDescriptorSupplier("GetRun"))
              .build();
        }
      }
    }
    return getGetRunMethod;
  }

  private static volatile io.grpc.MethodDescriptor<io.github.outriggerinference.v1.StreamRunRequest,
      io.github.outriggerinference.v1.RunEvent> getStreamRunMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "StreamRun",
      requestType = io.github.outriggerinference.v1.StreamRunRequest.class,
      responseType = io.github.outriggerinference.v1.RunEvent.class,
      methodType = io.grpc.MethodDescriptor.MethodType.SERVER_STREAMING)
  public static io.grpc.MethodDescriptor<io.github.outriggerinference.v1.StreamRunRequest,
      io.github.outriggerinference.v1.RunEvent> getStreamRunMethod() {
    io.grpc.MethodDescriptor<io.github.outriggerinference.v1.StreamRunRequest, io.github.outriggerinference.v1.RunEvent> getStreamRunMethod;
    if ((getStreamRunMethod = RunServiceGrpc.getStreamRunMethod) == null) {
      synchronized (RunServiceGrpc.class) {
        if ((getStreamRunMethod = RunServiceGrpc.getStreamRunMethod) == null) {
          RunServiceGrpc.getStreamRunMethod = getStreamRunMethod =
              io.grpc.MethodDescriptor.<io.github.outriggerinference.v1.StreamRunRequest, io.github.outriggerinference.v1.RunEvent>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.SERVER_STREAMING)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "StreamRun"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.github.outriggerinference.v1.StreamRunRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.github.outriggerinference.v1.RunEvent.getDefaultInstance()))
              .setSchemaDescriptor(new RunServiceMethodDescriptorSupplier("StreamRun"))
              .build();
        }
      }
    }
    return getStreamRunMethod;
  }

  private static volatile io.grpc.MethodDescriptor<io.github.outriggerinference.v1.SubmitToolResultsRequest,
      io.github.outriggerinference.v1.Run> getSubmitToolResultsMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "SubmitToolResults",
      requestType = io.github.outriggerinference.v1.SubmitToolResultsRequest.class,
      responseType = io.github.outriggerinference.v1.Run.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<io.github.outriggerinference.v1.SubmitToolResultsRequest,
      io.github.outriggerinference.v1.Run> getSubmitToolResultsMethod() {
    io.grpc.MethodDescriptor<io.github.outriggerinference.v1.SubmitToolResultsRequest, io.github.outriggerinference.v1.Run> getSubmitToolResultsMethod;
    if ((getSubmitToolResultsMethod = RunServiceGrpc.getSubmitToolResultsMethod) == null) {
      synchronized (RunServiceGrpc.class) {
        if ((getSubmitToolResultsMethod = RunServiceGrpc.getSubmitToolResultsMethod) == null) {
          RunServiceGrpc.getSubmitToolResultsMethod = getSubmitToolResultsMethod =
              io.grpc.MethodDescriptor.<io.github.outriggerinference.v1.SubmitToolResultsRequest, io.github.outriggerinference.v1.Run>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "SubmitToolResults"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.github.outriggerinference.v1.SubmitToolResultsRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.github.outriggerinference.v1.Run.getDefaultInstance()))
              .setSchemaDescriptor(new RunServiceMethodDescriptorSupplier("SubmitToolResults"))
              .build();
        }
      }
    }
    return getSubmitToolResultsMethod;
  }

  private static volatile io.grpc.MethodDescriptor<io.github.outriggerinference.v1.CancelRunRequest,
      io.github.outriggerinference.v1.Run> getCancelRunMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "CancelRun",
      requestType = io.github.outriggerinference.v1.CancelRunRequest.class,
      responseType = io.github.outriggerinference.v1.Run.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<io.github.outriggerinference.v1.CancelRunRequest,
      io.github.outriggerinference.v1.Run> getCancelRunMethod() {
    io.grpc.MethodDescriptor<io.github.outriggerinference.v1.CancelRunRequest, io.github.outriggerinference.v1.Run> getCancelRunMethod;
    if ((getCancelRunMethod = RunServiceGrpc.getCancelRunMethod) == null) {
      synchronized (RunServiceGrpc.class) {
        if ((getCancelRunMethod = RunServiceGrpc.getCancelRunMethod) == null) {
          RunServiceGrpc.getCancelRunMethod = getCancelRunMethod =
              io.grpc.MethodDescriptor.<io.github.outriggerinference.v1.CancelRunRequest, io.github.outriggerinference.v1.Run>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "CancelRun"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.github.outriggerinference.v1.CancelRunRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.github.outriggerinference.v1.Run.getDefaultInstance()))
              .setSchemaDescriptor(new RunServiceMethodDescriptorSupplier("CancelRun"))
              .build();
        }
      }
    }
    return getCancelRunMethod;
  }

  private static volatile io.grpc.MethodDescriptor<io.github.outriggerinference.v1.ListRunsRequest,
      io.github.outriggerinference.v1.ListRunsResponse> getListRunsMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "ListRuns",
      requestType = io.github.outriggerinference.v1.ListRunsRequest.class,
      responseType = io.github.outriggerinference.v1.ListRunsResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<io.github.outriggerinference.v1.ListRunsRequest,
      io.github.outriggerinference.v1.ListRunsResponse> getListRunsMethod() {
    io.grpc.MethodDescriptor<io.github.outriggerinference.v1.ListRunsRequest, io.github.outriggerinference.v1.ListRunsResponse> getListRunsMethod;
    if ((getListRunsMethod = RunServiceGrpc.getListRunsMethod) == null) {
      synchronized (RunServiceGrpc.class) {
        if ((getListRunsMethod = RunServiceGrpc.getListRunsMethod) == null) {
          RunServiceGrpc.getListRunsMethod = getListRunsMethod =
              io.grpc.MethodDescriptor.<io.github.outriggerinference.v1.ListRunsRequest, io.github.outriggerinference.v1.ListRunsResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "ListRuns"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.github.outriggerinference.v1.ListRunsRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.github.outriggerinference.v1.ListRunsResponse.getDefaultInstance()))
              .setSchemaDescriptor(new RunServiceMethodDescriptorSupplier("ListRuns"))
              .build();
        }
      }
    }
    return getListRunsMethod;
  }

  private static volatile io.grpc.MethodDescriptor<io.github.outriggerinference.v1.DeleteRunRequest,
      io.github.outriggerinference.v1.DeleteRunResponse> getDeleteRunMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "DeleteRun",
      requestType = io.github.outriggerinference.v1.DeleteRunRequest.class,
      responseType = io.github.outriggerinference.v1.DeleteRunResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<io.github.outriggerinference.v1.DeleteRunRequest,
      io.github.outriggerinference.v1.DeleteRunResponse> getDeleteRunMethod() {
    io.grpc.MethodDescriptor<io.github.outriggerinference.v1.DeleteRunRequest, io.github.outriggerinference.v1.DeleteRunResponse> getDeleteRunMethod;
    if ((getDeleteRunMethod = RunServiceGrpc.getDeleteRunMethod) == null) {
      synchronized (RunServiceGrpc.class) {
        if ((getDeleteRunMethod = RunServiceGrpc.getDeleteRunMethod) == null) {
          RunServiceGrpc.getDeleteRunMethod = getDeleteRunMethod =
              io.grpc.MethodDescriptor.<io.github.outriggerinference.v1.DeleteRunRequest, io.github.outriggerinference.v1.DeleteRunResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "DeleteRun"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.github.outriggerinference.v1.DeleteRunRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.github.outriggerinference.v1.DeleteRunResponse.getDefaultInstance()))
              .setSchemaDescriptor(new RunServiceMethodDescriptorSupplier("DeleteRun"))
              .build();
        }
      }
    }
    return getDeleteRunMethod;
  }

  /**
   * Creates a new async stub that supports all call types for the service
   */
  public static RunServiceStub newStub(io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<RunServiceStub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<RunServiceStub>() {
        @java.lang.Override
        public RunServiceStub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new RunServiceStub(channel, callOptions);
        }
      };
    return RunServiceStub.newStub(factory, channel);
  }

  /**
   * Creates a new blocking-style stub that supports all types of calls on the service
   */
  public static RunServiceBlockingV2Stub newBlockingV2Stub(
      io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<RunServiceBlockingV2Stub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<RunServiceBlockingV2Stub>() {
        @java.lang.Override
        public RunServiceBlockingV2Stub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new RunServiceBlockingV2Stub(channel, callOptions);
        }
      };
    return RunServiceBlockingV2Stub.newStub(factory, channel);
  }

  /**
   * Creates a new blocking-style stub that supports unary and streaming output calls on the service
   */
  public static RunServiceBlockingStub newBlockingStub(
      io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<RunServiceBlockingStub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<RunServiceBlockingStub>() {
        @java.lang.Override
        public RunServiceBlockingStub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new RunServiceBlockingStub(channel, callOptions);
        }
      };
    return RunServiceBlockingStub.newStub(factory, channel);
  }

  /**
   * Creates a new ListenableFuture-style stub that supports unary calls on the service
   */
  public static RunServiceFutureStub newFutureStub(
      io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<RunServiceFutureStub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<RunServiceFutureStub>() {
        @java.lang.Override
        public RunServiceFutureStub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new RunServiceFutureStub(channel, callOptions);
        }
      };
    return RunServiceFutureStub.newStub(factory, channel);
  }

  /**
   * <pre>
   * Stored runs: they can be started in the background, read, streamed from any event on, continued
   * and cancelled, over this service and over `/v1/responses`, regardless of which API created them.
   * A run belongs to the access key that created it. Other callers get NOT_FOUND. When a terminal
   * event is sent, everything has been stored: GetRun then returns the same state.
   * </pre>
   */
  public interface AsyncService {

    /**
     * <pre>
     * Creates a run. With `background`, returns immediately. Otherwise returns when the run has ended
     * or requires action, and a caller that disconnects cancels the run.
     * </pre>
     */
    default void createRun(io.github.outriggerinference.v1.CreateRunRequest request,
        io.grpc.stub.StreamObserver<io.github.outriggerinference.v1.Run> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getCreateRunMethod(), responseObserver);
    }

    /**
     * <pre>
     * Creates a run and sends its events. A caller that disconnects cancels the run, unless
     * `background` is set. A run that fails ends the stream with its `run` event and then with the
     * status of `Run.error`.
     * </pre>
     */
    default void createRunStream(io.github.outriggerinference.v1.CreateRunRequest request,
        io.grpc.stub.StreamObserver<io.github.outriggerinference.v1.RunEvent> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getCreateRunStreamMethod(), responseObserver);
    }

    /**
     * <pre>
     * Returns a run with its steps. NOT_FOUND if there is none, or if it was deleted.
     * </pre>
     */
    default void getRun(io.github.outriggerinference.v1.GetRunRequest request,
        io.grpc.stub.StreamObserver<io.github.outriggerinference.v1.Run> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getGetRunMethod(), responseObserver);
    }

    /**
     * <pre>
     * Sends the events of a stored run, past ones first, until the run has ended or requires action.
     * May be called at any time and any number of times. Disconnecting does not affect the run.
     * </pre>
     */
    default void streamRun(io.github.outriggerinference.v1.StreamRunRequest request,
        io.grpc.stub.StreamObserver<io.github.outriggerinference.v1.RunEvent> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getStreamRunMethod(), responseObserver);
    }

    /**
     * <pre>
     * Continues a run that requires action. Returns as CreateRun does: immediately for a background
     * run, otherwise when the run has ended or requires action again. FAILED_PRECONDITION if the run
     * does not require action.
     * </pre>
     */
    default void submitToolResults(io.github.outriggerinference.v1.SubmitToolResultsRequest request,
        io.grpc.stub.StreamObserver<io.github.outriggerinference.v1.Run> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getSubmitToolResultsMethod(), responseObserver);
    }

    /**
     * <pre>
     * Cancels a run. The provider call is aborted. Has no effect on a run that has ended.
     * </pre>
     */
    default void cancelRun(io.github.outriggerinference.v1.CancelRunRequest request,
        io.grpc.stub.StreamObserver<io.github.outriggerinference.v1.Run> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getCancelRunMethod(), responseObserver);
    }

    /**
     * <pre>
     * Returns the runs of the caller, newest first, without their steps.
     * </pre>
     */
    default void listRuns(io.github.outriggerinference.v1.ListRunsRequest request,
        io.grpc.stub.StreamObserver<io.github.outriggerinference.v1.ListRunsResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getListRunsMethod(), responseObserver);
    }

    /**
     * <pre>
     * Deletes a run with its steps and events; a run in progress is cancelled first. The messages of
     * its thread remain as long as a run that continued it exists.
     * </pre>
     */
    default void deleteRun(io.github.outriggerinference.v1.DeleteRunRequest request,
        io.grpc.stub.StreamObserver<io.github.outriggerinference.v1.DeleteRunResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getDeleteRunMethod(), responseObserver);
    }
  }

  /**
   * Base class for the server implementation of the service RunService.
   * <pre>
   * Stored runs: they can be started in the background, read, streamed from any event on, continued
   * and cancelled, over this service and over `/v1/responses`, regardless of which API created them.
   * A run belongs to the access key that created it. Other callers get NOT_FOUND. When a terminal
   * event is sent, everything has been stored: GetRun then returns the same state.
   * </pre>
   */
  public static abstract class RunServiceImplBase
      implements io.grpc.BindableService, AsyncService {

    @java.lang.Override public final io.grpc.ServerServiceDefinition bindService() {
      return RunServiceGrpc.bindService(this);
    }
  }

  /**
   * A stub to allow clients to do asynchronous rpc calls to service RunService.
   * <pre>
   * Stored runs: they can be started in the background, read, streamed from any event on, continued
   * and cancelled, over this service and over `/v1/responses`, regardless of which API created them.
   * A run belongs to the access key that created it. Other callers get NOT_FOUND. When a terminal
   * event is sent, everything has been stored: GetRun then returns the same state.
   * </pre>
   */
  public static final class RunServiceStub
      extends io.grpc.stub.AbstractAsyncStub<RunServiceStub> {
    private RunServiceStub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected RunServiceStub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new RunServiceStub(channel, callOptions);
    }

    /**
     * <pre>
     * Creates a run. With `background`, returns immediately. Otherwise returns when the run has ended
     * or requires action, and a caller that disconnects cancels the run.
     * </pre>
     */
    public void createRun(io.github.outriggerinference.v1.CreateRunRequest request,
        io.grpc.stub.StreamObserver<io.github.outriggerinference.v1.Run> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getCreateRunMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Creates a run and sends its events. A caller that disconnects cancels the run, unless
     * `background` is set. A run that fails ends the stream with its `run` event and then with the
     * status of `Run.error`.
     * </pre>
     */
    public void createRunStream(io.github.outriggerinference.v1.CreateRunRequest request,
        io.grpc.stub.StreamObserver<io.github.outriggerinference.v1.RunEvent> responseObserver) {
      io.grpc.stub.ClientCalls.asyncServerStreamingCall(
          getChannel().newCall(getCreateRunStreamMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Returns a run with its steps. NOT_FOUND if there is none, or if it was deleted.
     * </pre>
     */
    public void getRun(io.github.outriggerinference.v1.GetRunRequest request,
        io.grpc.stub.StreamObserver<io.github.outriggerinference.v1.Run> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getGetRunMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Sends the events of a stored run, past ones first, until the run has ended or requires action.
     * May be called at any time and any number of times. Disconnecting does not affect the run.
     * </pre>
     */
    public void streamRun(io.github.outriggerinference.v1.StreamRunRequest request,
        io.grpc.stub.StreamObserver<io.github.outriggerinference.v1.RunEvent> responseObserver) {
      io.grpc.stub.ClientCalls.asyncServerStreamingCall(
          getChannel().newCall(getStreamRunMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Continues a run that requires action. Returns as CreateRun does: immediately for a background
     * run, otherwise when the run has ended or requires action again. FAILED_PRECONDITION if the run
     * does not require action.
     * </pre>
     */
    public void submitToolResults(io.github.outriggerinference.v1.SubmitToolResultsRequest request,
        io.grpc.stub.StreamObserver<io.github.outriggerinference.v1.Run> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getSubmitToolResultsMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Cancels a run. The provider call is aborted. Has no effect on a run that has ended.
     * </pre>
     */
    public void cancelRun(io.github.outriggerinference.v1.CancelRunRequest request,
        io.grpc.stub.StreamObserver<io.github.outriggerinference.v1.Run> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getCancelRunMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Returns the runs of the caller, newest first, without their steps.
     * </pre>
     */
    public void listRuns(io.github.outriggerinference.v1.ListRunsRequest request,
        io.grpc.stub.StreamObserver<io.github.outriggerinference.v1.ListRunsResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getListRunsMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Deletes a run with its steps and events; a run in progress is cancelled first. The messages of
     * its thread remain as long as a run that continued it exists.
     * </pre>
     */
    public void deleteRun(io.github.outriggerinference.v1.DeleteRunRequest request,
        io.grpc.stub.StreamObserver<io.github.outriggerinference.v1.DeleteRunResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getDeleteRunMethod(), getCallOptions()), request, responseObserver);
    }
  }

  /**
   * A stub to allow clients to do synchronous rpc calls to service RunService.
   * <pre>
   * Stored runs: they can be started in the background, read, streamed from any event on, continued
   * and cancelled, over this service and over `/v1/responses`, regardless of which API created them.
   * A run belongs to the access key that created it. Other callers get NOT_FOUND. When a terminal
   * event is sent, everything has been stored: GetRun then returns the same state.
   * </pre>
   */
  public static final class RunServiceBlockingV2Stub
      extends io.grpc.stub.AbstractBlockingStub<RunServiceBlockingV2Stub> {
    private RunServiceBlockingV2Stub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected RunServiceBlockingV2Stub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new RunServiceBlockingV2Stub(channel, callOptions);
    }

    /**
     * <pre>
     * Creates a run. With `background`, returns immediately. Otherwise returns when the run has ended
     * or requires action, and a caller that disconnects cancels the run.
     * </pre>
     */
    public io.github.outriggerinference.v1.Run createRun(io.github.outriggerinference.v1.CreateRunRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getCreateRunMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Creates a run and sends its events. A caller that disconnects cancels the run, unless
     * `background` is set. A run that fails ends the stream with its `run` event and then with the
     * status of `Run.error`.
     * </pre>
     */
    @io.grpc.ExperimentalApi("https://github.com/grpc/grpc-java/issues/10918")
    public io.grpc.stub.BlockingClientCall<?, io.github.outriggerinference.v1.RunEvent>
        createRunStream(io.github.outriggerinference.v1.CreateRunRequest request) {
      return io.grpc.stub.ClientCalls.blockingV2ServerStreamingCall(
          getChannel(), getCreateRunStreamMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Returns a run with its steps. NOT_FOUND if there is none, or if it was deleted.
     * </pre>
     */
    public io.github.outriggerinference.v1.Run getRun(io.github.outriggerinference.v1.GetRunRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getGetRunMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Sends the events of a stored run, past ones first, until the run has ended or requires action.
     * May be called at any time and any number of times. Disconnecting does not affect the run.
     * </pre>
     */
    @io.grpc.ExperimentalApi("https://github.com/grpc/grpc-java/issues/10918")
    public io.grpc.stub.BlockingClientCall<?, io.github.outriggerinference.v1.RunEvent>
        streamRun(io.github.outriggerinference.v1.StreamRunRequest request) {
      return io.grpc.stub.ClientCalls.blockingV2ServerStreamingCall(
          getChannel(), getStreamRunMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Continues a run that requires action. Returns as CreateRun does: immediately for a background
     * run, otherwise when the run has ended or requires action again. FAILED_PRECONDITION if the run
     * does not require action.
     * </pre>
     */
    public io.github.outriggerinference.v1.Run submitToolResults(io.github.outriggerinference.v1.SubmitToolResultsRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getSubmitToolResultsMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Cancels a run. The provider call is aborted. Has no effect on a run that has ended.
     * </pre>
     */
    public io.github.outriggerinference.v1.Run cancelRun(io.github.outriggerinference.v1.CancelRunRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getCancelRunMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Returns the runs of the caller, newest first, without their steps.
     * </pre>
     */
    public io.github.outriggerinference.v1.ListRunsResponse listRuns(io.github.outriggerinference.v1.ListRunsRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getListRunsMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Deletes a run with its steps and events; a run in progress is cancelled first. The messages of
     * its thread remain as long as a run that continued it exists.
     * </pre>
     */
    public io.github.outriggerinference.v1.DeleteRunResponse deleteRun(io.github.outriggerinference.v1.DeleteRunRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getDeleteRunMethod(), getCallOptions(), request);
    }
  }

  /**
   * A stub to allow clients to do limited synchronous rpc calls to service RunService.
   * <pre>
   * Stored runs: they can be started in the background, read, streamed from any event on, continued
   * and cancelled, over this service and over `/v1/responses`, regardless of which API created them.
   * A run belongs to the access key that created it. Other callers get NOT_FOUND. When a terminal
   * event is sent, everything has been stored: GetRun then returns the same state.
   * </pre>
   */
  public static final class RunServiceBlockingStub
      extends io.grpc.stub.AbstractBlockingStub<RunServiceBlockingStub> {
    private RunServiceBlockingStub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected RunServiceBlockingStub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new RunServiceBlockingStub(channel, callOptions);
    }

    /**
     * <pre>
     * Creates a run. With `background`, returns immediately. Otherwise returns when the run has ended
     * or requires action, and a caller that disconnects cancels the run.
     * </pre>
     */
    public io.github.outriggerinference.v1.Run createRun(io.github.outriggerinference.v1.CreateRunRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getCreateRunMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Creates a run and sends its events. A caller that disconnects cancels the run, unless
     * `background` is set. A run that fails ends the stream with its `run` event and then with the
     * status of `Run.error`.
     * </pre>
     */
    public java.util.Iterator<io.github.outriggerinference.v1.RunEvent> createRunStream(
        io.github.outriggerinference.v1.CreateRunRequest request) {
      return io.grpc.stub.ClientCalls.blockingServerStreamingCall(
          getChannel(), getCreateRunStreamMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Returns a run with its steps. NOT_FOUND if there is none, or if it was deleted.
     * </pre>
     */
    public io.github.outriggerinference.v1.Run getRun(io.github.outriggerinference.v1.GetRunRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getGetRunMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Sends the events of a stored run, past ones first, until the run has ended or requires action.
     * May be called at any time and any number of times. Disconnecting does not affect the run.
     * </pre>
     */
    public java.util.Iterator<io.github.outriggerinference.v1.RunEvent> streamRun(
        io.github.outriggerinference.v1.StreamRunRequest request) {
      return io.grpc.stub.ClientCalls.blockingServerStreamingCall(
          getChannel(), getStreamRunMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Continues a run that requires action. Returns as CreateRun does: immediately for a background
     * run, otherwise when the run has ended or requires action again. FAILED_PRECONDITION if the run
     * does not require action.
     * </pre>
     */
    public io.github.outriggerinference.v1.Run submitToolResults(io.github.outriggerinference.v1.SubmitToolResultsRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getSubmitToolResultsMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Cancels a run. The provider call is aborted. Has no effect on a run that has ended.
     * </pre>
     */
    public io.github.outriggerinference.v1.Run cancelRun(io.github.outriggerinference.v1.CancelRunRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getCancelRunMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Returns the runs of the caller, newest first, without their steps.
     * </pre>
     */
    public io.github.outriggerinference.v1.ListRunsResponse listRuns(io.github.outriggerinference.v1.ListRunsRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getListRunsMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Deletes a run with its steps and events; a run in progress is cancelled first. The messages of
     * its thread remain as long as a run that continued it exists.
     * </pre>
     */
    public io.github.outriggerinference.v1.DeleteRunResponse deleteRun(io.github.outriggerinference.v1.DeleteRunRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getDeleteRunMethod(), getCallOptions(), request);
    }
  }

  /**
   * A stub to allow clients to do ListenableFuture-style rpc calls to service RunService.
   * <pre>
   * Stored runs: they can be started in the background, read, streamed from any event on, continued
   * and cancelled, over this service and over `/v1/responses`, regardless of which API created them.
   * A run belongs to the access key that created it. Other callers get NOT_FOUND. When a terminal
   * event is sent, everything has been stored: GetRun then returns the same state.
   * </pre>
   */
  public static final class RunServiceFutureStub
      extends io.grpc.stub.AbstractFutureStub<RunServiceFutureStub> {
    private RunServiceFutureStub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected RunServiceFutureStub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new RunServiceFutureStub(channel, callOptions);
    }

    /**
     * <pre>
     * Creates a run. With `background`, returns immediately. Otherwise returns when the run has ended
     * or requires action, and a caller that disconnects cancels the run.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<io.github.outriggerinference.v1.Run> createRun(
        io.github.outriggerinference.v1.CreateRunRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getCreateRunMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Returns a run with its steps. NOT_FOUND if there is none, or if it was deleted.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<io.github.outriggerinference.v1.Run> getRun(
        io.github.outriggerinference.v1.GetRunRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getGetRunMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Continues a run that requires action. Returns as CreateRun does: immediately for a background
     * run, otherwise when the run has ended or requires action again. FAILED_PRECONDITION if the run
     * does not require action.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<io.github.outriggerinference.v1.Run> submitToolResults(
        io.github.outriggerinference.v1.SubmitToolResultsRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getSubmitToolResultsMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Cancels a run. The provider call is aborted. Has no effect on a run that has ended.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<io.github.outriggerinference.v1.Run> cancelRun(
        io.github.outriggerinference.v1.CancelRunRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getCancelRunMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Returns the runs of the caller, newest first, without their steps.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<io.github.outriggerinference.v1.ListRunsResponse> listRuns(
        io.github.outriggerinference.v1.ListRunsRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getListRunsMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Deletes a run with its steps and events; a run in progress is cancelled first. The messages of
     * its thread remain as long as a run that continued it exists.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<io.github.outriggerinference.v1.DeleteRunResponse> deleteRun(
        io.github.outriggerinference.v1.DeleteRunRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getDeleteRunMethod(), getCallOptions()), request);
    }
  }

  private static final int METHODID_CREATE_RUN = 0;
  private static final int METHODID_CREATE_RUN_STREAM = 1;
  private static final int METHODID_GET_RUN = 2;
  private static final int METHODID_STREAM_RUN = 3;
  private static final int METHODID_SUBMIT_TOOL_RESULTS = 4;
  private static final int METHODID_CANCEL_RUN = 5;
  private static final int METHODID_LIST_RUNS = 6;
  private static final int METHODID_DELETE_RUN = 7;

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
        case METHODID_CREATE_RUN:
          serviceImpl.createRun((io.github.outriggerinference.v1.CreateRunRequest) request,
              (io.grpc.stub.StreamObserver<io.github.outriggerinference.v1.Run>) responseObserver);
          break;
        case METHODID_CREATE_RUN_STREAM:
          serviceImpl.createRunStream((io.github.outriggerinference.v1.CreateRunRequest) request,
              (io.grpc.stub.StreamObserver<io.github.outriggerinference.v1.RunEvent>) responseObserver);
          break;
        case METHODID_GET_RUN:
          serviceImpl.getRun((io.github.outriggerinference.v1.GetRunRequest) request,
              (io.grpc.stub.StreamObserver<io.github.outriggerinference.v1.Run>) responseObserver);
          break;
        case METHODID_STREAM_RUN:
          serviceImpl.streamRun((io.github.outriggerinference.v1.StreamRunRequest) request,
              (io.grpc.stub.StreamObserver<io.github.outriggerinference.v1.RunEvent>) responseObserver);
          break;
        case METHODID_SUBMIT_TOOL_RESULTS:
          serviceImpl.submitToolResults((io.github.outriggerinference.v1.SubmitToolResultsRequest) request,
              (io.grpc.stub.StreamObserver<io.github.outriggerinference.v1.Run>) responseObserver);
          break;
        case METHODID_CANCEL_RUN:
          serviceImpl.cancelRun((io.github.outriggerinference.v1.CancelRunRequest) request,
              (io.grpc.stub.StreamObserver<io.github.outriggerinference.v1.Run>) responseObserver);
          break;
        case METHODID_LIST_RUNS:
          serviceImpl.listRuns((io.github.outriggerinference.v1.ListRunsRequest) request,
              (io.grpc.stub.StreamObserver<io.github.outriggerinference.v1.ListRunsResponse>) responseObserver);
          break;
        case METHODID_DELETE_RUN:
          serviceImpl.deleteRun((io.github.outriggerinference.v1.DeleteRunRequest) request,
              (io.grpc.stub.StreamObserver<io.github.outriggerinference.v1.DeleteRunResponse>) responseObserver);
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
          getCreateRunMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              io.github.outriggerinference.v1.CreateRunRequest,
              io.github.outriggerinference.v1.Run>(
                service, METHODID_CREATE_RUN)))
        .addMethod(
          getCreateRunStreamMethod(),
          io.grpc.stub.ServerCalls.asyncServerStreamingCall(
            new MethodHandlers<
              io.github.outriggerinference.v1.CreateRunRequest,
              io.github.outriggerinference.v1.RunEvent>(
                service, METHODID_CREATE_RUN_STREAM)))
        .addMethod(
          getGetRunMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              io.github.outriggerinference.v1.GetRunRequest,
              io.github.outriggerinference.v1.Run>(
                service, METHODID_GET_RUN)))
        .addMethod(
          getStreamRunMethod(),
          io.grpc.stub.ServerCalls.asyncServerStreamingCall(
            new MethodHandlers<
              io.github.outriggerinference.v1.StreamRunRequest,
              io.github.outriggerinference.v1.RunEvent>(
                service, METHODID_STREAM_RUN)))
        .addMethod(
          getSubmitToolResultsMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              io.github.outriggerinference.v1.SubmitToolResultsRequest,
              io.github.outriggerinference.v1.Run>(
                service, METHODID_SUBMIT_TOOL_RESULTS)))
        .addMethod(
          getCancelRunMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              io.github.outriggerinference.v1.CancelRunRequest,
              io.github.outriggerinference.v1.Run>(
                service, METHODID_CANCEL_RUN)))
        .addMethod(
          getListRunsMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              io.github.outriggerinference.v1.ListRunsRequest,
              io.github.outriggerinference.v1.ListRunsResponse>(
                service, METHODID_LIST_RUNS)))
        .addMethod(
          getDeleteRunMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              io.github.outriggerinference.v1.DeleteRunRequest,
              io.github.outriggerinference.v1.DeleteRunResponse>(
                service, METHODID_DELETE_RUN)))
        .build();
  }

  private static abstract class RunServiceBaseDescriptorSupplier
      implements io.grpc.protobuf.ProtoFileDescriptorSupplier, io.grpc.protobuf.ProtoServiceDescriptorSupplier {
    RunServiceBaseDescriptorSupplier() {}

    @java.lang.Override
    public com.google.protobuf.Descriptors.FileDescriptor getFileDescriptor() {
      return io.github.outriggerinference.v1.RunServiceOuterClass.getDescriptor();
    }

    @java.lang.Override
    public com.google.protobuf.Descriptors.ServiceDescriptor getServiceDescriptor() {
      return getFileDescriptor().findServiceByName("RunService");
    }
  }

  private static final class RunServiceFileDescriptorSupplier
      extends RunServiceBaseDescriptorSupplier {
    RunServiceFileDescriptorSupplier() {}
  }

  private static final class RunServiceMethodDescriptorSupplier
      extends RunServiceBaseDescriptorSupplier
      implements io.grpc.protobuf.ProtoMethodDescriptorSupplier {
    private final java.lang.String methodName;

    RunServiceMethodDescriptorSupplier(java.lang.String methodName) {
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
      synchronized (RunServiceGrpc.class) {
        result = serviceDescriptor;
        if (result == null) {
          serviceDescriptor = result = io.grpc.ServiceDescriptor.newBuilder(SERVICE_NAME)
              .setSchemaDescriptor(new RunServiceFileDescriptorSupplier())
              .addMethod(getCreateRunMethod())
              .addMethod(getCreateRunStreamMethod())
              .addMethod(getGetRunMethod())
              .addMethod(getStreamRunMethod())
              .addMethod(getSubmitToolResultsMethod())
              .addMethod(getCancelRunMethod())
              .addMethod(getListRunsMethod())
              .addMethod(getDeleteRunMethod())
              .build();
        }
      }
    }
    return result;
  }
}
