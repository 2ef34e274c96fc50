"""Streams of the synchronous client."""

from __future__ import annotations

from collections.abc import Iterator
from types import TracebackType
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from outrigger_client.calls import StreamCall, read_twice_error
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


class Stream(Generic[M, E, R]):
    """An answer while it arrives: an iterator and a context manager.

    Leaving either one cancels the call. A stream that was cut raises; it never looks finished.
    """

    def __init__(
        self, call: StreamCall[M], decoder: Decoder[M, E, R], tools: ToolRunner[M] | None = None
    ) -> None:
        self._call = call
        self._decoder = decoder
        self._tools = tools
        self._is_read = False
        self._is_complete = False

    def __iter__(self) -> Iterator[E]:
        if self._is_read:
            raise read_twice_error()
        self._is_read = True
        return self._events()

    def _events(self) -> Iterator[E]:
        try:
            for message in self._call:
                if self._tools is not None:
                    self._tools.receive(message)
                event = self._decoder.receive(message)
                if event is not None:
                    yield event
            self._decoder.result()
            self._is_complete = True
        except OutriggerError as error:
            keep_steps(error, self._decoder.steps)
            raise
        finally:
            self.cancel()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.cancel()

    def __del__(self) -> None:
        self.cancel()

    def cancel(self) -> None:
        """Ends the call and its tools, in any thread. Does nothing if the call has ended."""
        self._call.cancel()
        if self._tools is not None:
            self._tools.close()

    def result(self) -> R:
        """Waits for the end. Raises AbortError if the stream was closed before it."""
        if not self._is_complete:
            for _ in self._events():
                pass
        return self._decoder.result()


class CompletionStream(Stream[StreamEvent, StreamEvent, Response]):
    """The events of one call of a model, under the laws that are listed at `StreamEvent`."""

    def text(self) -> Iterator[str]:
        """The text as it arrives."""
        for event in self:
            if event.text_delta.delta:
                yield event.text_delta.delta


class GenerationStream(Stream[Any, GenerationEvent, GenerateResult]):
    """The events of a generation: ModelEvent, ToolStarted and StepFinished."""

    def text(self) -> Iterator[str]:
        """The text of all steps as it arrives."""
        for event in self:
            if isinstance(event, ModelEvent) and event.text:
                yield event.text


class ObjectStream(Stream[Any, Any, ObjectResult[T]]):
    """An object as it arrives: each value is the part so far, as a `dict`."""
