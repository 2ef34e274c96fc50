"""Calls that gRPC repeats by itself, as a retry policy says."""

import json
import random
import time

import grpc
from outrigger.v1.inference_service_pb2_grpc import InferenceServiceStub
from outrigger.v1.request_pb2 import Request

from calls import TIMEOUT, check_order, expect, user_message

# Lets gRPC repeat calls that failed before their first message. The sidecar says in the trailer
# grpc-retry-pushback-ms when to repeat one, or that repeating it cannot help.
RETRY_POLICY = json.dumps(
    {
        "methodConfig": [
            {
                "name": [{"service": "outrigger.v1.InferenceService"}],
                "retryPolicy": {
                    "maxAttempts": 4,
                    "initialBackoff": "0.01s",
                    "maxBackoff": "0.05s",
                    "backoffMultiplier": 2,
                    "retryableStatusCodes": ["UNAVAILABLE", "RESOURCE_EXHAUSTED"],
                },
            }
        ]
    }
)


def check_retry_policy(inference: InferenceServiceStub) -> None:
    # Each raises unless its third attempt succeeds.
    inference.Complete(ask_failing("status=500,times=2"), timeout=TIMEOUT)
    check_order(list(inference.Stream(ask_failing("status=500,times=2"), timeout=TIMEOUT)))


def check_retry_pushback(inference: InferenceServiceStub) -> None:
    started = time.monotonic()
    inference.Complete(ask_failing("status=429,retry_after_ms=400,times=1"), timeout=TIMEOUT)
    waited = time.monotonic() - started
    expect(waited >= 0.4, f"repeated after {waited:.3f} s, but the provider asked for 0.4 s")


def check_retry_refused(inference: InferenceServiceStub) -> None:
    try:
        inference.Complete(
            ask_failing("status=429,code=insufficient_quota,times=1"), timeout=TIMEOUT
        )
    except grpc.RpcError as error:
        pushback = dict(error.trailing_metadata()).get("grpc-retry-pushback-ms")
        expect(error.code() is grpc.StatusCode.RESOURCE_EXHAUSTED, f"status {error.code()}")
        expect(pushback == "-1", f"want pushback -1, got {pushback}")
        return
    raise RuntimeError("the call was repeated, though the provider's quota is used up")


def ask_failing(faults: str) -> Request:
    """Makes a request that fails as the simulator's options say. The simulator counts `times` by
    model string, so a speed that no other request has makes the string unique."""
    speed = random.randint(100_000, 999_999)
    return Request(model=f"sim-text:{faults},rate={speed}", messages=[user_message("Say hello.")])
