"""The requests about stored conversations: shared by both clients."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from outrigger_client.messages import MessageDict, message_from
from outrigger_client.v1.message_pb2 import Message
from outrigger_client.v1.thread_service_pb2 import AppendMessagesRequest, CreateThreadRequest


def create_request(
    messages: Sequence[Message | MessageDict], labels: Mapping[str, str]
) -> CreateThreadRequest:
    """The request that creates a thread. Raises TypeError or ValueError for what is not a message."""
    return CreateThreadRequest(messages=_messages(messages), metadata=labels)


def append_request(thread_id: str, messages: Sequence[Message | MessageDict]) -> AppendMessagesRequest:
    """The request that appends messages. Raises TypeError or ValueError for what is not a message."""
    return AppendMessagesRequest(thread_id=thread_id, messages=_messages(messages))


def _messages(messages: Sequence[Message | MessageDict]) -> list[Message]:
    return [message_from(message, f"messages[{index}]") for index, message in enumerate(messages)]
