"""A server that plays the sidecar's part of RunTools, so that tests decide what it sends, and when."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import grpc

from outrigger_client.v1.generation_pb2 import GenerateResult, StepFinish, StepResult
from outrigger_client.v1.generation_service_pb2 import (
    ExecuteTool,
    RunToolsRequest,
    RunToolsResponse,
    RunToolsStart,
    ToolOutput,
)
from outrigger_client.v1.generation_service_pb2_grpc import (
    GenerationServiceServicer,
    add_GenerationServiceServicer_to_server,
)
from outrigger_client.v1.message_pb2 import ROLE_ASSISTANT, ContentPart, Message, ToolCall, ToolResult
from outrigger_client.v1.response_pb2 import Response

Play = Callable[["Peer"], Iterator[RunToolsResponse]]


class Peer:
    """The caller, as a play sees it."""

    def __init__(self, requests: Iterator[RunToolsRequest], context: grpc.ServicerContext) -> None:
        self._requests = requests
        self.context = context
        self.start: RunToolsStart = next(requests).start

    def output(self) -> ToolOutput:
        """Waits for the next output."""
        return next(self._requests).output

    def outputs(self, count: int) -> dict[str, ToolOutput]:
        """Waits for outputs, by the ids of their calls."""
        found = [self.output() for _ in range(count)]
        return {output.tool_call_id: output for output in found}


class _Service(GenerationServiceServicer):
    def __init__(self, play: Play) -> None:
        self._play = play

    def RunTools(self, request_iterator: Any, context: Any) -> Iterator[RunToolsResponse]:
        yield from self._play(Peer(request_iterator, context))

    def _unused(self, request: Any, context: Any) -> Any:
        context.abort(grpc.StatusCode.UNIMPLEMENTED, "not played")

    Generate = StreamGenerate = GenerateObject = StreamObject = ContinueTools = _unused


@contextmanager
def fake_sidecar(play: Play, address: str = "127.0.0.1:0") -> Iterator[str]:
    """Serves a play under the address that it gives, by default on a free port."""
    options = [("grpc.max_send_message_length", -1)]
    server = grpc.server(ThreadPoolExecutor(max_workers=4), options=options)
    add_GenerationServiceServicer_to_server(_Service(play), server)
    port = server.add_insecure_port(address)
    server.start()
    try:
        yield f"127.0.0.1:{port}" if address == "127.0.0.1:0" else address
    finally:
        server.stop(grace=None).wait()


def call(call_id: str, name: str, arguments_json: str = "{}") -> ToolCall:
    """A call of a tool."""
    return ToolCall(id=call_id, name=name, arguments_json=arguments_json)


def execute(tool_call: ToolCall, step: int = 1, **fields: Any) -> RunToolsResponse:
    """Asks for a tool."""
    return RunToolsResponse(step=step, execute=ExecuteTool(tool_call=tool_call, **fields))


def assistant(text: str, *calls: ToolCall) -> Message:
    """An answer of the model."""
    parts = [ContentPart(text=text), *(ContentPart(tool_call=entry) for entry in calls)]
    return Message(role=ROLE_ASSISTANT, content=parts)


def step_of(message: Message, *results: ToolResult) -> StepResult:
    """A step with the results of its tools."""
    return StepResult(response=Response(message=message), tool_results=results)


def finished(*steps: StepResult) -> Iterator[RunToolsResponse]:
    """The end of the last step, and the result."""
    yield RunToolsResponse(step=len(steps), step_finish=StepFinish(result=steps[-1]))
    result = GenerateResult(
        steps=steps,
        response=steps[-1].response,
        stop_reason=GenerateResult.STOP_REASON_COMPLETED,
    )
    yield RunToolsResponse(step=len(steps), result=result)


def text_of_output(output: ToolOutput) -> str:
    """The text of a result, a failure or a refusal."""
    kind = output.WhichOneof("output")
    if kind == "result":
        return "".join(part.text for part in output.result.content)
    return output.failure.message if kind == "failure" else output.refusal.reason
