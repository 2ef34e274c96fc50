"""The result of a generation."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Generic, TypeVar

from outrigger_client.messages import reasoning_of, text_of, tool_calls_of
from outrigger_client.v1 import generation_pb2
from outrigger_client.v1.attempt_pb2 import Attempt
from outrigger_client.v1.generation_pb2 import StepResult
from outrigger_client.v1.message_pb2 import ROLE_TOOL, ContentPart, Message, ToolCall, ToolResult
from outrigger_client.v1.response_pb2 import FinishReason, Response, Warning
from outrigger_client.v1.usage_pb2 import Usage

T = TypeVar("T")


class Step:
    """One model call, and the execution of the tools that it called."""

    def __init__(self, proto: StepResult) -> None:
        self.proto = proto
        """The step as it came over the wire."""

    def __repr__(self) -> str:
        return f"<Step {self.finish_reason}, {len(self.tool_calls)} tool calls, {self.text[:60]!r}>"

    @property
    def response(self) -> Response:
        """The model's answer."""
        return self.proto.response

    @property
    def text(self) -> str:
        """The text of the answer."""
        return text_of(self.response)

    @property
    def reasoning(self) -> str:
        """The reasoning of the answer, as far as the provider shows it."""
        return reasoning_of(self.response)

    @property
    def tool_calls(self) -> Sequence[ToolCall]:
        """The tools that the model called."""
        return tool_calls_of(self.response)

    @property
    def tool_results(self) -> Sequence[ToolResult]:
        """Results of the tools that were executed, in the order of their calls."""
        return self.proto.tool_results

    @property
    def finish_reason(self) -> str:
        """Why the model stopped: `stop`, `length`, `tool_calls`, `content_filter`, `error` or `other`."""
        reason = self.response.finish_reason.reason
        known = reason in FinishReason.Reason.values() and reason != FinishReason.REASON_UNSPECIFIED
        return FinishReason.Reason.Name(reason).removeprefix("REASON_").lower() if known else "other"

    @property
    def usage(self) -> Usage | None:
        """Tokens of this step; None if the provider reported none."""
        return self.response.usage if self.response.HasField("usage") else None

    @property
    def warnings(self) -> Sequence[Warning]:
        """What was changed or left out for the provider, and what it reported."""
        return self.response.warnings

    @property
    def messages(self) -> Sequence[Message]:
        """The model's message, and one for each result of its tools."""
        return [self.response.message, *map(_tool_message, self.tool_results)]


class GenerateResult:
    """The result of a generation. `text`, `tool_calls` and so on are those of the last step."""

    def __init__(self, proto: generation_pb2.GenerateResult) -> None:
        self.proto = proto
        """The result as it came over the wire."""

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.stop_reason}, {len(self.steps)} steps, {self.text[:60]!r}>"

    @cached_property
    def steps(self) -> Sequence[Step]:
        """All steps, in their order."""
        return [Step(step) for step in self.proto.steps]

    @property
    def response(self) -> Response:
        """The model's last answer."""
        return self.proto.response

    @property
    def text(self) -> str:
        """The text of the last answer."""
        return self._last.text

    @property
    def reasoning(self) -> str:
        """The reasoning of the last answer, as far as the provider shows it."""
        return self._last.reasoning

    @property
    def tool_calls(self) -> Sequence[ToolCall]:
        """The tools that the model called in the last step."""
        return self._last.tool_calls

    @property
    def tool_results(self) -> Sequence[ToolResult]:
        """Results of the tools that were executed in the last step."""
        return self._last.tool_results

    @property
    def finish_reason(self) -> str:
        """Why the model stopped: `stop`, `length`, `tool_calls`, `content_filter`, `error` or `other`."""
        return self._last.finish_reason

    @property
    def stop_reason(self) -> str:
        """Why the generation ended: `completed`, `tool_calls`, `max_tool_rounds`, `stop_when`, `max_steps`,
        `max_total_tokens`, `max_cost`, `max_tool_calls`, or `other` for what a newer sidecar may add."""
        reasons = generation_pb2.GenerateResult.StopReason
        known = self.proto.stop_reason in reasons.values()
        return reasons.Name(self.proto.stop_reason).removeprefix("STOP_REASON_").lower() if known else "other"

    @property
    def usage(self) -> Usage | None:
        """Tokens of the last step; None if the provider reported none."""
        return self._last.usage

    @property
    def total_usage(self) -> Usage | None:
        """Tokens of all steps; None if no step reported any."""
        return self.proto.total_usage if self.proto.HasField("total_usage") else None

    @property
    def attempts(self) -> Sequence[Attempt]:
        """All calls of providers, failed ones included."""
        return self.proto.attempts

    @property
    def warnings(self) -> Sequence[Warning]:
        """The warnings of all steps."""
        return [warning for step in self.steps for warning in step.warnings]

    @property
    def messages(self) -> Sequence[Message]:
        """Messages to append to the history to continue the conversation: answers and tool results."""
        return [message for step in self.steps for message in step.messages]

    @cached_property
    def _last(self) -> Step:
        return self.steps[-1] if self.steps else Step(StepResult(response=self.response))


class ObjectResult(GenerateResult, Generic[T]):
    """The result of the generation of an object."""

    def __init__(self, proto: generation_pb2.GenerateResult, output: T) -> None:
        super().__init__(proto)
        self.output = output
        """The object, of the type that was given as `schema`."""


def _tool_message(result: ToolResult) -> Message:
    return Message(
        role=ROLE_TOOL, content=[ContentPart(tool_result=result)], tool_call_id=result.tool_call_id
    )
