"""Calls a sidecar the way a Python service would, and checks what comes back.

Every check is a function that can be read, and copied, on its own.
"""

import os
import sys
import traceback
from collections.abc import Callable

import grpc
from grpc_health.v1.health_pb2_grpc import HealthStub
from outrigger.v1.inference_service_pb2_grpc import InferenceServiceStub

import calls
import failures
import retries
import secured

# Messages can contain images, for which gRPC's default limit of 4 MiB is too small; this is the
# sidecar's default.
MAX_MESSAGE_BYTES = 32 << 20


def main() -> int:
    with connect() as channel, connect(("grpc.service_config", retries.RETRY_POLICY)) as retrying_channel:
        health = HealthStub(channel)
        inference = InferenceServiceStub(channel)
        retrying = InferenceServiceStub(retrying_channel)
        results = [
            run("health", lambda: calls.check_health(health)),
            run("complete", lambda: calls.check_complete(inference)),
            run("stream", lambda: calls.check_stream(inference)),
            run("tool_round_trip", lambda: calls.check_tool_round_trip(inference)),
            run("error_details", lambda: failures.check_error_details(inference)),
            run("validation_error", lambda: failures.check_validation_error(inference)),
            run("mid_stream_error", lambda: failures.check_mid_stream_error(inference)),
            run("deadline", lambda: failures.check_deadline(inference)),
            run("cancellation", lambda: failures.check_cancellation(inference)),
            run("retry_policy", lambda: retries.check_retry_policy(retrying)),
            run("retry_pushback", lambda: retries.check_retry_pushback(retrying)),
            run("retry_refused", lambda: retries.check_retry_refused(retrying)),
            run("tls", secured.check_tls),
        ]
    return 0 if all(results) else 1


def connect(*options: tuple[str, object]) -> grpc.Channel:
    """Opens a channel, which is expensive to open and safe to share: a service keeps one for its
    lifetime. The sidecar shares the pod's loopback, so no TLS is needed."""
    return grpc.insecure_channel(
        os.environ["OUTRIGGER_ADDR"],
        options=[("grpc.max_receive_message_length", MAX_MESSAGE_BYTES), *options],
    )


def run(name: str, check: Callable[[], None]) -> bool:
    """Runs one check. An exception fails that check, and the others still run."""
    try:
        check()
    except Exception as error:
        traceback.print_exc()
        print(f"FAIL {name}: {' '.join(str(error).split())}", flush=True)
        return False
    print(f"ok {name}", flush=True)
    return True


if __name__ == "__main__":
    sys.exit(main())
