"""Makes calls for both clients: retries what was never sent, and explains what failed."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from typing import Generic, Protocol, TypeVar

import grpc

from outrigger_client.call_info import CallSettings, Metadata
from outrigger_client.errors import OutriggerError, error_of_call, local_error
from outrigger_client.v1.error_pb2 import ErrorKind

M = TypeVar("M")
A = TypeVar("A")
Q = TypeVar("Q")
Q_contra = TypeVar("Q_contra", contravariant=True)

RECONNECT_TIMEOUT = 0.5
"""Seconds for which a call that found no sidecar waits for one."""

# How gRPC begins the details of a call for which it had no connection.
_NO_CONNECTION = ("failed to connect to all addresses", "errors resolving ", "DNS resolution failed")


def is_unsent(error: grpc.RpcError) -> bool:
    """Whether a call failed before anything was sent, because there was no connection."""
    if not isinstance(error, (grpc.Call, grpc.aio.AioRpcError)):
        return False
    return error.code() is grpc.StatusCode.UNAVAILABLE and (error.details() or "").startswith(_NO_CONNECTION)


class StreamMethod(Protocol[Q_contra, M]):
    """A method of a stub with a stream of answers."""

    def __call__(
        self, request: Q_contra, /, timeout: float | None = None, metadata: Metadata | None = None
    ) -> grpc._CallIterator[M]: ...


class Deadline:
    """The time that is left for a call, which its retry shares."""

    def __init__(self, timeout: float | None) -> None:
        self._end = None if timeout is None else time.monotonic() + timeout

    @property
    def remaining(self) -> float | None:
        """Seconds that are left; None for no limit."""
        return None if self._end is None else max(0.0, self._end - time.monotonic())

    def bound(self, seconds: float) -> float:
        """At most this many seconds, and no more than are left."""
        remaining = self.remaining
        return seconds if remaining is None else min(seconds, remaining)


class Calls:
    """Makes the calls of a synchronous client."""

    def __init__(self, channel: grpc.Channel, target: str, settings: CallSettings) -> None:
        self.channel = channel
        self.target = target
        self.settings = settings
        self._closed = threading.Event()

    def derived(self, settings: CallSettings) -> Calls:
        """The same with other settings, for as long as this one is open."""
        calls = Calls(self.channel, self.target, settings)
        calls._closed = self._closed
        return calls

    def close(self) -> None:
        """Lets all later calls fail."""
        self._closed.set()

    def check_open(self) -> None:
        """Raises ConfigurationError after `close`."""
        if self._closed.is_set():
            raise closed_error()

    def unary(
        self, name: str, method: grpc.UnaryUnaryMultiCallable[Q, A], request: Q, timeout: float | None
    ) -> A:
        """Makes a call with one answer."""
        self.check_open()
        deadline = Deadline(timeout)
        try:
            try:
                return self._attempt(name, method, request, deadline)
            except grpc.RpcError as error:
                if not is_unsent(error) or not self.reconnect(deadline):
                    raise
            return self._attempt(name, method, request, deadline)
        except grpc.RpcError as error:
            failure = failure_of_call(error, self.target)
            raise failure from failure.__cause__

    def _attempt(
        self, name: str, method: grpc.UnaryUnaryMultiCallable[Q, A], request: Q, deadline: Deadline
    ) -> A:
        started = time.monotonic()
        try:
            answer, call = method.with_call(
                request, timeout=deadline.remaining, metadata=self.settings.headers
            )
        except grpc.RpcError as error:
            self.ended(name, error, started)
            raise
        self.ended(name, call, started)
        return answer

    def stream(
        self, name: str, method: StreamMethod[Q, M], request: Callable[[], Q], timeout: float | None
    ) -> StreamCall[M]:
        """Makes a call with a stream of messages.

        Args:
            name: The method's name.
            method: The method.
            request: Makes the request. Called once more if nothing could be sent.
            timeout: Seconds for all of it.
        """
        self.check_open()
        deadline = Deadline(timeout)

        def start() -> grpc._CallIterator[M]:
            return method(request(), timeout=deadline.remaining, metadata=self.settings.headers)

        return StreamCall(self, name, start, deadline)

    def reconnect(self, deadline: Deadline) -> bool:
        """Waits for a connection. Returns whether there is one."""
        try:
            grpc.channel_ready_future(self.channel).result(timeout=deadline.bound(RECONNECT_TIMEOUT))
        except grpc.FutureTimeoutError:
            return False
        return True

    def ended(self, name: str, call: object, started: float) -> None:
        """Reports a call that ended, which its error also stands for."""
        if isinstance(call, grpc.Call):
            metadata = [*(call.initial_metadata() or ()), *(call.trailing_metadata() or ())]
            code = call.code() or grpc.StatusCode.OK
            self.settings.ended(name, code.name, started, metadata)


class StreamCall(Generic[M]):
    """A call with a stream of messages, which can be read once."""

    def __init__(
        self, calls: Calls, name: str, start: Callable[[], grpc._CallIterator[M]], deadline: Deadline
    ) -> None:
        self._calls = calls
        self._name = name
        self._start = start
        self._deadline = deadline
        self._is_cancelled = False
        self._has_message = False
        self.is_unsent = False
        """Whether the call failed because there was no sidecar."""
        self._started = time.monotonic()
        self._call = start()

    def __iter__(self) -> Iterator[M]:
        try:
            try:
                yield from self._messages()
                return
            except grpc.RpcError as error:
                if not self._may_retry(error):
                    raise
            self._call = self._start()
            yield from self._messages()
        except grpc.RpcError as error:
            self.is_unsent = is_unsent(error)
            failure = failure_of_call(error, self._calls.target, output_started=self._has_message)
            raise failure from failure.__cause__
        finally:
            self.cancel()
            self._calls.ended(self._name, self._call, self._started)

    def cancel(self) -> None:
        """Ends the call, in any thread. Does nothing if the call has ended."""
        self._is_cancelled = True
        self._call.cancel()

    def _messages(self) -> Iterator[M]:
        for message in self._call:
            self._has_message = True
            yield message

    def _may_retry(self, error: grpc.RpcError) -> bool:
        if self._is_cancelled or not is_unsent(error):
            return False
        return self._calls.reconnect(self._deadline) and not self._is_cancelled


def failure_of_call(error: grpc.RpcError, target: str, *, output_started: bool = False) -> OutriggerError:
    """The error of a call that failed; it names the address of a sidecar that was not reached."""
    return error_of_call(error, output_started=output_started, unreached=target if is_unsent(error) else None)


def closed_error() -> OutriggerError:
    """The error of a call of a client that was closed."""
    return local_error(ErrorKind.ERROR_KIND_CONFIGURATION, "the client is closed")


def cancelled_error() -> OutriggerError:
    """The error of a stream that its reader cancelled."""
    return local_error(ErrorKind.ERROR_KIND_ABORT, "the call was cancelled")


def read_twice_error() -> OutriggerError:
    """The error of a stream whose events were read before."""
    message = "this stream was already read; make a new call"
    return local_error(ErrorKind.ERROR_KIND_INVALID_REQUEST, message)
