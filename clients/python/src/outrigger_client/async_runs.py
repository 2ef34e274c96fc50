"""Runs of the asynchronous client."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from types import TracebackType
from typing import TYPE_CHECKING

from outrigger_client.async_calls import AsyncCalls, AsyncStreamCall
from outrigger_client.calls import cancelled_error, read_twice_error
from outrigger_client.errors import OutriggerError
from outrigger_client.run_requests import (
    RunArguments,
    RunPosition,
    create_request,
    is_under_way,
    list_request,
    resume_delay,
    submit_request,
)
from outrigger_client.v1.message_pb2 import ToolResult
from outrigger_client.v1.run_pb2 import Run, RunEvent, RunStatus, ToolApproval
from outrigger_client.v1.run_service_pb2 import CancelRunRequest, DeleteRunRequest, GetRunRequest

if TYPE_CHECKING:
    from typing_extensions import Self, Unpack

    from outrigger_client.v1.run_service_pb2_grpc import RunServiceAsyncStub


class AsyncRunEvents:
    """The events of a run: an asynchronous iterator and context manager.

    It resumes automatically when the connection is lost, after an outage of any length, unless the run is being
    created in the foreground: then leaving the events cancels the run. If there is no sidecar at the
    beginning, it raises at once. A run that failed ends with its `run` event, and then raises.
    """

    def __init__(
        self,
        call: AsyncStreamCall[RunEvent],
        resume: Callable[[RunPosition], AsyncStreamCall[RunEvent]],
        position: RunPosition,
    ) -> None:
        self._call = call
        self._resume = resume
        self._position = position
        self._is_read = False
        self._is_cancelled = False

    def __aiter__(self) -> AsyncIterator[RunEvent]:
        if self._is_read:
            raise read_twice_error()
        self._is_read = True
        return self._events()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.cancel()

    def cancel(self) -> None:
        """Ends the reading."""
        self._is_cancelled = True
        self._call.cancel()

    async def text(self) -> AsyncIterator[str]:
        """The text of all steps as it arrives."""
        async for event in self:
            if event.model_event.text_delta.delta:
                yield event.model_event.text_delta.delta

    async def _events(self) -> AsyncIterator[RunEvent]:
        try:
            while True:
                lost: OutriggerError | None = None
                try:
                    async for event in self._call:
                        self._position.take(event)
                        yield event
                except OutriggerError as error:
                    lost = error
                if self._is_cancelled and lost is not None:
                    raise lost
                if not self._position.must_resume(lost, is_unsent=self._call.is_unsent):
                    return
                await asyncio.sleep(resume_delay(lost))
                self._call = self._resume(self._position)
                if self._is_cancelled:
                    self._call.cancel()
        except asyncio.CancelledError:
            if not self._is_cancelled:
                raise  # The task was cancelled, not the reading.
            raise cancelled_error() from None
        finally:
            self._call.cancel()


class AsyncRuns:
    """The run engine: generations that are stored, and that can continue in the background."""

    def __init__(self, calls: AsyncCalls, stub: RunServiceAsyncStub) -> None:
        self._calls = calls
        self._stub = stub

    async def create(
        self, *, model: str, timeout: float | None = None, **arguments: Unpack[RunArguments]
    ) -> Run:
        """Creates a run.

        Returns a background run at once, any other when it has ended or requires action. A run that failed
        does not raise: its `status` and `error` say so.
        """
        request = create_request(model, **arguments)
        return await self._calls.unary("CreateRun", self._stub.CreateRun, request, timeout)

    def create_stream(
        self, *, model: str, timeout: float | None = None, **arguments: Unpack[RunArguments]
    ) -> AsyncRunEvents:
        """Creates a run and returns its events."""
        request = create_request(model, **arguments)
        call = self._calls.stream("CreateRunStream", self._stub.CreateRunStream, lambda: request, timeout)
        return AsyncRunEvents(call, self._open, RunPosition("", None))

    def events(self, run_id: str, *, after: int | None = None) -> AsyncRunEvents:
        """The events of a run, past ones first, until it has ended or requires action.

        Args:
            run_id: Id of the run.
            after: Only the events after this number.
        """
        position = RunPosition(run_id, after)
        return AsyncRunEvents(self._open(position), self._open, position)

    async def get(self, run_id: str, *, timeout: float | None = None) -> Run:
        """A run with its steps. Raises NotFoundError if there is none."""
        return await self._calls.unary("GetRun", self._stub.GetRun, GetRunRequest(run_id=run_id), timeout)

    async def wait(self, run_id: str) -> Run:
        """Waits until a run has ended or requires action, and returns it with its steps."""
        while is_under_way(run := await self.get(run_id)):
            position = RunPosition(run_id, run.last_sequence)
            try:
                async for _ in AsyncRunEvents(self._open(position), self._open, position):
                    pass
            except OutriggerError:
                # A failure of the run is in what `get` returns.
                if not position.is_over:
                    raise
        return run

    async def submit_tool_results(
        self,
        run_id: str,
        results: Sequence[ToolResult] = (),
        *,
        approvals: Sequence[ToolApproval] = (),
        timeout: float | None = None,
    ) -> Run:
        """Continues a run that requires action. Returns as `create` does.

        Args:
            run_id: Id of the run.
            results: A result for each of its `required_results`.
            approvals: A decision on each of its `required_approvals`.
            timeout: Seconds for all of it.
        """
        request = submit_request(run_id, results, approvals)
        return await self._calls.unary("SubmitToolResults", self._stub.SubmitToolResults, request, timeout)

    async def cancel(self, run_id: str, *, timeout: float | None = None) -> Run:
        """Cancels a run. Has no effect on one that has ended."""
        return await self._calls.unary(
            "CancelRun", self._stub.CancelRun, CancelRunRequest(run_id=run_id), timeout
        )

    async def delete(self, run_id: str, *, timeout: float | None = None) -> None:
        """Deletes a run with its steps and events. One in progress is cancelled first."""
        await self._calls.unary("DeleteRun", self._stub.DeleteRun, DeleteRunRequest(run_id=run_id), timeout)

    async def list(
        self,
        *,
        thread_id: str = "",
        statuses: Sequence[RunStatus.ValueType] = (),
        page_size: int = 0,
        timeout: float | None = None,
    ) -> AsyncIterator[Run]:
        """The caller's runs, newest first, without their steps. Fetches page after page.

        Args:
            thread_id: Only runs of this thread.
            statuses: Only runs in one of these states.
            page_size: Runs that are fetched at once, up to 100. Default 20.
            timeout: Seconds for each page.
        """
        token = ""
        while True:
            request = list_request(thread_id, statuses, page_size, token)
            page = await self._calls.unary("ListRuns", self._stub.ListRuns, request, timeout)
            for run in page.runs:
                yield run
            token = page.next_page_token
            if not token:
                return

    def _open(self, position: RunPosition) -> AsyncStreamCall[RunEvent]:
        request = position.request
        return self._calls.stream("StreamRun", self._stub.StreamRun, lambda: request, None)
