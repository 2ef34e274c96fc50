"""Functions that make messages and read answers."""

from __future__ import annotations

import mimetypes
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Literal, TypedDict

from outrigger_client.v1.message_pb2 import (
    ROLE_ASSISTANT,
    ROLE_DEVELOPER,
    ROLE_SYSTEM,
    ROLE_TOOL,
    ROLE_USER,
    Audio,
    ContentPart,
    Document,
    Image,
    Message,
    Role,
    ToolCall,
    ToolResult,
)
from outrigger_client.v1.response_pb2 import Response
from outrigger_client.values import content_of

if TYPE_CHECKING:
    from typing_extensions import Required


class MessageDict(TypedDict, total=False):
    """A message as a dictionary: `{"role": "user", "content": "Hello"}`."""

    role: Required[Literal["user", "system", "developer", "assistant"]]
    """Who wrote it. Results of tools are made by `tool_result_message`."""
    content: Required[str | Sequence[ContentPart]]
    """A text, or parts such as `text_part(...)` and `image_part(...)`."""
    name: str
    """Name of the author."""


_ROLES = {
    "user": ROLE_USER,
    "system": ROLE_SYSTEM,
    "developer": ROLE_DEVELOPER,
    "assistant": ROLE_ASSISTANT,
}


def message_from(value: Message | MessageDict, field: str) -> Message:
    """A message, also from a dictionary. Raises TypeError or ValueError that names the field."""
    if isinstance(value, Message):
        return value
    if not isinstance(value, Mapping):
        raise TypeError(f"{field}: expected a Message or a dict, found {type(value).__name__}")
    unknown = value.keys() - MessageDict.__annotations__.keys()
    if unknown:
        known = ", ".join(MessageDict.__annotations__)
        raise TypeError(f"{field}: unexpected {', '.join(sorted(unknown))}, expected some of {known}")
    role = value.get("role")
    if role not in _ROLES:
        raise ValueError(f"{field}.role: expected {', '.join(_ROLES)}, found {role!r}")
    content = value.get("content")
    is_parts = isinstance(content, Sequence) and all(isinstance(part, ContentPart) for part in content)
    if content is None or not (isinstance(content, str) or is_parts):
        raise TypeError(
            f"{field}.content: expected a text or a list of ContentPart, found {type(content).__name__}"
        )
    message = _message(_ROLES[role], content)
    message.name = value.get("name", "")
    return message


def user_message(content: str | Iterable[ContentPart]) -> Message:
    """A message of the user: a text, or parts such as `text_part(...)` and `image_part(...)`."""
    return _message(ROLE_USER, content)


def system_message(content: str | Iterable[ContentPart]) -> Message:
    """Instructions that shape the whole conversation."""
    return _message(ROLE_SYSTEM, content)


def developer_message(content: str | Iterable[ContentPart]) -> Message:
    """Instructions of the application rather than of the user."""
    return _message(ROLE_DEVELOPER, content)


def assistant_message(content: str | Iterable[ContentPart]) -> Message:
    """A message of the model. Send answers back as they came instead, in `messages` of a result."""
    return _message(ROLE_ASSISTANT, content)


def tool_result_message(tool_call: ToolCall | str, value: object, *, failed: bool = False) -> Message:
    """Answers a tool call, given as the call or its id: a text, parts, or any value, which is sent as JSON."""
    call_id = tool_call if isinstance(tool_call, str) else tool_call.id
    result = ToolResult(tool_call_id=call_id, content=content_of(value), failed=failed)
    return Message(role=ROLE_TOOL, content=[ContentPart(tool_result=result)])


def text_part(text: str) -> ContentPart:
    """A text."""
    return ContentPart(text=text)


def image_part(source: str | bytes | PurePath, *, media_type: str = "", detail: str = "") -> ContentPart:
    """An image: its URL, its bytes, or a file of this machine."""
    if isinstance(source, PurePath):
        source, media_type = _read(source, media_type)
    if isinstance(source, bytes):
        return ContentPart(image=Image(data=source, media_type=media_type, detail=detail))
    return ContentPart(image=Image(url=source, media_type=media_type, detail=detail))


def audio_part(source: str | bytes | PurePath, *, media_type: str = "") -> ContentPart:
    """An audio clip: its URL, a file of this machine, or its bytes, which need a type such as `audio/wav`."""
    if isinstance(source, PurePath):
        source, media_type = _read(source, media_type)
    if isinstance(source, bytes):
        return ContentPart(audio=Audio(data=source, media_type=media_type))
    return ContentPart(audio=Audio(url=source, media_type=media_type))


def document_part(
    source: str | bytes | PurePath, *, media_type: str = "", file_name: str = ""
) -> ContentPart:
    """A document: its URL, its bytes, by default a PDF, or a file of this machine."""
    if isinstance(source, PurePath):
        file_name = file_name or source.name
        source, media_type = _read(source, media_type)
    if isinstance(source, bytes):
        return ContentPart(document=Document(data=source, media_type=media_type, file_name=file_name))
    return ContentPart(document=Document(url=source, media_type=media_type, file_name=file_name))


def _read(path: PurePath, media_type: str) -> tuple[bytes, str]:
    """The content of a file, and its type: the given one, else that of its extension."""
    return Path(path).read_bytes(), media_type or mimetypes.guess_type(path.name)[0] or ""


def text_of(answer: Response | Message) -> str:
    """The text of an answer: its text parts, joined."""
    return "".join(part.text for part in _message_of(answer).content)


def reasoning_of(answer: Response | Message) -> str:
    """The reasoning of an answer, as far as the provider shows it."""
    return "".join(part.reasoning.text for part in _message_of(answer).content)


def tool_calls_of(answer: Response | Message) -> Sequence[ToolCall]:
    """The tool calls of an answer, in order."""
    return [part.tool_call for part in _message_of(answer).content if part.HasField("tool_call")]


def _message(role: Role.ValueType, content: str | Iterable[ContentPart]) -> Message:
    parts = [ContentPart(text=content)] if isinstance(content, str) else content
    return Message(role=role, content=parts)


def _message_of(answer: Response | Message) -> Message:
    return answer.message if isinstance(answer, Response) else answer
