"""What the messages of a stream mean: decoders without input or output, shared by both clients."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from outrigger_client.errors import OutriggerError, error_of, local_error
from outrigger_client.results import GenerateResult, ObjectResult, Step
from outrigger_client.schema import MismatchError, Shape
from outrigger_client.v1 import generation_pb2
from outrigger_client.v1.error_pb2 import ErrorKind, InferenceError, NoObject
from outrigger_client.v1.generation_service_pb2 import (
    ExecuteTool,
    RunToolsResponse,
    StreamGenerateResponse,
    StreamObjectResponse,
)
from outrigger_client.v1.message_pb2 import ToolCall
from outrigger_client.v1.response_pb2 import Response
from outrigger_client.v1.stream_event_pb2 import StreamEvent

T = TypeVar("T")
M_contra = TypeVar("M_contra", contravariant=True)
E_co = TypeVar("E_co", covariant=True)
R_co = TypeVar("R_co", covariant=True)


@dataclass(frozen=True)
class ModelEvent:
    """An event of the model, under the laws of a stream."""

    step: int
    """Number of the step, from 1."""
    event: StreamEvent
    """The event. Kinds may be added; skip an unknown one."""

    @property
    def text(self) -> str:
        """The text that the event adds; empty for all but a `text_delta`."""
        return self.event.text_delta.delta

    @property
    def reasoning(self) -> str:
        """The reasoning that the event adds; empty for all but a `reasoning_delta`."""
        return self.event.reasoning_delta.delta


@dataclass(frozen=True)
class ToolStarted:
    """A tool of this process starts to run. Its result is in the StepFinished of its step."""

    step: int
    """Number of the step, from 1."""
    tool_call: ToolCall
    """The call."""


@dataclass(frozen=True)
class StepFinished:
    """A step is complete: the model answered, and its tools were executed."""

    step: int
    """Number of the step, from 1."""
    result: Step
    """The step."""


GenerationEvent = ModelEvent | ToolStarted | StepFinished
"""An event of a generation."""


class Decoder(Protocol[M_contra, E_co, R_co]):
    """Decodes the messages of one stream."""

    def receive(self, message: M_contra, /) -> E_co | None:
        """Takes a message. Returns what the iteration yields for it, if anything."""
        ...

    def result(self) -> R_co:
        """What the stream gave. Raises if it did not come to its end."""
        ...

    @property
    def steps(self) -> Sequence[generation_pb2.StepResult]:
        """The steps that are complete."""
        ...


class CompletionDecoder:
    """Decodes the events of Stream."""

    steps = ()

    def __init__(self) -> None:
        self._last: StreamEvent | None = None

    def receive(self, event: StreamEvent, /) -> StreamEvent:
        self._last = event
        return event

    def result(self) -> Response:
        if self._last is not None and self._last.HasField("finish"):
            return self._last.finish.response
        failure = self._last.error if self._last is not None and self._last.HasField("error") else None
        raise _cut(failure)


class GenerationDecoder:
    """Decodes the messages of StreamGenerate and RunTools."""

    def __init__(self) -> None:
        self._result: generation_pb2.GenerateResult | None = None
        self._failure: InferenceError | None = None
        self.steps: list[generation_pb2.StepResult] = []

    def receive(self, message: StreamGenerateResponse | RunToolsResponse, /) -> GenerationEvent | None:
        kind = message.WhichOneof("message")
        if kind == "event":
            return ModelEvent(message.step, message.event)
        if kind == "step_finish":
            self.steps.append(message.step_finish.result)
            return StepFinished(message.step, Step(message.step_finish.result))
        if kind == "result":
            self._result = message.result
        elif kind == "error":
            self._failure = message.error
        elif isinstance(message, RunToolsResponse) and kind == "execute" and not message.execute.problem:
            return ToolStarted(message.step, message.execute.tool_call)
        return None

    def result(self) -> GenerateResult:
        if self._result is None:
            raise _cut(self._failure)
        return GenerateResult(self._result)


class ObjectDecoder(Generic[T]):
    """Decodes the messages of StreamObject."""

    steps = ()

    def __init__(self, shape: Shape | None) -> None:
        self._shape = shape
        self._result: generation_pb2.GenerateResult | None = None
        self._failure: InferenceError | None = None

    def receive(self, message: StreamObjectResponse, /) -> Any:
        kind = message.WhichOneof("message")
        if kind == "partial_object":
            return json.loads(message.partial_object.object_json)
        if kind == "result":
            self._result = message.result
        elif kind == "error":
            self._failure = message.error
        return None

    def result(self) -> ObjectResult[T]:
        if self._result is None:
            raise _cut(self._failure)
        return object_result(self._result, self._shape)


def object_result(result: generation_pb2.GenerateResult, shape: Shape | None) -> ObjectResult[Any]:
    """The result with its object decoded.

    Raises NoObjectGeneratedError if the type rejects what the schema allows.
    """
    try:
        value = json.loads(result.output_json)
        return ObjectResult(result, value if shape is None else shape.decode(value, ""))
    except MismatchError as mismatch:
        raise _no_object(result, str(mismatch)) from mismatch


def _no_object(result: generation_pb2.GenerateResult, violation: str) -> OutriggerError:
    failure = InferenceError(
        kind=ErrorKind.ERROR_KIND_NO_OBJECT_GENERATED,
        message=f"the answer does not match the type: {violation}",
        output_started=True,
        usage=result.total_usage if result.HasField("total_usage") else None,
        no_object=NoObject(text=result.output_json[:2048], violations=[violation]),
    )
    return error_of(failure)


def _cut(failure: InferenceError | None) -> OutriggerError:
    """The error of a stream that ended without its last message."""
    if failure is not None:
        return error_of(failure)
    return local_error(
        ErrorKind.ERROR_KIND_STREAM, "the stream ended without its last message", output_started=True
    )


def execute_timeout(execute: ExecuteTool) -> float | None:
    """Seconds for a tool; None if there is no limit."""
    return execute.timeout.ToTimedelta().total_seconds() if execute.HasField("timeout") else None
