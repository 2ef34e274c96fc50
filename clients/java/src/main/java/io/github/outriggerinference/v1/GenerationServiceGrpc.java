package io.github.outriggerinference.v1;

import static io.grpc.MethodDescriptor.generateFullMethodName;

/**
 * <pre>
 * Generates text and objects, with retries, time limits, schema validation and a tool loop.
 * A failed call ends as in `InferenceService`: with the status of its `ErrorKind`, and an
 * `InferenceError` among the status details. The usage in that error covers all steps so far. When
 * the caller cancels or disconnects, the provider call is aborted at once and nothing further is
 * sent.
 * </pre>
 */
@io.grpc.stub.annotations.GrpcGenerated
public final class GenerationServiceGrpc {

  private GenerationServiceGrpc() {}

  public static final java.lang.String SERVICE_NAME = "outrigger.v1.GenerationService";

  // Static method descriptors that strictly reflect the proto.
  private static volatile io.grpc.MethodDescriptor<io.github.outriggerinference.v1.GenerateRequest,
      io.github.outriggerinference.v1.GenerateResponse> getGenerateMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "Generate",
      requestType = io.github.outriggerinference.v1.GenerateRequest.class,
      responseType = io.github.outriggerinference.v1.GenerateResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<io.github.outriggerinference.v1.GenerateRequest,
      io.github.outriggerinference.v1.GenerateResponse> getGenerateMethod() {
    io.grpc.MethodDescriptor<io.github.outriggerinference.v1.GenerateRequest, io.github.outriggerinference.v1.GenerateResponse> getGenerateMethod;
    if ((getGenerateMethod = GenerationServiceGrpc.getGenerateMethod) == null) {
      synchronized (GenerationServiceGrpc.class) {
        if ((getGenerateMethod = GenerationServiceGrpc.getGenerateMethod) == null) {
          GenerationServiceGrpc.getGenerateMethod = getGenerateMethod =
              io.grpc.MethodDescriptor.<io.github.outriggerinference.v1.GenerateRequest, io.github.outriggerinference.v1.GenerateResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "Generate"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.github.outriggerinference.v1.GenerateRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.github.outriggerinference.v1.GenerateResponse.getDefaultInstance()))
              .setSchemaDescriptor(new GenerationServiceMethodDescriptorSupplier("Generate"))
              .build();
        }
      }
    }
    return getGenerateMethod;
  }

  private static volatile io.grpc.MethodDescriptor<io.github.outriggerinference.v1.StreamGenerateRequest,
      io.github.outriggerinference.v1.StreamGenerateResponse> getStreamGenerateMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "StreamGenerate",
      requestType = io.github.outriggerinference.v1.StreamGenerateRequest.class,
      responseType = io.github.outriggerinference.v1.StreamGenerateResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.SERVER_STREAMING)
  public static io.grpc.MethodDescriptor<io.github.outriggerinference.v1.StreamGenerateRequest,
      io.github.outriggerinference.v1.StreamGenerateResponse> getStreamGenerateMethod() {
    io.grpc.MethodDescriptor<io.github.outriggerinference.v1.StreamGenerateRequest, io.github.outriggerinference.v1.StreamGenerateResponse> getStreamGenerateMethod;
    if ((getStreamGenerateMethod = GenerationServiceGrpc.getStreamGenerateMethod) == null) {
      synchronized (GenerationServiceGrpc.class) {
        if ((getStreamGenerateMethod = GenerationServiceGrpc.getStreamGenerateMethod) == null) {
          GenerationServiceGrpc.getStreamGenerateMethod = getStreamGenerateMethod =
              io.grpc.MethodDescriptor.<io.github.outriggerinference.v1.StreamGenerateRequest, io.github.outriggerinference.v1.StreamGenerateResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.SERVER_STREAMING)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "StreamGenerate"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.github.outriggerinference.v1.StreamGenerateRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.github.outriggerinference.v1.StreamGenerateResponse.getDefaultInstance()))
              .setSchemaDescriptor(new GenerationServiceMethodDescriptorSupplier("StreamGenerate"))
              .build();
        }
      }
    }
    return getStreamGenerateMethod;
  }

  private static volatile io.grpc.MethodDescriptor<io.github.outriggerinference.v1.GenerateObjectRequest,
      io.github.outriggerinference.v1.GenerateObjectResponse> getGenerateObjectMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "GenerateObject",
      requestType = io.github.outriggerinference.v1.GenerateObjectRequest.class,
      responseType = io.github.outriggerinference.v1.GenerateObjectResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<io.github.outriggerinference.v1.GenerateObjectRequest,
      io.github.outriggerinference.v1.GenerateObjectResponse> getGenerateObjectMethod() {
    io.grpc.MethodDescriptor<io.github.outriggerinference.v1.GenerateObjectRequest, io.github.outriggerinference.v1.GenerateObjectResponse> getGenerateObjectMethod;
    if ((getGenerateObjectMethod = GenerationServiceGrpc.getGenerateObjectMethod) == null) {
      synchronized (GenerationServiceGrpc.class) {
        if ((getGenerateObjectMethod = GenerationServiceGrpc.getGenerateObjectMethod) == null) {
          GenerationServiceGrpc.getGenerateObjectMethod = getGenerateObjectMethod =
              io.grpc.MethodDescriptor.<io.github.outriggerinference.v1.GenerateObjectRequest, io.github.outriggerinference.v1.GenerateObjectResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "GenerateObject"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.github.outriggerinference.v1.GenerateObjectRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.github.outriggerinference.v1.GenerateObjectResponse.getDefaultInstance()))
              .setSchemaDescriptor(new GenerationServiceMethodDescriptorSupplier("GenerateObject"))
              .build();
        }
      }
    }
    return getGenerateObjectMethod;
  }

  private static volatile io.grpc.MethodDescriptor<io.github.outriggerinference.v1.StreamObjectRequest,
      io.github.outriggerinference.v1.StreamObjectResponse> getStreamObjectMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "StreamObject",
      requestType = io.github.outriggerinference.v1.StreamObjectRequest.class,
      responseType = io.github.outriggerinference.v1.StreamObjectResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.SERVER_STREAMING)
  public static io.grpc.MethodDescriptor<io.github.outriggerinference.v1.StreamObjectRequest,
      io.github.outriggerinference.v1.StreamObjectResponse> getStreamObjectMethod() {
    io.grpc.MethodDescriptor<io.github.outriggerinference.v1.StreamObjectRequest, io.github.outriggerinference.v1.StreamObjectResponse> getStreamObjectMethod;
    if ((getStreamObjectMethod = GenerationServiceGrpc.getStreamObjectMethod) == null) {
      synchronized (GenerationServiceGrpc.class) {
        if ((getStreamObjectMethod = GenerationServiceGrpc.getStreamObjectMethod) == null) {
          GenerationServiceGrpc.getStreamObjectMethod = getStreamObjectMethod =
              io.grpc.MethodDescriptor.<io.github.outriggerinference.v1.StreamObjectRequest, io.github.outriggerinference.v1.StreamObjectResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.SERVER_STREAMING)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "StreamObject"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.github.outriggerinference.v1.StreamObjectRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.github.outriggerinference.v1.StreamObjectResponse.getDefaultInstance()))
              .setSchemaDescriptor(new GenerationServiceMethodDescriptorSupplier("StreamObject"))
              .build();
        }
      }
    }
    return getStreamObjectMethod;
  }

  private static volatile io.grpc.MethodDescriptor<io.github.outriggerinference.v1.RunToolsRequest,
      io.github.outriggerinference.v1.RunToolsResponse> getRunToolsMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "RunTools",
      requestType = io.github.outriggerinference.v1.RunToolsRequest.class,
      responseType = io.github.outriggerinference.v1.RunToolsResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.BIDI_STREAMING)
  public static io.grpc.MethodDescriptor<io.github.outriggerinference.v1.RunToolsRequest,
      io.github.outriggerinference.v1.RunToolsResponse> getRunToolsMethod() {
    io.grpc.MethodDescriptor<io.github.outriggerinference.v1.RunToolsRequest, io.github.outriggerinference.v1.RunToolsResponse> getRunToolsMethod;
    if ((getRunToolsMethod = GenerationServiceGrpc.getRunToolsMethod) == null) {
      synchronized (GenerationServiceGrpc.class) {
        if ((getRunToolsMethod = GenerationServiceGrpc.getRunToolsMethod) == null) {
          GenerationServiceGrpc.getRunToolsMethod = getRunToolsMethod =
              io.grpc.MethodDescriptor.<io.github.outriggerinference.v1.RunToolsRequest, io.github.outriggerinference.v1.RunToolsResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.BIDI_STREAMING)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "RunTools"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.github.outriggerinference.v1.RunToolsRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.github.outriggerinference.v1.RunToolsResponse.getDefaultInstance()))
              .setSchemaDescriptor(new GenerationServiceMethodDescriptorSupplier("RunTools"))
              .build();
        }
      }
    }
    return getRunToolsMethod;
  }

  private static volatile io.grpc.MethodDescriptor<io.github.outriggerinference.v1.ContinueToolsRequest,
      io.github.outriggerinference.v1.RunToolsResponse> getContinueToolsMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "ContinueTools",
      requestType = io.github.outriggerinference.v1.ContinueToolsRequest.class,
      responseType = io.github.outriggerinference.v1.RunToolsResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.SERVER_STREAMING)
  public static io.grpc.MethodDescriptor<io.github.outriggerinference.v1.ContinueToolsRequest,
      io.github.outriggerinference.v1.RunToolsResponse> getContinueToolsMethod() {
    io.grpc.MethodDescriptor<io.github.outriggerinference.v1.ContinueToolsRequest, io.github.outriggerinference.v1.RunToolsResponse> getContinueToolsMethod;
    if ((getContinueToolsMethod = GenerationServiceGrpc.getContinueToolsMethod) == null) {
      synchronized (GenerationServiceGrpc.class) {
        if ((getContinueToolsMethod = GenerationServiceGrpc.getContinueToolsMethod) == null) {
          GenerationServiceGrpc.getContinueToolsMethod = getContinueToolsMethod =
              io.grpc.MethodDescriptor.<io.github.outriggerinference.v1.ContinueToolsRequest, io.github.outriggerinference.v1.RunToolsResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.SERVER_STREAMING)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "ContinueTools"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.github.outriggerinference.v1.ContinueToolsRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.github.outriggerinference.v1.RunToolsResponse.getDefaultInstance()))
              .setSchemaDescriptor(new GenerationServiceMethodDescriptorSupplier("ContinueTools"))
              .build();
        }
      }
    }
    return getContinueToolsMethod;
  }

  /**
   * Creates a new async stub that supports all call types for the service
   */
  public static GenerationServiceStub newStub(io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<GenerationServiceStub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<GenerationServiceStub>() {
        @java.lang.Override
        public GenerationServiceStub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new GenerationServiceStub(channel, callOptions);
        }
      };
    return GenerationServiceStub.newStub(factory, channel);
  }

  /**
   * Creates a new blocking-style stub that supports all types of calls on the service
   */
  public static GenerationServiceBlockingV2Stub newBlockingV2Stub(
      io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<GenerationServiceBlockingV2Stub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<GenerationServiceBlockingV2Stub>() {
        @java.lang.Override
        public GenerationServiceBlockingV2Stub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new GenerationServiceBlockingV2Stub(channel, callOptions);
        }
      };
    return GenerationServiceBlockingV2Stub.newStub(factory, channel);
  }

  /**
   * Creates a new blocking-style stub that supports unary and streaming output calls on the service
   */
  public static GenerationServiceBlockingStub newBlockingStub(
      io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<GenerationServiceBlockingStub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<GenerationServiceBlockingStub>() {
        @java.lang.Override
        public GenerationServiceBlockingStub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new GenerationServiceBlockingStub(channel, callOptions);
        }
      };
    return GenerationServiceBlockingStub.newStub(factory, channel);
  }

  /**
   * Creates a new ListenableFuture-style stub that supports unary calls on the service
   */
  public static GenerationServiceFutureStub newFutureStub(
      io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<GenerationServiceFutureStub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<GenerationServiceFutureStub>() {
        @java.lang.Override
        public GenerationServiceFutureStub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new GenerationServiceFutureStub(channel, callOptions);
        }
      };
    return GenerationServiceFutureStub.newStub(factory, channel);
  }

  /**
   * <pre>
   * Generates text and objects, with retries, time limits, schema validation and a tool loop.
   * A failed call ends as in `InferenceService`: with the status of its `ErrorKind`, and an
   * `InferenceError` among the status details. The usage in that error covers all steps so far. When
   * the caller cancels or disconnects, the provider call is aborted at once and nothing further is
   * sent.
   * </pre>
   */
  public interface AsyncService {

    /**
     * <pre>
     * Returns the result as a whole. Tools are not executed: a tool call ends the generation with
     * STOP_REASON_TOOL_CALLS. `max_tool_rounds` and `stop_when` have no effect.
     * </pre>
     */
    default void generate(io.github.outriggerinference.v1.GenerateRequest request,
        io.grpc.stub.StreamObserver<io.github.outriggerinference.v1.GenerateResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getGenerateMethod(), responseObserver);
    }

    /**
     * <pre>
     * Like Generate, but also sends the model's events as they arrive.
     * </pre>
     */
    default void streamGenerate(io.github.outriggerinference.v1.StreamGenerateRequest request,
        io.grpc.stub.StreamObserver<io.github.outriggerinference.v1.StreamGenerateResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getStreamGenerateMethod(), responseObserver);
    }

    /**
     * <pre>
     * Generates an object that matches a JSON Schema. If the answer is not valid JSON or does not match
     * the schema, the call fails with NO_OBJECT_GENERATED, and `InferenceError.no_object` has the text
     * and the violations. Such an answer is not retried. `max_tool_rounds` and `stop_when` have no
     * effect.
     * </pre>
     */
    default void generateObject(io.github.outriggerinference.v1.GenerateObjectRequest request,
        io.grpc.stub.StreamObserver<io.github.outriggerinference.v1.GenerateObjectResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getGenerateObjectMethod(), responseObserver);
    }

    /**
     * <pre>
     * Like GenerateObject, but also sends the object as far as it has arrived.
     * </pre>
     */
    default void streamObject(io.github.outriggerinference.v1.StreamObjectRequest request,
        io.grpc.stub.StreamObserver<io.github.outriggerinference.v1.StreamObjectResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getStreamObjectMethod(), responseObserver);
    }

    /**
     * <pre>
     * Runs the tool loop with tools that the caller executes in its own process.
     * This state machine gives the order of messages. `&gt;` is sent by the caller, `&lt;` by the sidecar.
     *   state      message                 next state
     *   OPENING    &gt; start                 MODEL
     *   MODEL      &lt; event *               MODEL      events of one model call, which obey the laws of
     *                                                 a stream; not sent with `omit_events`
     *   MODEL      &lt; execute               TOOLS      one per tool call, in the order of the calls
     *   MODEL      &lt; step_finish           MODEL      no call is sent to the caller, but all have error
     *                                                 results (an unknown tool, invalid arguments);
     *                                                 the next step begins
     *   MODEL      &lt; step_finish           FINISHED   there is no tool call to execute, or a limit,
     *                                                 `stop_when` or a passive tool ends the loop
     *   TOOLS      &lt; execute               TOOLS      the next call, or a call that was repaired
     *   TOOLS      &gt; output                TOOLS      in any order, also before the last `execute`
     *   TOOLS      &lt; step_finish           MODEL      every call has its result; the next step begins
     *   TOOLS      &lt; step_finish           FINISHED   `stop_when` or a passive tool ends the loop
     *   FINISHED   &lt; result                ENDED      status OK follows
     *   any        &lt; error                 ENDED      the status of the error follows. If nothing has
     *                                                 been sent yet, there is a status and no `error`
     * - Tool call ids are unique in the loop: a call whose id was used before gets an error result.
     *   Each `execute` expects exactly one `output`.
     * - An output that cannot be used changes nothing and is answered with `rejected_output`, in any
     *   state before ENDED. `RejectedOutput.Reason` lists the reasons.
     * - A second `start`, a first message other than `start`, or an output without an id or without a
     *   value in `output` ends the call with INVALID_REQUEST. If no `start` arrives within the
     *   sidecar's `limits.stall_timeout` (30 s by default), the call ends.
     * - A tool that does not answer within `GenerationTimeouts.per_tool` gets an error result.
     * - The caller may close its side (half-close) at any time after `start`. Calls without an output,
     *   and all later calls, then get error results. The loop goes on, so that the model can answer.
     * - If the caller cancels or disconnects, the loop ends and the provider call is aborted.
     * </pre>
     */
    default io.grpc.stub.StreamObserver<io.github.outriggerinference.v1.RunToolsRequest> runTools(
        io.grpc.stub.StreamObserver<io.github.outriggerinference.v1.RunToolsResponse> responseObserver) {
      return io.grpc.stub.ServerCalls.asyncUnimplementedStreamingCall(getRunToolsMethod(), responseObserver);
    }

    /**
     * <pre>
     * The tool loop for callers without bidirectional streams (HTTP/1.1, browsers), one step per call.
     * The first call has only `start`. If the model calls tools, the answer has an `execute` for each,
     * a `step_finish` without the results of these calls, and a `result` with STOP_REASON_TOOL_CALLS.
     * The next call has the same `start`, that result as `previous`, and an output for each of these
     * calls. Messages come in the order of RunTools, with these exceptions:
     * - If outputs repair calls, the answer has an `execute` for each repaired call, the same
     *   `step_finish` with the results so far, and a `result`. The model is not called.
     * - If `stop_when` is true after the previous steps, the answer has only a `result`.
     * - If all calls of a step are invalid and none is sent for repair, the model gets the error
     *   results at once, and the next step follows in the same call.
     * </pre>
     */
    default void continueTools(io.github.outriggerinference.v1.ContinueToolsRequest request,
        io.grpc.stub.StreamObserver<io.github.outriggerinference.v1.RunToolsResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getContinueToolsMethod(), responseObserver);
    }
  }

  /**
   * Base class for the server implementation of the service GenerationService.
   * <pre>
   * Generates text and objects, with retries, time limits, schema validation and a tool loop.
   * A failed call ends as in `InferenceService`: with the status of its `ErrorKind`, and an
   * `InferenceError` among the status details. The usage in that error covers all steps so far. When
   * the caller cancels or disconnects, the provider call is aborted at once and nothing further is
   * sent.
   * </pre>
   */
  public static abstract class GenerationServiceImplBase
      implements io.grpc.BindableService, AsyncService {

    @java.lang.Override public final io.grpc.ServerServiceDefinition bindService() {
      return GenerationServiceGrpc.bindService(this);
    }
  }

  /**
   * A stub to allow clients to do asynchronous rpc calls to service GenerationService.
   * <pre>
   * Generates text and objects, with retries, time limits, schema validation and a tool loop.
   * A failed call ends as in `InferenceService`: with the status of its `ErrorKind`, and an
   * `InferenceError` among the status details. The usage in that error covers all steps so far. When
   * the caller cancels or disconnects, the provider call is aborted at once and nothing further is
   * sent.
   * </pre>
   */
  public static final class GenerationServiceStub
      extends io.grpc.stub.AbstractAsyncStub<GenerationServiceStub> {
    private GenerationServiceStub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected GenerationServiceStub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new GenerationServiceStub(channel, callOptions);
    }

    /**
     * <pre>
     * Returns the result as a whole. Tools are not executed: a tool call ends the generation with
     * STOP_REASON_TOOL_CALLS. `max_tool_rounds` and `stop_when` have no effect.
     * </pre>
     */
    public void generate(io.github.outriggerinference.v1.GenerateRequest request,
        io.grpc.stub.StreamObserver<io.github.outriggerinference.v1.GenerateResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getGenerateMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Like Generate, but also sends the model's events as they arrive.
     * </pre>
     */
    public void streamGenerate(io.github.outriggerinference.v1.StreamGenerateRequest request,
        io.grpc.stub.StreamObserver<io.github.outriggerinference.v1.StreamGenerateResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncServerStreamingCall(
          getChannel().newCall(getStreamGenerateMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Generates an object that matches a JSON Schema. If the answer is not valid JSON or does not match
     * the schema, the call fails with NO_OBJECT_GENERATED, and `InferenceError.no_object` has the text
     * and the violations. Such an answer is not retried. `max_tool_rounds` and `stop_when` have no
     * effect.
     * </pre>
     */
    public void generateObject(io.github.outriggerinference.v1.GenerateObjectRequest request,
        io.grpc.stub.StreamObserver<io.github.outriggerinference.v1.GenerateObjectResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getGenerateObjectMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Like GenerateObject, but also sends the object as far as it has arrived.
     * </pre>
     */
    public void streamObject(io.github.outriggerinference.v1.StreamObjectRequest request,
        io.grpc.stub.StreamObserver<io.github.outriggerinference.v1.StreamObjectResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncServerStreamingCall(
          getChannel().newCall(getStreamObjectMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Runs the tool loop with tools that the caller executes in its own process.
     * This state machine gives the order of messages. `&gt;` is sent by the caller, `&lt;` by the sidecar.
     *   state      message                 next state
     *   OPENING    &gt; start                 MODEL
     *   MODEL      &lt; event *               MODEL      events of one model call, which obey the laws of
     *                                                 a stream; not sent with `omit_events`
     *   MODEL      &lt; execute               TOOLS      one per tool call, in the order of the calls
     *   MODEL      &lt; step_finish           MODEL      no call is sent to the caller, but all have error
     *                                                 results (an unknown tool, invalid arguments);
     *                                                 the next step begins
     *   MODEL      &lt; step_finish           FINISHED   there is no tool call to execute, or a limit,
     *                                                 `stop_when` or a passive tool ends the loop
     *   TOOLS      &lt; execute               TOOLS      the next call, or a call that was repaired
     *   TOOLS      &gt; output                TOOLS      in any order, also before the last `execute`
     *   TOOLS      &lt; step_finish           MODEL      every call has its result; the next step begins
     *   TOOLS      &lt; step_finish           FINISHED   `stop_when` or a passive tool ends the loop
     *   FINISHED   &lt; result                ENDED      status OK follows
     *   any        &lt; error                 ENDED      the status of the error follows. If nothing has
     *                                                 been sent yet, there is a status and no `error`
     * - Tool call ids are unique in the loop: a call whose id was used before gets an error result.
     *   Each `execute` expects exactly one `output`.
     * - An output that cannot be used changes nothing and is answered with `rejected_output`, in any
     *   state before ENDED. `RejectedOutput.Reason` lists the reasons.
     * - A second `start`, a first message other than `start`, or an output without an id or without a
     *   value in `output` ends the call with INVALID_REQUEST. If no `start` arrives within the
     *   sidecar's `limits.stall_timeout` (30 s by default), the call ends.
     * - A tool that does not answer within `GenerationTimeouts.per_tool` gets an error result.
     * - The caller may close its side (half-close) at any time after `start`. Calls without an output,
     *   and all later calls, then get error results. The loop goes on, so that the model can answer.
     * - If the caller cancels or disconnects, the loop ends and the provider call is aborted.
     * </pre>
     */
    public io.grpc.stub.StreamObserver<io.github.outriggerinference.v1.RunToolsRequest> runTools(
        io.grpc.stub.StreamObserver<io.github.outriggerinference.v1.RunToolsResponse> responseObserver) {
      return io.grpc.stub.ClientCalls.asyncBidiStreamingCall(
          getChannel().newCall(getRunToolsMethod(), getCallOptions()), responseObserver);
    }

    /**
     * <pre>
     * The tool loop for callers without bidirectional streams (HTTP/1.1, browsers), one step per call.
     * The first call has only `start`. If the model calls tools, the answer has an `execute` for each,
     * a `step_finish` without the results of these calls, and a `result` with STOP_REASON_TOOL_CALLS.
     * The next call has the same `start`, that result as `previous`, and an output for each of these
     * calls. Messages come in the order of RunTools, with these exceptions:
     * - If outputs repair calls, the answer has an `execute` for each repaired call, the same
     *   `step_finish` with the results so far, and a `result`. The model is not called.
     * - If `stop_when` is true after the previous steps, the answer has only a `result`.
     * - If all calls of a step are invalid and none is sent for repair, the model gets the error
     *   results at once, and the next step follows in the same call.
     * </pre>
     */
    public void continueTools(io.github.outriggerinference.v1.ContinueToolsRequest request,
        io.grpc.stub.StreamObserver<io.github.outriggerinference.v1.RunToolsResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncServerStreamingCall(
          getChannel().newCall(getContinueToolsMethod(), getCallOptions()), request, responseObserver);
    }
  }

  /**
   * A stub to allow clients to do synchronous rpc calls to service GenerationService.
   * <pre>
   * Generates text and objects, with retries, time limits, schema validation and a tool loop.
   * A failed call ends as in `InferenceService`: with the status of its `ErrorKind`, and an
   * `InferenceError` among the status details. The usage in that error covers all steps so far. When
   * the caller cancels or disconnects, the provider call is aborted at once and nothing further is
   * sent.
   * </pre>
   */
  public static final class GenerationServiceBlockingV2Stub
      extends io.grpc.stub.AbstractBlockingStub<GenerationServiceBlockingV2Stub> {
    private GenerationServiceBlockingV2Stub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected GenerationServiceBlockingV2Stub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new GenerationServiceBlockingV2Stub(channel, callOptions);
    }

    /**
     * <pre>
     * Returns the result as a whole. Tools are not executed: a tool call ends the generation with
     * STOP_REASON_TOOL_CALLS. `max_tool_rounds` and `stop_when` have no effect.
     * </pre>
     */
    public io.github.outriggerinference.v1.GenerateResponse generate(io.github.outriggerinference.v1.GenerateRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getGenerateMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Like Generate, but also sends the model's events as they arrive.
     * </pre>
     */
    @io.grpc.ExperimentalApi("https://github.com/grpc/grpc-java/issues/10918")
    public io.grpc.stub.BlockingClientCall<?, io.github.outriggerinference.v1.StreamGenerateResponse>
        streamGenerate(io.github.outriggerinference.v1.StreamGenerateRequest request) {
      return io.grpc.stub.ClientCalls.blockingV2ServerStreamingCall(
          getChannel(), getStreamGenerateMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Generates an object that matches a JSON Schema. If the answer is not valid JSON or does not match
     * the schema, the call fails with NO_OBJECT_GENERATED, and `InferenceError.no_object` has the text
     * and the violations. Such an answer is not retried. `max_tool_rounds` and `stop_when` have no
     * effect.
     * </pre>
     */
    public io.github.outriggerinference.v1.GenerateObjectResponse generateObject(io.github.outriggerinference.v1.GenerateObjectRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getGenerateObjectMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Like GenerateObject, but also sends the object as far as it has arrived.
     * </pre>
     */
    @io.grpc.ExperimentalApi("https://github.com/grpc/grpc-java/issues/10918")
    public io.grpc.stub.BlockingClientCall<?, io.github.outriggerinference.v1.StreamObjectResponse>
        streamObject(io.github.outriggerinference.v1.StreamObjectRequest request) {
      return io.grpc.stub.ClientCalls.blockingV2ServerStreamingCall(
          getChannel(), getStreamObjectMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Runs the tool loop with tools that the caller executes in its own process.
     * This state machine gives the order of messages. `&gt;` is sent by the caller, `&lt;` by the sidecar.
     *   state      message                 next state
     *   OPENING    &gt; start                 MODEL
     *   MODEL      &lt; event *               MODEL      events of one model call, which obey the laws of
     *                                                 a stream; not sent with `omit_events`
     *   MODEL      &lt; execute               TOOLS      one per tool call, in the order of the calls
     *   MODEL      &lt; step_finish           MODEL      no call is sent to the caller, but all have error
     *                                                 results (an unknown tool, invalid arguments);
     *                                                 the next step begins
     *   MODEL      &lt; step_finish           FINISHED   there is no tool call to execute, or a limit,
     *                                                 `stop_when` or a passive tool ends the loop
     *   TOOLS      &lt; execute               TOOLS      the next call, or a call that was repaired
     *   TOOLS      &gt; output                TOOLS      in any order, also before the last `execute`
     *   TOOLS      &lt; step_finish           MODEL      every call has its result; the next step begins
     *   TOOLS      &lt; step_finish           FINISHED   `stop_when` or a passive tool ends the loop
     *   FINISHED   &lt; result                ENDED      status OK follows
     *   any        &lt; error                 ENDED      the status of the error follows. If nothing has
     *                                                 been sent yet, there is a status and no `error`
     * - Tool call ids are unique in the loop: a call whose id was used before gets an error result.
     *   Each `execute` expects exactly one `output`.
     * - An output that cannot be used changes nothing and is answered with `rejected_output`, in any
     *   state before ENDED. `RejectedOutput.Reason` lists the reasons.
     * - A second `start`, a first message other than `start`, or an output without an id or without a
     *   value in `output` ends the call with INVALID_REQUEST. If no `start` arrives within the
     *   sidecar's `limits.stall_timeout` (30 s by default), the call ends.
     * - A tool that does not answer within `GenerationTimeouts.per_tool` gets an error result.
     * - The caller may close its side (half-close) at any time after `start`. Calls without an output,
     *   and all later calls, then get error results. The loop goes on, so that the model can answer.
     * - If the caller cancels or disconnects, the loop ends and the provider call is aborted.
     * </pre>
     */
    @io.grpc.ExperimentalApi("https://github.com/grpc/grpc-java/issues/10918")
    public io.grpc.stub.BlockingClientCall<io.github.outriggerinference.v1.RunToolsRequest, io.github.outriggerinference.v1.RunToolsResponse>
        runTools() {
      return io.grpc.stub.ClientCalls.blockingBidiStreamingCall(
          getChannel(), getRunToolsMethod(), getCallOptions());
    }

    /**
     * <pre>
     * The tool loop for callers without bidirectional streams (HTTP/1.1, browsers), one step per call.
     * The first call has only `start`. If the model calls tools, the answer has an `execute` for each,
     * a `step_finish` without the results of these calls, and a `result` with STOP_REASON_TOOL_CALLS.
     * The next call has the same `start`, that result as `previous`, and an output for each of these
     * calls. Messages come in the order of RunTools, with these exceptions:
     * - If outputs repair calls, the answer has an `execute` for each repaired call, the same
     *   `step_finish` with the results so far, and a `result`. The model is not called.
     * - If `stop_when` is true after the previous steps, the answer has only a `result`.
     * - If all calls of a step are invalid and none is sent for repair, the model gets the error
     *   results at once, and the next step follows in the same call.
     * </pre>
     */
    @io.grpc.ExperimentalApi("https://github.com/grpc/grpc-java/issues/10918")
    public io.grpc.stub.BlockingClientCall<?, io.github.outriggerinference.v1.RunToolsResponse>
        continueTools(io.github.outriggerinference.v1.ContinueToolsRequest request) {
      return io.grpc.stub.ClientCalls.blockingV2ServerStreamingCall(
          getChannel(), getContinueToolsMethod(), getCallOptions(), request);
    }
  }

  /**
   * A stub to allow clients to do limited synchronous rpc calls to service GenerationService.
   * <pre>
   * Generates text and objects, with retries, time limits, schema validation and a tool loop.
   * A failed call ends as in `InferenceService`: with the status of its `ErrorKind`, and an
   * `InferenceError` among the status details. The usage in that error covers all steps so far. When
   * the caller cancels or disconnects, the provider call is aborted at once and nothing further is
   * sent.
   * </pre>
   */
  public static final class GenerationServiceBlockingStub
      extends io.grpc.stub.AbstractBlockingStub<GenerationServiceBlockingStub> {
    private GenerationServiceBlockingStub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected GenerationServiceBlockingStub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new GenerationServiceBlockingStub(channel, callOptions);
    }

    /**
     * <pre>
     * Returns the result as a whole. Tools are not executed: a tool call ends the generation with
     * STOP_REASON_TOOL_CALLS. `max_tool_rounds` and `stop_when` have no effect.
     * </pre>
     */
    public io.github.outriggerinference.v1.GenerateResponse generate(io.github.outriggerinference.v1.GenerateRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getGenerateMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Like Generate, but also sends the model's events as they arrive.
     * </pre>
     */
    public java.util.Iterator<io.github.outriggerinference.v1.StreamGenerateResponse> streamGenerate(
        io.github.outriggerinference.v1.StreamGenerateRequest request) {
      return io.grpc.stub.ClientCalls.blockingServerStreamingCall(
          getChannel(), getStreamGenerateMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Generates an object that matches a JSON Schema. If the answer is not valid JSON or does not match
     * the schema, the call fails with NO_OBJECT_GENERATED, and `InferenceError.no_object` has the text
     * and the violations. Such an answer is not retried. `max_tool_rounds` and `stop_when` have no
     * effect.
     * </pre>
     */
    public io.github.outriggerinference.v1.GenerateObjectResponse generateObject(io.github.outriggerinference.v1.GenerateObjectRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getGenerateObjectMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Like GenerateObject, but also sends the object as far as it has arrived.
     * </pre>
     */
    public java.util.Iterator<io.github.outriggerinference.v1.StreamObjectResponse> streamObject(
        io.github.outriggerinference.v1.StreamObjectRequest request) {
      return io.grpc.stub.ClientCalls.blockingServerStreamingCall(
          getChannel(), getStreamObjectMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * The tool loop for callers without bidirectional streams (HTTP/1.1, browsers), one step per call.
     * The first call has only `start`. If the model calls tools, the answer has an `execute` for each,
     * a `step_finish` without the results of these calls, and a `result` with STOP_REASON_TOOL_CALLS.
     * The next call has the same `start`, that result as `previous`, and an output for each of these
     * calls. Messages come in the order of RunTools, with these exceptions:
     * - If outputs repair calls, the answer has an `execute` for each repaired call, the same
     *   `step_finish` with the results so far, and a `result`. The model is not called.
     * - If `stop_when` is true after the previous steps, the answer has only a `result`.
     * - If all calls of a step are invalid and none is sent for repair, the model gets the error
     *   results at once, and the next step follows in the same call.
     * </pre>
     */
    public java.util.Iterator<io.github.outriggerinference.v1.RunToolsResponse> continueTools(
        io.github.outriggerinference.v1.ContinueToolsRequest request) {
      return io.grpc.stub.ClientCalls.blockingServerStreamingCall(
          getChannel(), getContinueToolsMethod(), getCallOptions(), request);
    }
  }

  /**
   * A stub to allow clients to do ListenableFuture-style rpc calls to service GenerationService.
   * <pre>
   * Generates text and objects, with retries, time limits, schema validation and a tool loop.
   * A failed call ends as in `InferenceService`: with the status of its `ErrorKind`, and an
   * `InferenceError` among the status details. The usage in that error covers all steps so far. When
   * the caller cancels or disconnects, the provider call is aborted at once and nothing further is
   * sent.
   * </pre>
   */
  public static final class GenerationServiceFutureStub
      extends io.grpc.stub.AbstractFutureStub<GenerationServiceFutureStub> {
    private GenerationServiceFutureStub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected GenerationServiceFutureStub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new GenerationServiceFutureStub(channel, callOptions);
    }

    /**
     * <pre>
     * Returns the result as a whole. Tools are not executed: a tool call ends the generation with
     * STOP_REASON_TOOL_CALLS. `max_tool_rounds` and `stop_when` have no effect.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<io.github.outriggerinference.v1.GenerateResponse> generate(
        io.github.outriggerinference.v1.GenerateRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getGenerateMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Generates an object that matches a JSON Schema. If the answer is not valid JSON or does not match
     * the schema, the call fails with NO_OBJECT_GENERATED, and `InferenceError.no_object` has the text
     * and the violations. Such an answer is not retried. `max_tool_rounds` and `stop_when` have no
     * effect.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<io.github.outriggerinference.v1.GenerateObjectResponse> generateObject(
        io.github.outriggerinference.v1.GenerateObjectRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getGenerateObjectMethod(), getCallOptions()), request);
    }
  }

  private static final int METHODID_GENERATE = 0;
  private static final int METHODID_STREAM_GENERATE = 1;
  private static final int METHODID_GENERATE_OBJECT = 2;
  private static final int METHODID_STREAM_OBJECT = 3;
  private static final int METHODID_CONTINUE_TOOLS = 4;
  private static final int METHODID_RUN_TOOLS = 5;

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
        case METHODID_GENERATE:
          serviceImpl.generate((io.github.outriggerinference.v1.GenerateRequest) request,
              (io.grpc.stub.StreamObserver<io.github.outriggerinference.v1.GenerateResponse>) responseObserver);
          break;
        case METHODID_STREAM_GENERATE:
          serviceImpl.streamGenerate((io.github.outriggerinference.v1.StreamGenerateRequest) request,
              (io.grpc.stub.StreamObserver<io.github.outriggerinference.v1.StreamGenerateResponse>) responseObserver);
          break;
        case METHODID_GENERATE_OBJECT:
          serviceImpl.generateObject((io.github.outriggerinference.v1.GenerateObjectRequest) request,
              (io.grpc.stub.StreamObserver<io.github.outriggerinference.v1.GenerateObjectResponse>) responseObserver);
          break;
        case METHODID_STREAM_OBJECT:
          serviceImpl.streamObject((io.github.outriggerinference.v1.StreamObjectRequest) request,
              (io.grpc.stub.StreamObserver<io.github.outriggerinference.v1.StreamObjectResponse>) responseObserver);
          break;
        case METHODID_CONTINUE_TOOLS:
          serviceImpl.continueTools((io.github.outriggerinference.v1.ContinueToolsRequest) request,
              (io.grpc.stub.StreamObserver<io.github.outriggerinference.v1.RunToolsResponse>) responseObserver);
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
        case METHODID_RUN_TOOLS:
          return (io.grpc.stub.StreamObserver<Req>) serviceImpl.runTools(
              (io.grpc.stub.StreamObserver<io.github.outriggerinference.v1.RunToolsResponse>) responseObserver);
        default:
          throw new AssertionError();
      }
    }
  }

  public static final io.grpc.ServerServiceDefinition bindService(AsyncService service) {
    return io.grpc.ServerServiceDefinition.builder(getServiceDescriptor())
        .addMethod(
          getGenerateMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              io.github.outriggerinference.v1.GenerateRequest,
              io.github.outriggerinference.v1.GenerateResponse>(
                service, METHODID_GENERATE)))
        .addMethod(
          getStreamGenerateMethod(),
          io.grpc.stub.ServerCalls.asyncServerStreamingCall(
            new MethodHandlers<
              io.github.outriggerinference.v1.StreamGenerateRequest,
              io.github.outriggerinference.v1.StreamGenerateResponse>(
                service, METHODID_STREAM_GENERATE)))
        .addMethod(
          getGenerateObjectMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              io.github.outriggerinference.v1.GenerateObjectRequest,
              io.github.outriggerinference.v1.GenerateObjectResponse>(
                service, METHODID_GENERATE_OBJECT)))
        .addMethod(
          getStreamObjectMethod(),
          io.grpc.stub.ServerCalls.asyncServerStreamingCall(
            new MethodHandlers<
              io.github.outriggerinference.v1.StreamObjectRequest,
              io.github.outriggerinference.v1.StreamObjectResponse>(
                service, METHODID_STREAM_OBJECT)))
        .addMethod(
          getRunToolsMethod(),
          io.grpc.stub.ServerCalls.asyncBidiStreamingCall(
            new MethodHandlers<
              io.github.outriggerinference.v1.RunToolsRequest,
              io.github.outriggerinference.v1.RunToolsResponse>(
                service, METHODID_RUN_TOOLS)))
        .addMethod(
          getContinueToolsMethod(),
          io.grpc.stub.ServerCalls.asyncServerStreamingCall(
            new MethodHandlers<
              io.github.outriggerinference.v1.ContinueToolsRequest,
              io.github.outriggerinference.v1.RunToolsResponse>(
                service, METHODID_CONTINUE_TOOLS)))
        .build();
  }

  private static abstract class GenerationServiceBaseDescriptorSupplier
      implements io.grpc.protobuf.ProtoFileDescriptorSupplier, io.grpc.protobuf.ProtoServiceDescriptorSupplier {
    GenerationServiceBaseDescriptorSupplier() {}

    @java.lang.Override
    public com.google.protobuf.Descriptors.FileDescriptor getFileDescriptor() {
      return io.github.outriggerinference.v1.GenerationServiceOuterClass.getDescriptor();
    }

    @java.lang.Override
    public com.google.protobuf.Descriptors.ServiceDescriptor getServiceDescriptor() {
      return getFileDescriptor().findServiceByName("GenerationService");
    }
  }

  private static final class GenerationServiceFileDescriptorSupplier
      extends GenerationServiceBaseDescriptorSupplier {
    GenerationServiceFileDescriptorSupplier() {}
  }

  private static final class GenerationServiceMethodDescriptorSupplier
      extends GenerationServiceBaseDescriptorSupplier
      implements io.grpc.protobuf.ProtoMethodDescriptorSupplier {
    private final java.lang.String methodName;

    GenerationServiceMethodDescriptorSupplier(java.lang.String methodName) {
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
      synchronized (GenerationServiceGrpc.class) {
        result = serviceDescriptor;
        if (result == null) {
          serviceDescriptor = result = io.grpc.ServiceDescriptor.newBuilder(SERVICE_NAME)
              .setSchemaDescriptor(new GenerationServiceFileDescriptorSupplier())
              .addMethod(getGenerateMethod())
              .addMethod(getStreamGenerateMethod())
              .addMethod(getGenerateObjectMethod())
              .addMethod(getStreamObjectMethod())
              .addMethod(getRunToolsMethod())
              .addMethod(getContinueToolsMethod())
              .build();
        }
      }
    }
    return result;
  }
}
