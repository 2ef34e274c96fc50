"""Tools: functions of this process that a model may call."""

from __future__ import annotations

import dataclasses
import inspect
import json
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Generic, ParamSpec, TypeVar, overload

from outrigger_client.docstring import Docstring, docstring_of
from outrigger_client.schema import (
    Field,
    MismatchError,
    ObjectShape,
    description_in,
    hints_of,
    root_schema,
    shape_of,
)
from outrigger_client.v1.message_pb2 import Message, ToolCall
from outrigger_client.v1.tool_pb2 import CustomTool, FunctionTool, Grammar
from outrigger_client.v1.tool_pb2 import Tool as ToolDefinition

P = ParamSpec("P")
R = TypeVar("R")

# The one argument of a custom tool at providers without custom tools.
_CUSTOM_ARGUMENT = "input"


class ToolError(Exception):
    """Raise it in a tool for a failure that the model should read as it is.

    Any other exception is reported to the model, too, with the name of its class.
    """


class ToolRefused(Exception):
    """Raise it in a tool to decline a call, for instance because a user did not approve it."""


class ToolContext:
    """What a tool may know of its call. A parameter with this type gets it, and is hidden from the model."""

    def __init__(
        self, tool_call: ToolCall, step: int, messages: Sequence[Message], timeout: float | None
    ) -> None:
        self.tool_call = tool_call
        """The call as the model wrote it."""
        self.step = step
        """Number of the step, from 1."""
        self.messages = messages
        """The conversation up to and including the message that has the call."""
        self._deadline = None if timeout is None else time.monotonic() + timeout
        self._cancelled = threading.Event()

    @property
    def tool_call_id(self) -> str:
        """Id of the call."""
        return self.tool_call.id

    @property
    def remaining(self) -> float | None:
        """Seconds until the result must be there; None if there is no limit."""
        return None if self._deadline is None else max(0.0, self._deadline - time.monotonic())

    @property
    def cancelled(self) -> bool:
        """Whether the result is no longer needed. A tool that runs in a thread should check it regularly."""
        return self._cancelled.is_set() or self.remaining == 0

    def wait(self, seconds: float) -> bool:
        """Sleeps, at most until the call is cancelled or its time is over. Returns `cancelled`."""
        remaining = self.remaining
        self._cancelled.wait(seconds if remaining is None else min(seconds, remaining))
        return self.cancelled

    def check(self) -> None:
        """Raises ToolError if the call is cancelled."""
        if self.cancelled:
            raise ToolError("the tool did not answer in time")

    def cancel(self) -> None:
        """Marks the call as cancelled."""
        self._cancelled.set()


class Tool(Generic[P, R]):
    """A function that a model may call. Made by `tool` and `custom_tool`; can be called like the function."""

    def __init__(
        self,
        function: Callable[P, R],
        definition: ToolDefinition,
        arguments: ObjectShape,
        context_name: str = "",
        hide_errors: bool | None = None,
    ) -> None:
        self._function = function
        self.hide_errors = hide_errors
        """Whether the model learns nothing of exceptions; None for what the client says."""
        self._arguments = arguments
        self._context_name = context_name
        self.definition = definition
        """The tool as the model sees it."""
        self.__doc__ = function.__doc__
        self.__name__ = self.name

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        return self._function(*args, **kwargs)

    def __repr__(self) -> str:
        return f"<tool {self.name}>"

    @property
    def name(self) -> str:
        """Its name for the model."""
        return self.definition.function.name or self.definition.custom.name

    @property
    def is_async(self) -> bool:
        """Whether it runs in the event loop rather than in a thread."""
        return inspect.iscoroutinefunction(self._function)

    @property
    def wants_context(self) -> bool:
        """Whether it has a parameter of type ToolContext."""
        return self._context_name != ""

    def run(self, tool_call: ToolCall, context: ToolContext) -> R:
        """Runs it with the arguments of a call. Raises ToolError if they are not what its type hints say."""
        try:
            values = self._arguments.decode_members(self._parse(tool_call), "")
        except MismatchError as mismatch:
            raise ToolError(f"invalid arguments: {mismatch}") from mismatch
        if self._context_name:
            values[self._context_name] = context
        function: Callable[..., R] = self._function
        return function(**values)

    def _parse(self, tool_call: ToolCall) -> object:
        if tool_call.HasField("text"):
            # A custom tool has one parameter, which need not be named as its argument is on the wire.
            return {self._arguments.members[0].name: tool_call.text}
        try:
            values: object = json.loads(tool_call.arguments_json or "{}")
        except ValueError as error:
            raise MismatchError("", f"not valid JSON: {error}") from error
        if self.definition.HasField("custom") and isinstance(values, dict):
            return {self._arguments.members[0].name: values.get(_CUSTOM_ARGUMENT)}
        return values


AnyTool = Tool[..., Any] | Callable[..., Any] | ToolDefinition
"""A tool in a call: a decorated or plain function, or a definition whose calls come back to the caller."""


@overload
def tool(function: Callable[P, R], /) -> Tool[P, R]: ...


@overload
def tool(
    *,
    name: str | None = None,
    description: str | None = None,
    strict: bool = False,
    hide_errors: bool | None = None,
) -> Callable[[Callable[P, R]], Tool[P, R]]: ...


def tool(
    function: Callable[P, R] | None = None,
    /,
    *,
    name: str | None = None,
    description: str | None = None,
    strict: bool = False,
    hide_errors: bool | None = None,
) -> Tool[P, R] | Callable[[Callable[P, R]], Tool[P, R]]:
    """Makes a function a tool, as `@tool` or `@tool(...)`.

    Its type hints become the JSON Schema of the arguments, its docstring the description, and the
    docstring's `Args:` section or `Annotated[..., "description"]` those of the parameters. A parameter
    with a default is optional. An `async` function runs in the event loop, any other one in a thread.

    Args:
        function: The function.
        name: Name for the model, by default that of the function.
        description: Description for the model, by default that of the docstring.
        strict: Whether the provider is asked to guarantee that arguments match the schema.
        hide_errors: Whether the model gets "the tool failed" instead of the text of an exception, unless
            it is a ToolError. None for what the client says.
    """

    def decorate(function: Callable[P, R]) -> Tool[P, R]:
        docstring = docstring_of(function)
        arguments, context_name = _parameters(function, docstring)
        definition = FunctionTool(
            name=name or function.__name__,
            description=docstring.description if description is None else description,
            parameters_json=json.dumps(root_schema(arguments), ensure_ascii=False),
            strict=strict,
        )
        return Tool(function, ToolDefinition(function=definition), arguments, context_name, hide_errors)

    return decorate if function is None else decorate(function)


def custom_tool(
    *,
    name: str | None = None,
    description: str | None = None,
    grammar: Grammar | None = None,
    hide_errors: bool | None = None,
) -> Callable[[Callable[P, R]], Tool[P, R]]:
    """Makes a function with one `str` parameter a tool whose input is free text instead of JSON.

    Args:
        name: Name for the model, by default that of the function.
        description: Description for the model, by default that of the docstring.
        grammar: What the text must match; any text by default.
        hide_errors: As for `tool`.
    """

    def decorate(function: Callable[P, R]) -> Tool[P, R]:
        docstring = docstring_of(function)
        arguments, context_name = _parameters(function, docstring)
        if len(arguments.members) != 1:
            raise TypeError(f"{function.__qualname__}: a custom tool has one parameter, for its text")
        definition = CustomTool(
            name=name or function.__name__,
            description=docstring.description if description is None else description,
            grammar=grammar,
        )
        return Tool(function, ToolDefinition(custom=definition), arguments, context_name, hide_errors)

    return decorate


@dataclasses.dataclass(frozen=True)
class ToolSet:
    """The tools of one call."""

    definitions: Sequence[ToolDefinition]
    executable: Mapping[str, Tool[..., Any]]
    """Tools that this process executes, by name."""
    passive_names: Sequence[str]
    """Names of tools whose calls come back to the caller."""

    @property
    def wants_context(self) -> bool:
        """Whether any of them has a parameter of type ToolContext."""
        return any(entry.wants_context for entry in self.executable.values())


def tool_set(tools: Iterable[AnyTool]) -> ToolSet:
    """Sorts the tools of a call. A plain function becomes a tool as with `@tool`."""
    definitions: list[ToolDefinition] = []
    executable: dict[str, Tool[..., Any]] = {}
    passive: list[str] = []
    for entry in tools:
        if isinstance(entry, ToolDefinition):
            definitions.append(entry)
            passive.extend(filter(None, [entry.function.name or entry.custom.name]))
            continue
        if not callable(entry):
            raise TypeError(f"tools: expected a function or a Tool, found {type(entry).__name__}")
        made: Tool[..., Any] = entry if isinstance(entry, Tool) else tool(entry)
        definitions.append(made.definition)
        executable[made.name] = made
    seen: set[str] = set()
    for name in (entry.function.name or entry.custom.name for entry in definitions):
        if name in seen:
            raise ValueError(f"tools: two tools are named {name!r}")
        if name:  # A hosted tool has none.
            seen.add(name)
    return ToolSet(definitions, executable, passive)


def _parameters(function: Callable[..., Any], docstring: Docstring) -> tuple[ObjectShape, str]:
    """The arguments that the model writes, and the name of the parameter for the context."""
    if not inspect.isroutine(function):
        raise TypeError(f"a tool is a function or a method, found {type(function).__name__}")
    hints = hints_of(function)
    members: list[Field] = []
    context_name = ""
    for name, parameter in inspect.signature(function).parameters.items():
        if hints.get(name) is ToolContext:
            context_name = name
        else:
            members.append(_member(function, parameter, hints, docstring))
    arguments = ObjectShape(function.__name__, dict)
    arguments.members = members
    return arguments, context_name


def _member(
    function: Callable[..., Any], parameter: inspect.Parameter, hints: Mapping[str, Any], docstring: Docstring
) -> Field:
    name = parameter.name
    if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
        raise TypeError(f"{function.__qualname__}: a tool cannot have the parameter {parameter}")
    if name not in hints:
        raise TypeError(f"{function.__qualname__}: the parameter {name} has no type hint")
    try:
        shape = shape_of(hints[name])
    except TypeError as error:
        raise TypeError(f"{function.__qualname__}: {name}: {error}") from error
    return Field(
        name,
        shape,
        required=parameter.default is parameter.empty,
        description=description_in(hints[name]) or docstring.parameters.get(name, ""),
        default=parameter.default,
    )
