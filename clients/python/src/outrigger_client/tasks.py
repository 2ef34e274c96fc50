"""Tools in the event loop."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncIterator

from outrigger_client.tool_loop import Job, ToolLoop
from outrigger_client.tool_threads import DaemonThreads
from outrigger_client.v1.generation_service_pb2 import RunToolsRequest, RunToolsResponse, ToolOutput


class _Requests(AsyncIterator[RunToolsRequest]):
    """A queue that is read as an iterator. None ends it.

    An asynchronous generator could not be closed while gRPC waits for its next value.
    """

    def __init__(self) -> None:
        self._queue: asyncio.Queue[RunToolsRequest | None] = asyncio.Queue()

    def put(self, request: RunToolsRequest | None) -> None:
        self._queue.put_nowait(request)

    async def __anext__(self) -> RunToolsRequest:
        request = await self._queue.get()
        if request is None:
            raise StopAsyncIteration
        return request


class ToolTasks:
    """Runs the tools of one loop, async ones as tasks and others in threads, and sends their outputs."""

    def __init__(self, loop: ToolLoop, limit: int) -> None:
        self._loop = loop
        self._slots = asyncio.Semaphore(limit)
        self._threads = DaemonThreads(limit)
        self._outgoing = _Requests()
        self._running: dict[asyncio.Task[None], Job] = {}
        self._is_closed = False

    def requests(self) -> AsyncIterator[RunToolsRequest]:
        """What is sent to the sidecar, until the loop is closed. A second call begins again."""
        self._outgoing.put(None)
        self._outgoing = _Requests()
        self._outgoing.put(RunToolsRequest(start=self._loop.start))
        return self._outgoing

    def receive(self, message: RunToolsResponse) -> None:
        """Starts the work that a message of the sidecar requests."""
        job = self._loop.receive(message)
        if job is not None:
            task = asyncio.create_task(self._answer(job))
            self._running[task] = job
            task.add_done_callback(lambda task: self._running.pop(task, None))

    def close(self) -> None:
        """Ends the loop: tools that still run are cancelled, and what they give is not sent."""
        if self._is_closed:
            return
        self._is_closed = True
        for task, job in list(self._running.items()):
            job.context.cancel()
            task.cancel()
        self._threads.close()
        self._outgoing.put(None)

    async def _answer(self, job: Job) -> None:
        output = await self._output_of(job)
        self._outgoing.put(RunToolsRequest(output=output))

    async def _output_of(self, job: Job) -> ToolOutput:
        try:
            async with self._slots:
                value = await asyncio.wait_for(self._run(job), job.context.remaining)
            # Whichever clock is ahead, what came after the time limit is no result.
            job.context.check()
            return job.output(value)
        except asyncio.CancelledError as error:
            if self._is_closed:
                raise
            return job.failure(error)
        except Exception as error:
            return job.failure(error)

    async def _run(self, job: Job) -> object:
        value = job.run() if job.is_async else await asyncio.wrap_future(self._threads.submit(job.run))
        return await value if inspect.isawaitable(value) else value
