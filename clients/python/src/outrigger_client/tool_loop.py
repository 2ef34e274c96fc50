"""The caller's side of RunTools, without input or output: shared by both clients."""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Protocol, TypeVar

from outrigger_client import values
from outrigger_client.decoders import execute_timeout
from outrigger_client.messages import system_message, user_message
from outrigger_client.results import Step
from outrigger_client.tools import Tool, ToolContext, ToolError, ToolRefused, ToolSet
from outrigger_client.v1.generation_pb2 import GenerationOptions
from outrigger_client.v1.generation_service_pb2 import (
    ExecuteTool,
    RunToolsResponse,
    RunToolsStart,
    ToolFailure,
    ToolOutput,
    ToolRefusal,
)
from outrigger_client.v1.message_pb2 import Message, ToolCall, ToolResult

Repair = Mapping[str, object] | str | None
RepairFunction = Callable[[ToolCall, str], Repair | Awaitable[Repair]]
"""Repairs a call whose arguments do not match the tool's schema.

Takes the call and what is wrong with it. Returns the new arguments, as a mapping or as JSON text, or
None if it cannot help; the model then gets an error result.
"""

MAX_CONCURRENT_TOOLS = 16

# What a model can use of an error; the rest would only cost tokens.
_MAX_FAILURE_LENGTH = 4096

_logger = logging.getLogger("outrigger_client")


M_contra = TypeVar("M_contra", contravariant=True)


class ToolRunner(Protocol[M_contra]):
    """Runs the tools of one loop, and sends their outputs."""

    def receive(self, message: M_contra, /) -> None:
        """Starts the work that a message of the sidecar requests."""
        ...

    def close(self) -> None:
        """Ends the loop: tools that still run are cancelled, and what they give is not sent."""
        ...


class Job:
    """What is to be done for an `execute`: run a tool, or repair its call. Fails if neither is possible."""

    def __init__(self, execute: ExecuteTool, context: ToolContext, *, hide_errors: bool) -> None:
        self.execute = execute
        self.context = context
        self._hide_errors = hide_errors

    @property
    def is_async(self) -> bool:
        """Whether `run` gives an awaitable, which is for the event loop."""
        return False

    def run(self) -> object:
        """Does it, or gives an awaitable that does."""
        raise ToolError(self.execute.problem or f"there is no tool named {self.execute.tool_call.name!r}")

    def output(self, value: object) -> ToolOutput:
        """The answer with what `run` gave."""
        result = value if isinstance(value, ToolResult) else ToolResult(content=values.content_of(value))
        return ToolOutput(tool_call_id=self.execute.tool_call.id, result=result)

    def failure(self, error: BaseException) -> ToolOutput:
        """The answer where `run` failed."""
        call_id = self.execute.tool_call.id
        if isinstance(error, ToolRefused):
            return ToolOutput(tool_call_id=call_id, refusal=ToolRefusal(reason=_bounded(str(error))))
        if isinstance(error, asyncio.TimeoutError) and self.context.remaining == 0:
            error = ToolError("the tool did not answer in time")
        if isinstance(error, ToolError):
            return ToolOutput(tool_call_id=call_id, failure=ToolFailure(message=_bounded(str(error))))
        if not self.context.cancelled:
            # The model gets the error, but a developer would not notice it otherwise.
            _logger.warning("the tool %s failed", self.execute.tool_call.name, exc_info=error)
        if self._hide_errors:
            return ToolOutput(tool_call_id=call_id, failure=ToolFailure(message="the tool failed"))
        text = str(error)
        message = f"{type(error).__name__}: {text}" if text else type(error).__name__
        return ToolOutput(tool_call_id=call_id, failure=ToolFailure(message=_bounded(message)))


class _ToolJob(Job):
    def __init__(
        self, execute: ExecuteTool, context: ToolContext, tool: Tool[..., Any], *, hide_errors: bool
    ) -> None:
        hidden = hide_errors if tool.hide_errors is None else tool.hide_errors
        super().__init__(execute, context, hide_errors=hidden)
        self._tool = tool

    @property
    def is_async(self) -> bool:
        return self._tool.is_async

    def run(self) -> object:
        return self._tool.run(self.execute.tool_call, self.context)


class _RepairJob(Job):
    def __init__(
        self, execute: ExecuteTool, context: ToolContext, repair: RepairFunction, *, hide_errors: bool
    ) -> None:
        super().__init__(execute, context, hide_errors=hide_errors)
        self._repair = repair

    @property
    def is_async(self) -> bool:
        return inspect.iscoroutinefunction(self._repair)

    def run(self) -> object:
        return self._repair(self.execute.tool_call, self.execute.problem)

    def output(self, value: object) -> ToolOutput:
        if value is None:
            return self.failure(ToolError(self.execute.problem))
        arguments = value if isinstance(value, str) else values.json_of(value)
        call = ToolCall(arguments_json=arguments)
        return ToolOutput(tool_call_id=self.execute.tool_call.id, repaired_call=call)


class ToolLoop:
    """Follows one loop: the conversation so far, and the work that each message of the sidecar requests."""

    def __init__(
        self,
        start: RunToolsStart,
        tools: ToolSet,
        repair: RepairFunction | None,
        *,
        hide_errors: bool = False,
    ) -> None:
        self._hide_errors = hide_errors
        self.start = start
        self._tools = tools
        self._repair = repair
        self._history = list(_messages_of(start.options))
        self._answer: Message | None = None

    def receive(self, message: RunToolsResponse) -> Job | None:
        """Takes a message. Returns the job if it asks for one."""
        if message.HasField("execute"):
            return self._job(message)
        if self._tools.wants_context:
            self._follow(message)
        return None

    def _follow(self, message: RunToolsResponse) -> None:
        """Keeps the conversation, which only tools with a context see."""
        if message.HasField("step_finish"):
            self._answer = None
            self._history.extend(Step(message.step_finish.result).messages)
        elif message.event.HasField("finish"):
            self._answer = message.event.finish.response.message

    def _job(self, message: RunToolsResponse) -> Job:
        execute = message.execute
        context = ToolContext(execute.tool_call, message.step, self._conversation(), execute_timeout(execute))
        # A call with a problem must not be executed.
        tool = None if execute.problem else self._tools.executable.get(execute.tool_call.name)
        if tool is not None:
            return _ToolJob(execute, context, tool, hide_errors=self._hide_errors)
        if execute.problem and self._repair is not None:
            return _RepairJob(execute, context, self._repair, hide_errors=self._hide_errors)
        return Job(execute, context, hide_errors=self._hide_errors)

    def _conversation(self) -> Sequence[Message]:
        # Copied only if a tool can see it.
        if not self._tools.wants_context:
            return ()
        return [*self._history, *([] if self._answer is None else [self._answer])]


def _messages_of(options: GenerationOptions) -> Sequence[Message]:
    system = [system_message(options.system)] if options.system else []
    prompt = [user_message(options.prompt)] if options.prompt else []
    return [*system, *options.request.messages, *prompt]


def _bounded(text: str) -> str:
    return text if len(text) <= _MAX_FAILURE_LENGTH else f"{text[:_MAX_FAILURE_LENGTH]}…"
