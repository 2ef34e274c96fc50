"""Makes calls for the asynchronous client."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, Generic, Protocol, TypeVar, Union

import grpc

from outrigger.calls import RECONNECT_TIMEOUT, Deadline, closed_error, failure_of_call, is_unsent

M = TypeVar("M")
A = TypeVar("A")
A_co = TypeVar("A_co", covariant=True)
Q_contra = TypeVar("Q_contra", contravariant=True)

GrpcStream = Union["grpc.aio.UnaryStreamCall[Any, M]", "grpc.aio.StreamStreamCall[Any, M]"]


class AsyncUnaryMethod(Protocol[Q_contra, A_co]):
    """A method of a stub with one answer."""

    def __call__(self, request: Q_contra, /, *, timeout: float | None = None) -> Awaitable[A_co]: ...


class AsyncCalls:
    """Makes the calls of an asynchronous client."""

    def __init__(self, channel: grpc.aio.Channel, target: str) -> None:
        self._channel = channel
        self.target = target
        self._is_closed = False

    def close(self) -> None:
        """Lets all later calls fail."""
        self._is_closed = True

    async def unary(
        self, method: AsyncUnaryMethod[Q_contra, A], request: Q_contra, timeout: float | None
    ) -> A:
        """Makes a call with one answer."""
        self.check_open()
        deadline = Deadline(timeout)
        try:
            try:
                return await method(request, timeout=deadline.remaining)
            except grpc.RpcError as error:
                if not is_unsent(error) or not await self.reconnect(deadline):
                    raise
            return await method(request, timeout=deadline.remaining)
        except grpc.RpcError as error:
            failure = failure_of_call(error, self.target)
            raise failure from failure.__cause__

    def stream(
        self, start: Callable[[float | None], GrpcStream[M]], timeout: float | None
    ) -> AsyncStreamCall[M]:
        """Makes a call with a stream of messages.

        Args:
            start: Starts the call with a timeout. Called once more if nothing could be sent.
            timeout: Seconds for all of it.
        """
        self.check_open()
        return AsyncStreamCall(self, start, Deadline(timeout))

    async def reconnect(self, deadline: Deadline) -> bool:
        """Waits for a connection. Returns whether there is one."""
        try:
            await asyncio.wait_for(self._channel.channel_ready(), deadline.bound(RECONNECT_TIMEOUT))
        except asyncio.TimeoutError:
            return False
        return True

    def check_open(self) -> None:
        """Raises ConfigurationError after `close`."""
        if self._is_closed:
            raise closed_error()


class AsyncStreamCall(Generic[M]):
    """A call with a stream of messages, which can be read once."""

    def __init__(
        self, calls: AsyncCalls, start: Callable[[float | None], GrpcStream[M]], deadline: Deadline
    ) -> None:
        self._calls = calls
        self._start = start
        self._deadline = deadline
        self._is_cancelled = False
        self._has_message = False
        self._call = start(deadline.remaining)

    async def __aiter__(self) -> AsyncIterator[M]:
        try:
            try:
                async for message in self._messages():
                    yield message
                return
            except grpc.RpcError as error:
                if not await self._may_retry(error):
                    raise
            self._call = self._start(self._deadline.remaining)
            async for message in self._messages():
                yield message
        except grpc.RpcError as error:
            failure = failure_of_call(error, self._calls.target, output_started=self._has_message)
            raise failure from failure.__cause__

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
