package com.example;

import com.google.protobuf.Any;
import com.google.protobuf.InvalidProtocolBufferException;
import com.google.protobuf.Message;
import com.google.rpc.BadRequest;
import com.google.rpc.ErrorInfo;
import com.google.rpc.RetryInfo;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.protobuf.StatusProto;
import java.util.List;
import io.github.outriggerinference.v1.InferenceError;

/** The code and details of a failed call. Details that were not attached are empty messages. */
record Failure(
    Status.Code code,
    InferenceError inference,
    ErrorInfo info,
    RetryInfo retry,
    BadRequest fields) {

  /** Decodes the status details of an error that a call threw. */
  static Failure of(StatusRuntimeException error) throws InvalidProtocolBufferException {
    List<Any> details = StatusProto.fromThrowable(error).getDetailsList();
    return new Failure(
        error.getStatus().getCode(),
        find(details, InferenceError.getDefaultInstance()),
        find(details, ErrorInfo.getDefaultInstance()),
        find(details, RetryInfo.getDefaultInstance()),
        find(details, BadRequest.getDefaultInstance()));
  }

  /** Runs a call that must fail. */
  static Failure of(Runnable call) throws InvalidProtocolBufferException {
    try {
      call.run();
    } catch (StatusRuntimeException error) {
      return of(error);
    }
    throw new IllegalStateException("the call succeeded, want an error");
  }

  private static <T extends Message> T find(List<Any> details, T example)
      throws InvalidProtocolBufferException {
    for (Any detail : details) {
      if (detail.isSameTypeAs(example)) {
        return detail.unpackSameTypeAs(example);
      }
    }
    return example;
  }
}
