"""Calls that fail: how a program reads the failure, and how it ends a call itself."""

import time
from dataclasses import dataclass

import grpc
from google.rpc import error_details_pb2
from grpc_status import rpc_status
from outrigger.v1.error_pb2 import (
    ERROR_KIND_INVALID_REQUEST,
    ERROR_KIND_RATE_LIMIT,
    InferenceError,
)
from outrigger.v1.inference_service_pb2_grpc import InferenceServiceStub
from outrigger.v1.request_pb2 import Request

from calls import TIMEOUT, expect, user_message

# A cancelled call, and one whose deadline expires, ends at once. The bound, in seconds, is
# generous so that a busy machine does not fail the check.
PROMPTLY = 3


@dataclass
class Failure:
    """The code and details of a failed call. Details that were not attached are empty."""

    code: grpc.StatusCode
    inference: InferenceError
    info: error_details_pb2.ErrorInfo
    retry: error_details_pb2.RetryInfo
    fields: error_details_pb2.BadRequest


def inspect(error: grpc.RpcError) -> Failure:
    """Decodes the status details of an error that a call raised."""
    found = Failure(
        error.code(),
        InferenceError(),
        error_details_pb2.ErrorInfo(),
        error_details_pb2.RetryInfo(),
        error_details_pb2.BadRequest(),
    )
    # None if the channel itself failed, for instance because no sidecar is running.
    status = rpc_status.from_call(error)
    for detail in status.details if status else ():
        for message in (found.inference, found.info, found.retry, found.fields):
            # Does nothing if the detail is of another type.
            detail.Unpack(message)
    return found


def failure_of(call) -> Failure:
    try:
        call()
    except grpc.RpcError as error:
        return inspect(error)
    raise RuntimeError("the call succeeded, want an error")


def check_error_details(inference: InferenceServiceStub) -> None:
    request = Request(model="sim-text:status=429,retry_after=2", messages=[user_message("Hello?")])
    found = failure_of(lambda: inference.Complete(request, timeout=TIMEOUT))
    failed = found.inference
    expect(found.code is grpc.StatusCode.RESOURCE_EXHAUSTED, f"status {found.code}")
    expect(
        failed.kind == ERROR_KIND_RATE_LIMIT and failed.retryable,
        f"want a retryable RATE_LIMIT, got {{{failed}}}",
    )
    expect(failed.retry_after.ToMilliseconds() == 2000, f"want retry_after 2s: {failed}")
    expect(failed.provider_failure.http_status_code == 429, f"want the provider's status 429: {failed}")
    expect(
        (found.info.reason, found.info.domain) == ("RATE_LIMIT", "outrigger"),
        f"unexpected ErrorInfo {{{found.info}}}",
    )
    expect(
        found.retry.retry_delay.ToMilliseconds() == 2000,
        f"unexpected RetryInfo {{{found.retry}}}",
    )


def check_validation_error(inference: InferenceServiceStub) -> None:
    found = failure_of(lambda: inference.Complete(Request(model="sim-text"), timeout=TIMEOUT))
    fields = [violation.field for violation in found.fields.field_violations]
    expect(found.code is grpc.StatusCode.INVALID_ARGUMENT, f"status {found.code}")
    expect(found.inference.kind == ERROR_KIND_INVALID_REQUEST, f"got {{{found.inference}}}")
    expect(not found.inference.HasField("provider_failure"), "no provider was asked, yet one is named")
    expect("messages" in fields, f"BadRequest names {fields}, want messages")


def check_mid_stream_error(inference: InferenceServiceStub) -> None:
    request = Request(model="sim-text:error_after=5", messages=[user_message("Hello?")])
    # Once the stream has begun, a failure is reported twice: as its last event, for code that reads
    # events, and as the status, for interceptors, retries and metrics.
    events = []

    def receive_all() -> None:
        for event in inference.Stream(request, timeout=TIMEOUT):
            events.append(event)

    found = failure_of(receive_all)
    expect(events and events[-1].HasField("error"), f"the last of {len(events)} events is no error")
    announced = events[-1].error
    expect(announced.output_started, "output_started is not set, though text was streamed")
    expect(found.code is grpc.StatusCode.UNAVAILABLE, f"status {found.code}")
    expect(found.inference == announced, f"event {announced} and status {found.inference} differ")


def check_deadline(inference: InferenceServiceStub) -> None:
    started = time.monotonic()
    found = failure_of(lambda: list(inference.Stream(long_request(), timeout=0.3)))
    waited = time.monotonic() - started
    expect(found.code is grpc.StatusCode.DEADLINE_EXCEEDED, f"status {found.code}")
    expect(waited < PROMPTLY, f"waited {waited:.1f} s for a deadline of 0.3 s")


def check_cancellation(inference: InferenceServiceStub) -> None:
    # Cancelling the call is enough: the sidecar then closes its connection to the provider.
    call = inference.Stream(long_request(), timeout=TIMEOUT)
    next(event for event in call if event.HasField("text_delta"))
    call.cancel()
    started = time.monotonic()
    found = failure_of(lambda: list(call))
    waited = time.monotonic() - started
    expect(found.code is grpc.StatusCode.CANCELLED, f"status {found.code}")
    expect(waited < PROMPTLY, f"waited {waited:.1f} s for the end of a cancelled stream")


def long_request() -> Request:
    """Requests an answer that takes 50 seconds, far longer than any check waits."""
    return Request(model="sim-long:tokens=1000,rate=20", messages=[user_message("Write a lot.")])
