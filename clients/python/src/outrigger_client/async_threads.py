"""Stored conversations of the asynchronous client."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import TYPE_CHECKING

from outrigger_client.async_calls import AsyncCalls
from outrigger_client.messages import MessageDict
from outrigger_client.thread_requests import append_request, create_request
from outrigger_client.v1.message_pb2 import Message
from outrigger_client.v1.thread_pb2 import Thread, ThreadMessage
from outrigger_client.v1.thread_service_pb2 import (
    DeleteMessageRequest,
    DeleteThreadRequest,
    GetMessageRequest,
    GetThreadRequest,
    ListMessagesRequest,
    UpdateThreadRequest,
)

if TYPE_CHECKING:
    from outrigger_client.v1.thread_service_pb2_grpc import ThreadServiceAsyncStub


class AsyncThreads:
    """The stored conversations. A run with the id of a thread reads its messages and appends its own."""

    def __init__(self, calls: AsyncCalls, stub: ThreadServiceAsyncStub) -> None:
        self._calls = calls
        self._stub = stub

    async def create(
        self,
        *,
        messages: Sequence[Message | MessageDict] = (),
        labels: Mapping[str, str] | None = None,
        timeout: float | None = None,
    ) -> Thread:
        """Creates a thread.

        Args:
            messages: The first messages, oldest first, of a conversation that began elsewhere. At most 100.
            labels: Stored with the thread: at most 16.
            timeout: Seconds for all of it.
        """
        request = create_request(messages, labels or {})
        return await self._calls.unary("CreateThread", self._stub.CreateThread, request, timeout)

    async def get(self, thread_id: str, *, timeout: float | None = None) -> Thread:
        """A thread without its messages. Raises NotFoundError if there is none."""
        request = GetThreadRequest(thread_id=thread_id)
        return await self._calls.unary("GetThread", self._stub.GetThread, request, timeout)

    async def update(
        self, thread_id: str, *, labels: Mapping[str, str], timeout: float | None = None
    ) -> Thread:
        """Replaces all labels of a thread."""
        request = UpdateThreadRequest(thread_id=thread_id, metadata=labels)
        return await self._calls.unary("UpdateThread", self._stub.UpdateThread, request, timeout)

    async def delete(self, thread_id: str, *, timeout: float | None = None) -> None:
        """Deletes a thread with its messages. Its runs can still be read, and cannot be continued."""
        request = DeleteThreadRequest(thread_id=thread_id)
        await self._calls.unary("DeleteThread", self._stub.DeleteThread, request, timeout)

    async def append_messages(
        self, thread_id: str, messages: Sequence[Message | MessageDict], *, timeout: float | None = None
    ) -> Sequence[ThreadMessage]:
        """Appends from 1 to 100 messages without calling a model, and returns them with their ids.

        Waits while a run of the thread is in progress.
        """
        request = append_request(thread_id, messages)
        answer = await self._calls.unary("AppendMessages", self._stub.AppendMessages, request, timeout)
        return answer.messages

    async def list_messages(
        self,
        thread_id: str,
        *,
        newest_first: bool = False,
        page_size: int = 0,
        timeout: float | None = None,
    ) -> AsyncIterator[ThreadMessage]:
        """The messages of a thread. Fetches page after page.

        Args:
            thread_id: Id of the thread.
            newest_first: Whether the newest message comes first. By default the oldest does.
            page_size: Messages that are fetched at once, up to 100. Default 20.
            timeout: Seconds for each page.
        """
        token = ""
        while True:
            request = ListMessagesRequest(
                thread_id=thread_id, page_size=page_size, page_token=token, newest_first=newest_first
            )
            page = await self._calls.unary("ListMessages", self._stub.ListMessages, request, timeout)
            for message in page.messages:
                yield message
            token = page.next_page_token
            if not token:
                return

    async def get_message(self, message_id: str, *, timeout: float | None = None) -> ThreadMessage:
        """A message. Raises NotFoundError if there is none."""
        request = GetMessageRequest(message_id=message_id)
        return await self._calls.unary("GetMessage", self._stub.GetMessage, request, timeout)

    async def delete_message(self, thread_id: str, message_id: str, *, timeout: float | None = None) -> None:
        """Deletes a message from a thread. Forks of the thread keep it."""
        request = DeleteMessageRequest(thread_id=thread_id, message_id=message_id)
        await self._calls.unary("DeleteMessage", self._stub.DeleteMessage, request, timeout)
