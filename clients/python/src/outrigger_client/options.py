"""The arguments of a generation, and the message that they become."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Literal, TypedDict

from google.protobuf.duration_pb2 import Duration

from outrigger_client import values
from outrigger_client.messages import MessageDict, message_from
from outrigger_client.schema import Shape, root_schema, shape_of
from outrigger_client.tools import Tool, ToolSet, tool_set
from outrigger_client.v1 import generation_pb2
from outrigger_client.v1.generation_pb2 import GenerationLimits, GenerationOptions, GenerationTimeouts
from outrigger_client.v1.generation_service_pb2 import ObjectFormat, RunToolsStart
from outrigger_client.v1.message_pb2 import Message
from outrigger_client.v1.request_pb2 import (
    LossPolicy,
    Request,
    ResponseFormat,
    StatePolicy,
    Timeouts,
    ToolChoice,
)
from outrigger_client.v1.tool_pb2 import Tool as ToolDefinition

if TYPE_CHECKING:
    from typing_extensions import Unpack

ToolChoiceArgument = Literal["auto", "none", "required"] | Tool[..., Any] | ToolChoice
"""Whether and how tools must be used; a Tool means that the model must call it."""


@dataclasses.dataclass(frozen=True)
class RetryPolicy:
    """When and how often a failed model call is retried. None means the sidecar's default."""

    max_retries: int | None = None
    """Maximum number of retries after the first attempt. 0 disables retries. Default 2."""
    base_delay: float | None = None
    """Seconds before the first retry. Default 1."""
    max_delay: float | None = None
    """Longest delay in seconds, before jitter. Default 60."""
    backoff_multiplier: float | None = None
    """Factor between one delay and the next. Default 2."""
    jitter: bool | None = None
    """Whether each computed delay is multiplied by a random factor from 0.5 to 1.5. Default true."""
    retry_timeouts: bool = False
    """Whether errors of kind `REQUEST_TIMEOUT` are retried, too. Default false."""

    def to_proto(self) -> generation_pb2.RetryPolicy:
        """The policy as it is sent."""
        return generation_pb2.RetryPolicy(
            max_retries=self.max_retries,
            base_delay=_duration(self.base_delay),
            max_delay=_duration(self.max_delay),
            backoff_multiplier=self.backoff_multiplier,
            jitter=self.jitter,
            retry_timeouts=self.retry_timeouts,
        )


class GenerationArguments(TypedDict, total=False):
    """Keyword arguments of all four generating methods. Each is optional."""

    prompt: str
    """Text of a user message, instead of `messages`."""
    messages: Sequence[Message | MessageDict]
    """The conversation so far, oldest first. A dictionary is `{"role": "user", "content": "Hello"}`."""
    system: str
    """Text of a system message that is put before all other messages."""
    provider: str
    """Name of the registered provider; the default provider where it is left out."""
    tool_choice: ToolChoiceArgument
    """Whether and how the model must use tools."""
    max_tool_rounds: int
    """Maximum number of times that tools are executed and their results sent back. Default 1."""
    stop_when: str
    """Ends the generation early: a CEL expression over `steps`, such as `steps.size() >= 3`."""
    limits: GenerationLimits
    """Limits on what all steps together may use: steps, tokens, cost, tool calls."""
    total_timeout: float
    """Maximum seconds for the generation, with all steps, tools and retry delays. Default none."""
    step_timeout: float
    """Maximum seconds for each attempt to call the model. Default none."""
    tool_timeout: float
    """Maximum seconds for one tool, after which the model gets an error result. Default 300."""
    retry: RetryPolicy | int
    """When a failed model call is retried; a number is `RetryPolicy.max_retries`."""
    temperature: float
    """Sampling temperature, usually from 0 to 2."""
    top_p: float
    """Nucleus sampling mass, from 0 to 1."""
    max_tokens: int
    """Maximum number of tokens of one answer, reasoning included."""
    stop_sequences: Sequence[str]
    """Texts at which the model stops."""
    reasoning_effort: str
    """How much a reasoning model reasons: `none`, `minimal`, `low`, `medium`, `high`, `xhigh`, `max`."""
    response_format: ResponseFormat
    """Format of the answer. For objects use `generate_object`."""
    metadata: Mapping[str, str]
    """Key-value pairs that the provider stores with the call."""
    provider_options: Mapping[str, Mapping[str, object]]
    """What the contract does not model: by provider, a JSON object that is merged into the body."""
    loss_policy: Literal["warn", "refuse"]
    """What happens if the provider cannot honour part of the request. Default `warn`."""
    foreign_state: Literal["strip", "to_text", "reject"]
    """What happens to another provider's reasoning and signatures in the history. Default `strip`."""
    include_raw: bool
    """Whether the provider's own bodies and events are included."""
    provider_timeouts: Timeouts
    """Time limits of each call of the provider: connect, request, between bytes."""


class ObjectArguments(GenerationArguments, total=False):
    """Keyword arguments of the two methods that generate an object. Each is optional."""

    tools: Sequence[ToolDefinition]
    """Tools that the provider executes. Functions of this process cannot be combined with an object."""
    name: str
    """Name of the object for the model, at most 64 letters, digits, `_` and `-`. Default `object`."""
    description: str
    """Description of the object, sent to the model."""
    strategy: Literal["auto", "native", "tool", "prompt"]
    """How the object is requested from the model. Default `auto`: chosen by what the model supports."""


@dataclasses.dataclass(frozen=True)
class ObjectSpec:
    """The requested object, and how the answer is decoded."""

    options: GenerationOptions
    format: ObjectFormat
    shape: Shape | None
    """What decodes the object; None if the schema is a JSON Schema."""


def generation_options(
    model: str, tools: ToolSet, /, **arguments: Unpack[GenerationArguments]
) -> GenerationOptions:
    """The message for the arguments of a generation. Raises TypeError for an unknown one."""
    unknown = arguments.keys() - GenerationArguments.__annotations__.keys()
    if unknown:
        raise TypeError(f"unexpected argument {', '.join(sorted(unknown))}")
    retry = arguments.get("retry")
    policy = RetryPolicy(max_retries=retry) if isinstance(retry, int) else retry
    return GenerationOptions(
        request=_request(model, tools, arguments),
        prompt=arguments.get("prompt", ""),
        system=arguments.get("system", ""),
        max_tool_rounds=arguments.get("max_tool_rounds"),
        stop_when=arguments.get("stop_when", ""),
        retry=None if policy is None else policy.to_proto(),
        timeouts=_timeouts(arguments),
        limits=arguments.get("limits"),
    )


def run_tools_start(
    options: GenerationOptions, tools: ToolSet, *, omit_events: bool, repair_calls: bool
) -> RunToolsStart:
    """What opens the tool loop."""
    return RunToolsStart(
        options=options,
        passive_tools=tools.passive_names,
        # A tool that wants the conversation needs the model's message before the step is complete.
        omit_events=omit_events and not tools.wants_context,
        repair_calls=repair_calls,
    )


def object_spec(model: str, schema: Any, /, **arguments: Unpack[ObjectArguments]) -> ObjectSpec:
    """The messages for the arguments of an object's generation."""
    tools = tool_set(arguments.pop("tools", ()))
    if tools.executable:
        raise ValueError("tools: functions cannot be combined with an object; use generate")
    shape = None if isinstance(schema, Mapping) else shape_of(schema)
    document = schema if shape is None else root_schema(shape)
    if shape is not None and document.get("type") != "object":
        raise TypeError(f"schema: expected a type whose JSON is an object, found {schema!r}")
    strategy = arguments.pop("strategy", "unspecified").upper()
    form = ObjectFormat(
        schema_json=values.json_of(document),
        name=arguments.pop("name", ""),
        description=arguments.pop("description", ""),
        strategy=ObjectFormat.Strategy.Value(f"STRATEGY_{strategy}"),
    )
    # What is left are the arguments of every generation.
    rest: GenerationArguments = arguments
    return ObjectSpec(generation_options(model, tools, **rest), form, shape)


def _request(model: str, tools: ToolSet, arguments: GenerationArguments) -> Request:
    options = arguments.get("provider_options", {})
    choice = arguments.get("tool_choice")
    return Request(
        model=model,
        messages=[
            message_from(message, f"messages[{index}]")
            for index, message in enumerate(arguments.get("messages", ()))
        ],
        provider=arguments.get("provider", ""),
        tools=tools.definitions,
        tool_choice=None if choice is None else _tool_choice(choice),
        response_format=arguments.get("response_format"),
        temperature=arguments.get("temperature"),
        top_p=arguments.get("top_p"),
        max_tokens=arguments.get("max_tokens"),
        stop_sequences=arguments.get("stop_sequences", ()),
        reasoning_effort=arguments.get("reasoning_effort", ""),
        metadata=arguments.get("metadata", {}),
        provider_options_json={name: values.json_of(value) for name, value in options.items()},
        loss_policy=LossPolicy.Value(f"LOSS_POLICY_{arguments.get('loss_policy', 'unspecified').upper()}"),
        foreign_state=StatePolicy.Value(
            f"STATE_POLICY_{arguments.get('foreign_state', 'unspecified').upper()}"
        ),
        include_raw=arguments.get("include_raw", False),
        timeouts=arguments.get("provider_timeouts"),
    )


def _tool_choice(choice: ToolChoiceArgument) -> ToolChoice:
    if isinstance(choice, ToolChoice):
        return choice
    if isinstance(choice, Tool):
        return ToolChoice(mode=ToolChoice.MODE_NAMED, tool_name=choice.name)
    return ToolChoice(mode=ToolChoice.Mode.Value(f"MODE_{choice.upper()}"))


def _timeouts(arguments: GenerationArguments) -> GenerationTimeouts:
    return GenerationTimeouts(
        total=_duration(arguments.get("total_timeout")),
        per_step=_duration(arguments.get("step_timeout")),
        per_tool=_duration(arguments.get("tool_timeout")),
    )


def _duration(seconds: float | None) -> Duration | None:
    if seconds is None:
        return None
    duration = Duration()
    duration.FromTimedelta(timedelta(seconds=seconds))
    return duration
