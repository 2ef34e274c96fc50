"""Python values as the content of a message."""

from __future__ import annotations

import dataclasses
import datetime
import enum
import json
import uuid
from collections.abc import Set
from typing import Any

from outrigger_client.v1.message_pb2 import ContentPart


def content_of(value: object) -> list[ContentPart]:
    """The parts for a value: a text and parts stay what they are, anything else becomes JSON text."""
    if isinstance(value, str):
        return [ContentPart(text=value)]
    if isinstance(value, ContentPart):
        return [value]
    if isinstance(value, (list, tuple)) and value and all(isinstance(part, ContentPart) for part in value):
        return list(value)
    return [ContentPart(text=json_of(value))]


def json_of(value: object) -> str:
    """Compact JSON text of a value. Dataclasses, pydantic models, enums, dates and sets are written, too."""
    try:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False, default=_plain)
    except RecursionError:
        raise ValueError("the value is nested too deeply for JSON") from None


def _plain(value: Any) -> object:
    """What stands in JSON for a value that JSON does not have."""
    if callable(getattr(value, "model_dump", None)):
        return value.model_dump(mode="json")
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        # One level only: json calls back for the members.
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    if isinstance(value, enum.Enum):
        return value.value
    if isinstance(value, (datetime.date, datetime.time)):
        return value.isoformat()
    if isinstance(value, uuid.UUID):
        return str(value)
    if isinstance(value, Set):
        return list(value)
    raise TypeError(f"{type(value).__name__} cannot be written as JSON")
