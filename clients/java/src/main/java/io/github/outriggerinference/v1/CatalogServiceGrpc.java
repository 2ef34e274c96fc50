package io.github.outriggerinference.v1;

import static io.grpc.MethodDescriptor.generateFullMethodName;

/**
 * <pre>
 * Describes the known models: what they can do and what they cost. The catalog is advisory: a
 * model that it does not know is passed through to its provider all the same.
 * </pre>
 */
@io.grpc.stub.annotations.GrpcGenerated
public final class CatalogServiceGrpc {

  private CatalogServiceGrpc() {}

  public static final java.lang.String SERVICE_NAME = "outrigger.v1.CatalogService";

  // Static method descriptors that strictly reflect the proto.
  private static volatile io.grpc.MethodDescriptor<io.github.outriggerinference.v1.ListModelsRequest,
      io.github.outriggerinference.v1.ListModelsResponse> getListModelsMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "ListModels",
      requestType = io.github.outriggerinference.v1.ListModelsRequest.class,
      responseType = io.github.outriggerinference.v1.ListModelsResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<io.github.outriggerinference.v1.ListModelsRequest,
      io.github.outriggerinference.v1.ListModelsResponse> getListModelsMethod() {
    io.grpc.MethodDescriptor<io.github.outriggerinference.v1.ListModelsRequest, io.github.outriggerinference.v1.ListModelsResponse> getListModelsMethod;
    if ((getListModelsMethod = CatalogServiceGrpc.getListModelsMethod) == null) {
      synchronized (CatalogServiceGrpc.class) {
        if ((getListModelsMethod = CatalogServiceGrpc.getListModelsMethod) == null) {
          CatalogServiceGrpc.getListModelsMethod = getListModelsMethod =
              io.grpc.MethodDescriptor.<io.github.outriggerinference.v1.ListModelsRequest, io.github.outriggerinference.v1.ListModelsResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "ListModels"))
              .setSafe(true)
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.github.outriggerinference.v1.ListModelsRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.github.outriggerinference.v1.ListModelsResponse.getDefaultInstance()))
              .setSchemaDescriptor(new CatalogServiceMethodDescriptorSupplier("ListModels"))
              .build();
        }
      }
    }
    return getListModelsMethod;
  }

  private static volatile io.grpc.MethodDescriptor<io.github.outriggerinference.v1.GetModelRequest,
      io.github.outriggerinference.v1.ModelInfo> getGetModelMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "GetModel",
      requestType = io.github.outriggerinference.v1.GetModelRequest.class,
      responseType = io.github.outriggerinference.v1.ModelInfo.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<io.github.outriggerinference.v1.GetModelRequest,
      io.github.outriggerinference.v1.ModelInfo> getGetModelMethod() {
    io.grpc.MethodDescriptor<io.github.outriggerinference.v1.GetModelRequest, io.github.outriggerinference.v1.ModelInfo> getGetModelMethod;
    if ((getGetModelMethod = CatalogServiceGrpc.getGetModelMethod) == null) {
      synchronized (CatalogServiceGrpc.class) {
        if ((getGetModelMethod = CatalogServiceGrpc.getGetModelMethod) == null) {
          CatalogServiceGrpc.getGetModelMethod = getGetModelMethod =
              io.grpc.MethodDescriptor.<io.github.outriggerinference.v1.GetModelRequest, io.github.outriggerinference.v1.ModelInfo>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "GetModel"))
              .setSafe(true)
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.github.outriggerinference.v1.GetModelRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.github.outriggerinference.v1.ModelInfo.getDefaultInstance()))
              .setSchemaDescriptor(new CatalogServiceMethodDescriptorSupplier("GetModel"))
              .build();
        }
      }
    }
    return getGetModelMethod;
  }

  private static volatile io.grpc.MethodDescriptor<io.github.outriggerinference.v1.GetLatestModelRequest,
      io.github.outriggerinference.v1.ModelInfo> getGetLatestModelMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "GetLatestModel",
      requestType = io.github.outriggerinference.v1.GetLatestModelRequest.class,
      responseType = io.github.outriggerinference.v1.ModelInfo.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<io.github.outriggerinference.v1.GetLatestModelRequest,
      io.github.outriggerinference.v1.ModelInfo> getGetLatestModelMethod() {
    io.grpc.MethodDescriptor<io.github.outriggerinference.v1.GetLatestModelRequest, io.github.outriggerinference.v1.ModelInfo> getGetLatestModelMethod;
    if ((getGetLatestModelMethod = CatalogServiceGrpc.getGetLatestModelMethod) == null) {
      synchronized (CatalogServiceGrpc.class) {
        if ((getGetLatestModelMethod = CatalogServiceGrpc.getGetLatestModelMethod) == null) {
          CatalogServiceGrpc.getGetLatestModelMethod = getGetLatestModelMethod =
              io.grpc.MethodDescriptor.<io.github.outriggerinference.v1.GetLatestModelRequest, io.github.outriggerinference.v1.ModelInfo>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "GetLatestModel"))
              .setSafe(true)
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.github.outriggerinference.v1.GetLatestModelRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.github.outriggerinference.v1.ModelInfo.getDefaultInstance()))
              .setSchemaDescriptor(new CatalogServiceMethodDescriptorSupplier("GetLatestModel"))
              .build();
        }
      }
    }
    return getGetLatestModelMethod;
  }

  /**
   * Creates a new async stub that supports all call types for the service
   */
  public static CatalogServiceStub newStub(io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<CatalogServiceStub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<CatalogServiceStub>() {
        @java.lang.Override
        public CatalogServiceStub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new CatalogServiceStub(channel, callOptions);
        }
      };
    return CatalogServiceStub.newStub(factory, channel);
  }

  /**
   * Creates a new blocking-style stub that supports all types of calls on the service
   */
  public static CatalogServiceBlockingV2Stub newBlockingV2Stub(
      io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<CatalogServiceBlockingV2Stub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<CatalogServiceBlockingV2Stub>() {
        @java.lang.Override
        public CatalogServiceBlockingV2Stub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new CatalogServiceBlockingV2Stub(channel, callOptions);
        }
      };
    return CatalogServiceBlockingV2Stub.newStub(factory, channel);
  }

  /**
   * Creates a new blocking-style stub that supports unary and streaming output calls on the service
   */
  public static CatalogServiceBlockingStub newBlockingStub(
      io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<CatalogServiceBlockingStub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<CatalogServiceBlockingStub>() {
        @java.lang.Override
        public CatalogServiceBlockingStub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new CatalogServiceBlockingStub(channel, callOptions);
        }
      };
    return CatalogServiceBlockingStub.newStub(factory, channel);
  }

  /**
   * Creates a new ListenableFuture-style stub that supports unary calls on the service
   */
  public static CatalogServiceFutureStub newFutureStub(
      io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<CatalogServiceFutureStub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<CatalogServiceFutureStub>() {
        @java.lang.Override
        public CatalogServiceFutureStub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new CatalogServiceFutureStub(channel, callOptions);
        }
      };
    return CatalogServiceFutureStub.newStub(factory, channel);
  }

  /**
   * <pre>
   * Describes the known models: what they can do and what they cost. The catalog is advisory: a
   * model that it does not know is passed through to its provider all the same.
   * </pre>
   */
  public interface AsyncService {

    /**
     * <pre>
     * Lists the known models, newest first within a provider.
     * </pre>
     */
    default void listModels(io.github.outriggerinference.v1.ListModelsRequest request,
        io.grpc.stub.StreamObserver<io.github.outriggerinference.v1.ListModelsResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getListModelsMethod(), responseObserver);
    }

    /**
     * <pre>
     * Returns a model by id or alias. NOT_FOUND where the catalog does not know it.
     * </pre>
     */
    default void getModel(io.github.outriggerinference.v1.GetModelRequest request,
        io.grpc.stub.StreamObserver<io.github.outriggerinference.v1.ModelInfo> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getGetModelMethod(), responseObserver);
    }

    /**
     * <pre>
     * Returns a provider's newest model that has all requested capabilities. NOT_FOUND where none
     * has.
     * </pre>
     */
    default void getLatestModel(io.github.outriggerinference.v1.GetLatestModelRequest request,
        io.grpc.stub.StreamObserver<io.github.outriggerinference.v1.ModelInfo> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getGetLatestModelMethod(), responseObserver);
    }
  }

  /**
   * Base class for the server implementation of the service CatalogService.
   * <pre>
   * Describes the known models: what they can do and what they cost. The catalog is advisory: a
   * model that it does not know is passed through to its provider all the same.
   * </pre>
   */
  public static abstract class CatalogServiceImplBase
      implements io.grpc.BindableService, AsyncService {

    @java.lang.Override public final io.grpc.ServerServiceDefinition bindService() {
      return CatalogServiceGrpc.bindService(this);
    }
  }

  /**
   * A stub to allow clients to do asynchronous rpc calls to service CatalogService.
   * <pre>
   * Describes the known models: what they can do and what they cost. The catalog is advisory: a
   * model that it does not know is passed through to its provider all the same.
   * </pre>
   */
  public static final class CatalogServiceStub
      extends io.grpc.stub.AbstractAsyncStub<CatalogServiceStub> {
    private CatalogServiceStub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected CatalogServiceStub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new CatalogServiceStub(channel, callOptions);
    }

    /**
     * <pre>
     * Lists the known models, newest first within a provider.
     * </pre>
     */
    public void listModels(io.github.outriggerinference.v1.ListModelsRequest request,
        io.grpc.stub.StreamObserver<io.github.outriggerinference.v1.ListModelsResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getListModelsMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Returns a model by id or alias. NOT_FOUND where the catalog does not know it.
     * </pre>
     */
    public void getModel(io.github.outriggerinference.v1.GetModelRequest request,
        io.grpc.stub.StreamObserver<io.github.outriggerinference.v1.ModelInfo> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getGetModelMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Returns a provider's newest model that has all requested capabilities. NOT_FOUND where none
     * has.
     * </pre>
     */
    public void getLatestModel(io.github.outriggerinference.v1.GetLatestModelRequest request,
        io.grpc.stub.StreamObserver<io.github.outriggerinference.v1.ModelInfo> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getGetLatestModelMethod(), getCallOptions()), request, responseObserver);
    }
  }

  /**
   * A stub to allow clients to do synchronous rpc calls to service CatalogService.
   * <pre>
   * Describes the known models: what they can do and what they cost. The catalog is advisory: a
   * model that it does not know is passed through to its provider all the same.
   * </pre>
   */
  public static final class CatalogServiceBlockingV2Stub
      extends io.grpc.stub.AbstractBlockingStub<CatalogServiceBlockingV2Stub> {
    private CatalogServiceBlockingV2Stub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected CatalogServiceBlockingV2Stub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new CatalogServiceBlockingV2Stub(channel, callOptions);
    }

    /**
     * <pre>
     * Lists the known models, newest first within a provider.
     * </pre>
     */
    public io.github.outriggerinference.v1.ListModelsResponse listModels(io.github.outriggerinference.v1.ListModelsRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getListModelsMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Returns a model by id or alias. NOT_FOUND where the catalog does not know it.
     * </pre>
     */
    public io.github.outriggerinference.v1.ModelInfo getModel(io.github.outriggerinference.v1.GetModelRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getGetModelMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Returns a provider's newest model that has all requested capabilities. NOT_FOUND where none
     * has.
     * </pre>
     */
    public io.github.outriggerinference.v1.ModelInfo getLatestModel(io.github.outriggerinference.v1.GetLatestModelRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getGetLatestModelMethod(), getCallOptions(), request);
    }
  }

  /**
   * A stub to allow clients to do limited synchronous rpc calls to service CatalogService.
   * <pre>
   * Describes the known models: what they can do and what they cost. The catalog is advisory: a
   * model that it does not know is passed through to its provider all the same.
   * </pre>
   */
  public static final class CatalogServiceBlockingStub
      extends io.grpc.stub.AbstractBlockingStub<CatalogServiceBlockingStub> {
    private CatalogServiceBlockingStub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected CatalogServiceBlockingStub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new CatalogServiceBlockingStub(channel, callOptions);
    }

    /**
     * <pre>
     * Lists the known models, newest first within a provider.
     * </pre>
     */
    public io.github.outriggerinference.v1.ListModelsResponse listModels(io.github.outriggerinference.v1.ListModelsRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getListModelsMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Returns a model by id or alias. NOT_FOUND where the catalog does not know it.
     * </pre>
     */
    public io.github.outriggerinference.v1.ModelInfo getModel(io.github.outriggerinference.v1.GetModelRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getGetModelMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Returns a provider's newest model that has all requested capabilities. NOT_FOUND where none
     * has.
     * </pre>
     */
    public io.github.outriggerinference.v1.ModelInfo getLatestModel(io.github.outriggerinference.v1.GetLatestModelRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getGetLatestModelMethod(), getCallOptions(), request);
    }
  }

  /**
   * A stub to allow clients to do ListenableFuture-style rpc calls to service CatalogService.
   * <pre>
   * Describes the known models: what they can do and what they cost. The catalog is advisory: a
   * model that it does not know is passed through to its provider all the same.
   * </pre>
   */
  public static final class CatalogServiceFutureStub
      extends io.grpc.stub.AbstractFutureStub<CatalogServiceFutureStub> {
    private CatalogServiceFutureStub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected CatalogServiceFutureStub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new CatalogServiceFutureStub(channel, callOptions);
    }

    /**
     * <pre>
     * Lists the known models, newest first within a provider.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<io.github.outriggerinference.v1.ListModelsResponse> listModels(
        io.github.outriggerinference.v1.ListModelsRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getListModelsMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Returns a model by id or alias. NOT_FOUND where the catalog does not know it.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<io.github.outriggerinference.v1.ModelInfo> getModel(
        io.github.outriggerinference.v1.GetModelRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getGetModelMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Returns a provider's newest model that has all requested capabilities. NOT_FOUND where none
     * has.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<io.github.outriggerinference.v1.ModelInfo> getLatestModel(
        io.github.outriggerinference.v1.GetLatestModelRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getGetLatestModelMethod(), getCallOptions()), request);
    }
  }

  private static final int METHODID_LIST_MODELS = 0;
  private static final int METHODID_GET_MODEL = 1;
  private static final int METHODID_GET_LATEST_MODEL = 2;

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
        case METHODID_LIST_MODELS:
          serviceImpl.listModels((io.github.outriggerinference.v1.ListModelsRequest) request,
              (io.grpc.stub.StreamObserver<io.github.outriggerinference.v1.ListModelsResponse>) responseObserver);
          break;
        case METHODID_GET_MODEL:
          serviceImpl.getModel((io.github.outriggerinference.v1.GetModelRequest) request,
              (io.grpc.stub.StreamObserver<io.github.outriggerinference.v1.ModelInfo>) responseObserver);
          break;
        case METHODID_GET_LATEST_MODEL:
          serviceImpl.getLatestModel((io.github.outriggerinference.v1.GetLatestModelRequest) request,
              (io.grpc.stub.StreamObserver<io.github.outriggerinference.v1.ModelInfo>) responseObserver);
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
          getListModelsMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              io.github.outriggerinference.v1.ListModelsRequest,
              io.github.outriggerinference.v1.ListModelsResponse>(
                service, METHODID_LIST_MODELS)))
        .addMethod(
          getGetModelMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              io.github.outriggerinference.v1.GetModelRequest,
              io.github.outriggerinference.v1.ModelInfo>(
                service, METHODID_GET_MODEL)))
        .addMethod(
          getGetLatestModelMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              io.github.outriggerinference.v1.GetLatestModelRequest,
              io.github.outriggerinference.v1.ModelInfo>(
                service, METHODID_GET_LATEST_MODEL)))
        .build();
  }

  private static abstract class CatalogServiceBaseDescriptorSupplier
      implements io.grpc.protobuf.ProtoFileDescriptorSupplier, io.grpc.protobuf.ProtoServiceDescriptorSupplier {
    CatalogServiceBaseDescriptorSupplier() {}

    @java.lang.Override
    public com.google.protobuf.Descriptors.FileDescriptor getFileDescriptor() {
      return io.github.outriggerinference.v1.CatalogServiceOuterClass.getDescriptor();
    }

    @java.lang.Override
    public com.google.protobuf.Descriptors.ServiceDescriptor getServiceDescriptor() {
      return getFileDescriptor().findServiceByName("CatalogService");
    }
  }

  private static final class CatalogServiceFileDescriptorSupplier
      extends CatalogServiceBaseDescriptorSupplier {
    CatalogServiceFileDescriptorSupplier() {}
  }

  private static final class CatalogServiceMethodDescriptorSupplier
      extends CatalogServiceBaseDescriptorSupplier
      implements io.grpc.protobuf.ProtoMethodDescriptorSupplier {
    private final java.lang.String methodName;

    CatalogServiceMethodDescriptorSupplier(java.lang.String methodName) {
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
      synchronized (CatalogServiceGrpc.class) {
        result = serviceDescriptor;
        if (result == null) {
          serviceDescriptor = result = io.grpc.ServiceDescriptor.newBuilder(SERVICE_NAME)
              .setSchemaDescriptor(new CatalogServiceFileDescriptorSupplier())
              .addMethod(getListModelsMethod())
              .addMethod(getGetModelMethod())
              .addMethod(getGetLatestModelMethod())
              .build();
        }
      }
    }
    return result;
  }
}
