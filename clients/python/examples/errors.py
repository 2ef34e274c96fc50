"""What can go wrong, and how a program tells it apart."""

import threading

from outrigger_client import (
    AbortError,
    Client,
    InvalidRequestError,
    OutriggerError,
    RateLimitError,
    Request,
    RequestTimeoutError,
    user_message,
)


def ask(model: str) -> Request:
    """A request to a model whose name says how it fails."""
    return Request(model=model, messages=[user_message("Hello?")])


with Client() as client:
    try:
        client.complete(ask("sim-text:status=429,retry_after=2"), timeout=30)
    except RateLimitError as error:
        print(f"{error.kind} by {error.provider}: retryable {error.retryable}, after {error.retry_after} s")

    try:
        client.complete(Request(model="sim-text"), timeout=30)
    except InvalidRequestError as error:
        print(f"{error.kind}: {error.field_violations[0].field} {error.field_violations[0].description}")

    # A stream that was cut raises; it never looks finished.
    try:
        for text in client.stream(ask("sim-text:cut_events=6"), timeout=30).text():
            print(f"received {text!r}")
    except OutriggerError as error:
        print(f"{error.kind}: output had started: {error.output_started}")

    # The deadline reaches the provider's socket.
    try:
        client.complete(ask("sim-long:tokens=1000,rate=20"), timeout=0.3)
    except RequestTimeoutError as error:
        print(f"{error.kind}, also a TimeoutError: {isinstance(error, TimeoutError)}")

    # Leaving a stream cancels its call, and so does cancel(), in any thread.
    stream = client.stream(ask("sim-long:tokens=1000,rate=20"), timeout=30)
    threading.Timer(0.3, stream.cancel).start()
    try:
        stream.result()
    except AbortError as error:
        print(error.kind)
