"""Makes calls for the asynchronous client."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Callable
from typing import Any, Generic, Protocol, TypeVar, Union

import grpc

from outrigger_client.call_info import CallSettings, Metadata
from outrigger_client.calls import RECONNECT_TIMEOUT, Deadline, closed_error, failure_of_call, is_unsent

M = TypeVar("M")
A = TypeVar("A")
Q = TypeVar("Q")
Q_contra = TypeVar("Q_contra", contravariant=True)

GrpcStream = Union["grpc.aio.UnaryStreamCall[Any, M]", "grpc.aio.StreamStreamCall[Any, M]"]


class AsyncStreamMethod(Protocol[Q_contra, M]):
    """A method of a stub with a stream of answers."""

    def __call__(
        self, request: Q_contra, /, *, timeout: float | None = None, metadata: Metadata | None = None
    ) -> GrpcStream[M]: ...


class AsyncCalls:
    """Makes the calls of an asynchronous client."""

    def __init__(self, channel: grpc.aio.Channel, target: str, settings: CallSettings) -> None:
        self._channel = channel
        self.target = target
        self.settings = settings
        self._closed = threading.Event()

    def derived(self, settings: CallSettings) -> AsyncCalls:
        """The same with other settings, for as long as this one is open."""
        calls = AsyncCalls(self._channel, self.target, settings)
        calls._closed = self._closed
        return calls

    def close(self) -> None:
        """Lets all later calls fail."""
        self._closed.set()

    def check_open(self) -> None:
        """Raises ConfigurationError after `close`."""
        if self._closed.is_set():
            raise closed_error()

    async def unary(
        self, name: str, method: grpc.aio.UnaryUnaryMultiCallable[Q, A], request: Q, timeout: float | None
    ) -> A:
        """Makes a call with one answer."""
        self.check_open()
        deadline = Deadline(timeout)
        try:
            try:
                return await self._attempt(name, method, request, deadline)
            except grpc.RpcError as error:
                if not is_unsent(error) or not await self.reconnect(deadline):
                    raise
            return await self._attempt(name, method, request, deadline)
        except grpc.RpcError as error:
            failure = failure_of_call(error, self.target)
            raise failure from failure.__cause__

    async def _attempt(
        self, name: str, method: grpc.aio.UnaryUnaryMultiCallable[Q, A], request: Q, deadline: Deadline
    ) -> A:
        started = time.monotonic()
        call = method(request, timeout=deadline.remaining, metadata=self.settings.headers)
        try:
            answer = await call
        except grpc.RpcError:
            await self.ended(name, call, started)
            raise
        await self.ended(name, call, started)
        return answer

    def stream(
        self, name: str, method: AsyncStreamMethod[Q, M], request: Callable[[], Q], timeout: float | None
    ) -> AsyncStreamCall[M]:
        """Makes a call with a stream of messages.

        Args:
            name: The method's name.
            method: The method.
            request: Makes the request. Called once more if nothing could be sent.
            timeout: Seconds for all of it.
        """
        self.check_open()
        deadline = Deadline(timeout)

        def start() -> GrpcStream[M]:
            return method(request(), timeout=deadline.remaining, metadata=self.settings.headers)

        return AsyncStreamCall(self, name, start, deadline)

    async def reconnect(self, deadline: Deadline) -> bool:
        """Waits for a connection. Returns whether there is one."""
        try:
            await asyncio.wait_for(self._channel.channel_ready(), deadline.bound(RECONNECT_TIMEOUT))
        except asyncio.TimeoutError:
            return False
        return True

    async def ended(self, name: str, call: grpc.aio.Call, started: float) -> None:
        """Reports a call that ended."""
        if not call.done():
            return
        metadata = [*(await call.initial_metadata() or ()), *(await call.trailing_metadata() or ())]
        self.settings.ended(name, (await call.code()).name, started, metadata)


class AsyncStreamCall(Generic[M]):
    """A call with a stream of messages, which can be read once."""

    def __init__(
        self, calls: AsyncCalls, name: str, start: Callable[[], GrpcStream[M]], deadline: Deadline
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

    async def __aiter__(self) -> AsyncIterator[M]:
        try:
            try:
                async for message in self._messages():
                    yield message
                return
            except grpc.RpcError as error:
                if not await self._may_retry(error):
                    raise
            self._call = self._start()
            async for message in self._messages():
                yield message
        except grpc.RpcError as error:
            self.is_unsent = is_unsent(error)
            failure = failure_of_call(error, self._calls.target, output_started=self._has_message)
            raise failure from failure.__cause__
        finally:
            await self._calls.ended(self._name, self._call, self._started)

    def cancel(self) -> None:
        """Ends the call. Does nothing if the call has ended."""
        self._is_cancelled = True
        self._call.cancel()

    async def _messages(self) -> AsyncIterator[M]:
        async for message in self._call:
            self._has_message = True
            yield message

    async def _may_retry(self, error: grpc.RpcError) -> bool:
        if self._is_cancelled or not is_unsent(error):
            return False
        return await self._calls.reconnect(self._deadline) and not self._is_cancelled
