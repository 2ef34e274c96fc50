"""Functions that make messages and read answers."""

from __future__ import annotations

import mimetypes
from collections.abc import Iterable, Sequence
from os import PathLike
from pathlib import Path

from outrigger.v1.message_pb2 import (
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
from outrigger.v1.response_pb2 import Response
from outrigger.values import content_of


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


def tool_result_message(tool_call: ToolCall | str, value: object, *, is_error: bool = False) -> Message:
    """Answers a tool call, given as the call or its id: a text, parts, or any value, which is sent as JSON."""
    call_id = tool_call if isinstance(tool_call, str) else tool_call.id
    result = ToolResult(tool_call_id=call_id, content=content_of(value), is_error=is_error)
    return Message(role=ROLE_TOOL, content=[ContentPart(tool_result=result)])


def text_part(text: str) -> ContentPart:
    """A text."""
    return ContentPart(text=text)


def image_part(source: str | bytes | PathLike[str], *, media_type: str = "", detail: str = "") -> ContentPart:
    """An image: its URL, its bytes, or a file of this machine as a `pathlib.Path`, which is read here."""
    if isinstance(source, str):
        return ContentPart(image=Image(url=source, media_type=media_type, detail=detail))
    data, known = _bytes_of(source)
    return ContentPart(image=Image(data=data, media_type=media_type or known, detail=detail))


def audio_part(source: str | bytes | PathLike[str], *, media_type: str = "") -> ContentPart:
    """An audio clip: its URL, a file as a `pathlib.Path`, or its bytes, which need a type such as `audio/wav`."""
    if isinstance(source, str):
        return ContentPart(audio=Audio(url=source, media_type=media_type))
    data, known = _bytes_of(source)
    return ContentPart(audio=Audio(data=data, media_type=media_type or known))


def document_part(
    source: str | bytes | PathLike[str], *, media_type: str = "", file_name: str = ""
) -> ContentPart:
    """A document: its URL, a file as a `pathlib.Path`, or its bytes, by default a PDF."""
    if isinstance(source, str):
        return ContentPart(document=Document(url=source, media_type=media_type, file_name=file_name))
    data, known = _bytes_of(source)
    name = file_name if file_name or isinstance(source, bytes) else Path(source).name
    return ContentPart(document=Document(data=data, media_type=media_type or known, file_name=name))


def _bytes_of(source: bytes | PathLike[str]) -> tuple[bytes, str]:
    """The bytes of a source, and the media type that the name of a file tells."""
    if isinstance(source, bytes):
        return source, ""
    return Path(source).read_bytes(), mimetypes.guess_type(source)[0] or ""


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
