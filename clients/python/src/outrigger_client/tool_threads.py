"""Threads for tools."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import inspect
import threading
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import Future
from queue import SimpleQueue

from outrigger_client.tool_loop import Job, ToolLoop
from outrigger_client.v1.generation_service_pb2 import RunToolsRequest, RunToolsResponse, ToolOutput

_Task = tuple["Future[object]", Callable[[], object]]


class DaemonThreads:
    """Runs functions in a limited number of threads.

    Unlike those of ThreadPoolExecutor they do not keep the process alive: a tool that never returns
    must not either.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._count = 0
        self._tasks: SimpleQueue[_Task | None] = SimpleQueue()

    def submit(self, function: Callable[[], object]) -> Future[object]:
        """Runs a function with the caller's context variables, as soon as a thread is free."""
        future: Future[object] = Future()
        context = contextvars.copy_context()
        self._tasks.put((future, lambda: context.run(function)))
        if self._count < self._limit:
            self._count += 1
            threading.Thread(target=self._work, name="outrigger-tool", daemon=True).start()
        return future

    def close(self) -> None:
        """Ends each thread once it has nothing to do."""
        for _ in range(self._count):
            self._tasks.put(None)

    def _work(self) -> None:
        while (task := self._tasks.get()) is not None:
            future, function = task
            if future.set_running_or_notify_cancel():
                try:
                    future.set_result(function())
                except Exception as error:
                    future.set_exception(error)
                except BaseException as error:
                    # As it is, it would end the event loop that waits for the future.
                    future.set_exception(RuntimeError(f"the function ended its thread with {error!r}"))


class ToolThreads:
    """Runs the tools of one loop in threads, and sends their outputs."""

    def __init__(self, loop: ToolLoop, limit: int) -> None:
        self._loop = loop
        self._threads = DaemonThreads(limit)
        self._outgoing: SimpleQueue[RunToolsRequest | None] = SimpleQueue()
        self._running: dict[Future[object], _Run] = {}
        self._is_closed = False
        # A stream may be cancelled in another thread than the one that reads it.
        self._lock = threading.Lock()

    def requests(self) -> Iterator[RunToolsRequest]:
        """What is sent to the sidecar, until the loop is closed. A second call begins again."""
        self._outgoing.put(None)
        self._outgoing = SimpleQueue()
        self._outgoing.put(RunToolsRequest(start=self._loop.start))
        return iter(self._outgoing.get, None)

    def receive(self, message: RunToolsResponse) -> None:
        """Starts the work that a message of the sidecar requests."""
        job = self._loop.receive(message)
        if job is None:
            return
        with self._lock:
            if self._is_closed:
                return
            run = _Run(job)
            future = self._threads.submit(run)
            self._running[future] = run
        future.add_done_callback(self._send)

    def close(self) -> None:
        """Ends the loop: tools that still run are cancelled, and what they give is not sent."""
        with self._lock:
            if self._is_closed:
                return
            self._is_closed = True
            running = list(self._running.items())
        for future, run in running:
            future.cancel()
            run.cancel()
        self._threads.close()
        self._outgoing.put(None)

    def _send(self, future: Future[object]) -> None:
        self._running.pop(future, None)
        if not future.cancelled():
            output = future.result()
            if isinstance(output, ToolOutput):
                self._outgoing.put(RunToolsRequest(output=output))


class _Run:
    """One run of a job in a thread. An async tool gets a separate event loop."""

    def __init__(self, job: Job) -> None:
        self._job = job
        self._cancel_task: Callable[[], object] | None = None

    def __call__(self) -> ToolOutput:
        job = self._job
        try:
            job.context.check()
            value = job.run()
            if inspect.iscoroutine(value):
                value = asyncio.run(self._await(value))
            # Whichever clock is ahead, what came after the time limit is no result.
            job.context.check()
            return job.output(value)
        except BaseException as error:
            return job.failure(error)

    def cancel(self) -> None:
        """Cancels the run as far as it can be: a function has to look at its context."""
        self._job.context.cancel()
        cancel_task = self._cancel_task
        if cancel_task is not None:
            # An event loop that is closed has just ended.
            with contextlib.suppress(RuntimeError):
                cancel_task()

    async def _await(self, coroutine: Coroutine[object, object, object]) -> object:
        loop, task = asyncio.get_running_loop(), asyncio.current_task()
        if task is not None:
            self._cancel_task = lambda: loop.call_soon_threadsafe(task.cancel)
        if self._job.context.cancelled:  # Before there was a task to cancel.
            coroutine.close()
            raise asyncio.CancelledError
        return await asyncio.wait_for(coroutine, self._job.context.remaining)
