"""Streams of the asynchronous client."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from types import TracebackType
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from outrigger_client.async_calls import AsyncStreamCall
from outrigger_client.calls import cancelled_error, read_twice_error
from outrigger_client.decoders import Decoder, GenerationEvent, ModelEvent
from outrigger_client.errors import OutriggerError, keep_steps
from outrigger_client.results import GenerateResult, ObjectResult
from outrigger_client.tool_loop import ToolRunner
from outrigger_client.v1.response_pb2 import Response
from outrigger_client.v1.stream_event_pb2 import StreamEvent

if TYPE_CHECKING:
    from typing_extensions import Self

M = TypeVar("M")
E = TypeVar("E")
R = TypeVar("R")
T = TypeVar("T")


class AsyncStream(Generic[M, E, R]):
    """An answer while it arrives: an asynchronous iterator and context manager.

    Leaving either one cancels the call. A stream that was cut raises; it never looks finished.
    """

    def __init__(
        self, call: AsyncStreamCall[M], decoder: Decoder[M, E, R], tools: ToolRunner[M] | None = None
    ) -> None:
        self._call = call
        self._decoder = decoder
        self._tools = tools
        self._is_read = False
        self._is_complete = False
        self._is_cancelled = False
        self._event_loop = asyncio.get_running_loop()

    def __aiter__(self) -> AsyncIterator[E]:
        if self._is_read:
            raise read_twice_error()
        self._is_read = True
        return self._events()

    async def _events(self) -> AsyncIterator[E]:
        try:
            async for message in self._call:
                if self._tools is not None:
                    self._tools.receive(message)
                event = self._decoder.receive(message)
                if event is not None:
                    yield event
            self._decoder.result()
            self._is_complete = True
        except asyncio.CancelledError:
            if not self._is_cancelled:
                raise  # The task was cancelled, not the stream.
            cancelled = cancelled_error()
            keep_steps(cancelled, self._decoder.steps)
            raise cancelled from None
        except OutriggerError as error:
            keep_steps(error, self._decoder.steps)
            raise
        finally:
            self.cancel()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.cancel()

    def __del__(self) -> None:
        if not self._is_cancelled:
            # Any thread may collect a stream that nobody read. A loop that is closed has ended its call.
            with contextlib.suppress(RuntimeError):
                self._event_loop.call_soon_threadsafe(self.cancel)

    def cancel(self) -> None:
        """Ends the call and its tools. Does nothing if the call has ended."""
        self._is_cancelled = True
        self._call.cancel()
        if self._tools is not None:
            self._tools.close()

    async def result(self) -> R:
        """Waits for the end. Raises AbortError if the stream was closed before it."""
        if not self._is_complete:
            async for _ in self._events():
                pass
        return self._decoder.result()


class AsyncCompletionStream(AsyncStream[StreamEvent, StreamEvent, Response]):
    """The events of one call of a model, under the laws that are listed at `StreamEvent`."""

    async def text(self) -> AsyncIterator[str]:
        """The text as it arrives."""
        try:
            async for event in self:
                if event.text_delta.delta:
                    yield event.text_delta.delta
        finally:
            self.cancel()


class AsyncGenerationStream(AsyncStream[Any, GenerationEvent, GenerateResult]):
    """The events of a generation: ModelEvent, ToolStarted and StepFinished."""

    async def text(self) -> AsyncIterator[str]:
        """The text of all steps as it arrives."""
        try:
            async for event in self:
                if isinstance(event, ModelEvent) and event.text:
                    yield event.text
        finally:
            self.cancel()


class AsyncObjectStream(AsyncStream[Any, Any, ObjectResult[T]]):
    """An object as it arrives: each value is the part so far, as a `dict`."""
