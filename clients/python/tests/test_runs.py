"""Runs and the catalog with both clients, and what calls tell beside their answers."""

from __future__ import annotations

import asyncio
import time
import unittest
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any
from unittest import mock

import grpc
from google.protobuf.duration_pb2 import Duration

from outrigger_client import (
    AbortError,
    AsyncClient,
    CallInfo,
    Capability,
    Client,
    InvalidRequestError,
    NetworkError,
    NotFoundError,
    Request,
    Run,
    RunEvent,
    RunStatus,
    StreamError,
    ToolDefinition,
    ToolResult,
    text_part,
    user_message,
)
from outrigger_client.status_details_pb2 import Status
from outrigger_client.v1.error_pb2 import ErrorKind, InferenceError
from outrigger_client.v1.run_service_pb2_grpc import RunServiceServicer, add_RunServiceServicer_to_server
from outrigger_client.v1.tool_pb2 import FunctionTool
from tests.test_reconnect import free_address

TIMEOUT = 30
# Kept, since tests replace it.
CLOCK = time.monotonic
LOST = InferenceError(kind=ErrorKind.ERROR_KIND_NETWORK, retryable=True)
DRAINING = InferenceError(kind=ErrorKind.ERROR_KIND_SERVER, retryable=True)
BUSY = InferenceError(kind=ErrorKind.ERROR_KIND_RATE_LIMIT, retryable=True, retry_after=Duration(seconds=1))
RESET = InferenceError(message="the stream was reset")
GONE = InferenceError(kind=ErrorKind.ERROR_KIND_NOT_FOUND)
WEATHER = ToolDefinition(
    function=FunctionTool(
        name="get_weather", parameters_json='{"type":"object","properties":{"city":{"type":"string"}}}'
    )
)


def change(sequence: int, status: RunStatus.ValueType) -> RunEvent:
    """An event with the run in a state."""
    return RunEvent(sequence=sequence, run=Run(id="run_1", status=status, background=True))


class LosingEngine(RunServiceServicer):
    """Loses the connection after each pair of events."""

    def __init__(self, last: RunStatus.ValueType) -> None:
        self.last = last
        self.resumed_after: list[int] = []

    def CreateRunStream(self, request: Any, context: Any) -> Iterator[RunEvent]:
        yield change(0, RunStatus.RUN_STATUS_QUEUED)
        yield change(1, RunStatus.RUN_STATUS_IN_PROGRESS)
        context.abort(grpc.StatusCode.UNAVAILABLE, "the connection is lost")

    def StreamRun(self, request: Any, context: Any) -> Iterator[RunEvent]:
        self.resumed_after.append(request.after_sequence)
        if len(self.resumed_after) == 1:
            yield RunEvent(sequence=2)
            return
        yield change(3, self.last)
        if self.last == RunStatus.RUN_STATUS_FAILED:
            context.abort(grpc.StatusCode.UNAVAILABLE, "the provider is away")

    def _unused(self, request: Any, context: Any) -> Any:
        context.abort(grpc.StatusCode.UNIMPLEMENTED, "not played")

    CreateRun = GetRun = SubmitToolResults = CancelRun = _unused
    ListRuns = DeleteRun = _unused


class ScriptedEngine(LosingEngine):
    """Ends each stream of events with the next one of some failures, an hour later; the last one has none."""

    def __init__(self, *failures: InferenceError | None) -> None:
        super().__init__(RunStatus.RUN_STATUS_COMPLETED)
        self.failures = failures
        self.hours = 0
        self.called_at: list[float] = []

    def now(self) -> float:
        """Replaces the clock, on which an hour passes in each stream."""
        return CLOCK() + self.hours * 3600

    def StreamRun(self, request: Any, context: Any) -> Iterator[RunEvent]:
        self.called_at.append(CLOCK())
        failure = self.failures[len(self.called_at) - 1]
        self.hours += 1
        if failure is None:
            yield change(3, self.last)
            return
        if failure is RESET:
            context.abort(grpc.StatusCode.CANCELLED, "the stream was reset")
        status = Status(code=14)
        status.details.add().Pack(failure)
        context.set_trailing_metadata((("grpc-status-details-bin", status.SerializeToString()),))
        context.abort(grpc.StatusCode.UNAVAILABLE, "failed")


@contextmanager
def serve(engine: RunServiceServicer) -> Iterator[str]:
    """Serves a run engine under the address that it gives."""
    server = grpc.server(ThreadPoolExecutor(max_workers=4))
    add_RunServiceServicer_to_server(engine, server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    try:
        yield f"127.0.0.1:{port}"
    finally:
        server.stop(grace=None).wait()


class ResumeTest(unittest.IsolatedAsyncioTestCase):
    """The events of a run whose connection is lost."""

    async def test_events_of_a_background_run_are_resumed(self) -> None:
        engine = LosingEngine(RunStatus.RUN_STATUS_COMPLETED)
        with serve(engine) as address, Client(address) as client:
            seen = [event.sequence for event in client.runs.create_stream(model="m", background=True)]
        self.assertEqual((seen, engine.resumed_after), ([0, 1, 2, 3], [1, 2]))
        engine = LosingEngine(RunStatus.RUN_STATUS_COMPLETED)
        with serve(engine) as address:
            async with AsyncClient(address) as other:
                events = other.runs.create_stream(model="m", background=True)
                seen = [event.sequence async for event in events]
        self.assertEqual((seen, engine.resumed_after), ([0, 1, 2, 3], [1, 2]))

    async def test_the_failure_of_a_run_is_raised_and_not_resumed(self) -> None:
        engine = LosingEngine(RunStatus.RUN_STATUS_FAILED)
        with serve(engine) as address:
            with Client(address) as client, self.assertRaises(StreamError):
                list(client.runs.events("run_1", after=1))
            async with AsyncClient(address) as other:
                with self.assertRaises(StreamError):
                    [event async for event in other.runs.events("run_1", after=2)]
        self.assertEqual(engine.resumed_after, [1, 2, 2])

    async def test_events_are_followed_however_long_nothing_arrives(self) -> None:
        failures = (LOST, DRAINING, RESET, None)
        engine = ScriptedEngine(*failures)
        with mock.patch("time.monotonic", engine.now), serve(engine) as address, Client(address) as client:
            seen = [event.sequence for event in client.runs.events("run_1", after=2)]
        self.assertEqual((seen, len(engine.called_at)), ([3], 4))
        engine = ScriptedEngine(*failures)
        with mock.patch("time.monotonic", engine.now), serve(engine) as address:
            async with AsyncClient(address) as other:
                seen = [event.sequence async for event in other.runs.events("run_1", after=2)]
        self.assertEqual((seen, len(engine.called_at)), ([3], 4))

    async def test_a_busy_sidecar_is_asked_again_when_it_says(self) -> None:
        engine = ScriptedEngine(BUSY, GONE)
        with serve(engine) as address, Client(address) as client, self.assertRaises(NotFoundError):
            list(client.runs.events("run_1"))
        self.assertGreaterEqual(engine.called_at[1] - engine.called_at[0], 1)
        engine = ScriptedEngine(BUSY, GONE)
        with serve(engine) as address:
            async with AsyncClient(address) as other:
                with self.assertRaises(NotFoundError):
                    [event async for event in other.runs.events("run_1")]
        self.assertGreaterEqual(engine.called_at[1] - engine.called_at[0], 1)

    async def test_events_raise_at_once_if_there_is_no_sidecar(self) -> None:
        address = free_address()
        started = CLOCK()
        with Client(address) as client, self.assertRaisesRegex(NetworkError, "is the sidecar running at"):
            list(client.runs.events("run_1"))
        async with AsyncClient(address) as other:
            with self.assertRaisesRegex(NetworkError, "is the sidecar running at"):
                [event async for event in other.runs.events("run_1")]
        self.assertLess(CLOCK() - started, 10)

    async def test_cancelled_events_end_while_the_sidecar_is_away(self) -> None:
        engine = ScriptedEngine(*[LOST] * 1000)
        with serve(engine) as address:
            with Client(address) as client, ThreadPoolExecutor() as threads:
                events = client.runs.events("run_1")
                reading = threads.submit(list, events)
                events.cancel()
                self.assertIsInstance(reading.exception(timeout=TIMEOUT), (AbortError, NetworkError))
            async with AsyncClient(address) as other:
                later = other.runs.events("run_1")
                asyncio.get_running_loop().call_later(0.1, later.cancel)
                with self.assertRaises(AbortError):
                    [event async for event in later]


class SidecarTest(unittest.IsolatedAsyncioTestCase):
    """Calls of a real sidecar with the simulator behind it."""

    async def test_a_run_can_be_cancelled_waited_for_and_deleted(self) -> None:
        slow: Any = {"model": "sim-long:tokens=100000,rate=20", "prompt": "Hi", "background": True}
        with Client() as client:
            run = client.runs.create(**slow)
            client.runs.cancel(run.id)
            self.assertEqual(client.runs.wait(run.id).status, RunStatus.RUN_STATUS_CANCELLED)
            client.runs.delete(run.id)
            with self.assertRaises(NotFoundError):
                client.runs.get(run.id)
        async with AsyncClient() as other:
            run = await other.runs.create(**slow)
            await other.runs.cancel(run.id)
            self.assertEqual((await other.runs.wait(run.id)).status, RunStatus.RUN_STATUS_CANCELLED)
            await other.runs.delete(run.id)

    async def test_the_events_of_a_run_that_failed_end_with_its_failure(self) -> None:
        # The provider closes its connection, so that the failure is one of the network.
        dropped: Any = {
            "model": "sim-text:drop=1,delay_ms=300",
            "prompt": "Hi",
            "background": True,
            "retry": 0,
        }
        with Client() as client:
            run = client.runs.wait(client.runs.create(**dropped).id)
            self.assertEqual(run.status, RunStatus.RUN_STATUS_FAILED)
            seen = []
            with self.assertRaises(NetworkError):
                for event in client.runs.events(run.id):
                    seen.append(event)
            self.assertEqual(seen[-1].run.status, RunStatus.RUN_STATUS_FAILED)
        async with AsyncClient() as other:
            run = await other.runs.wait((await other.runs.create(**dropped)).id)
            self.assertEqual(run.status, RunStatus.RUN_STATUS_FAILED)
            with self.assertRaises(NetworkError):
                [event async for event in other.runs.events(run.id)]

    async def test_a_run_that_requires_action_is_continued_with_results(self) -> None:
        arguments: Any = {"model": "sim-tools", "prompt": "Weather in Oslo?", "tools": [WEATHER]}
        with Client() as client:
            run = client.runs.create(**arguments)
            self.assertEqual(run.status, RunStatus.RUN_STATUS_REQUIRES_ACTION)
            run = client.runs.submit_tool_results(run.id, self.results(run))
            self.assertEqual(run.status, RunStatus.RUN_STATUS_COMPLETED)
        async with AsyncClient() as other:
            run = await other.runs.create(**arguments)
            run = await other.runs.submit_tool_results(run.id, self.results(run))
            self.assertEqual(run.status, RunStatus.RUN_STATUS_COMPLETED)

    async def test_runs_are_listed_page_after_page(self) -> None:
        with Client() as client:
            first = client.runs.create(model="sim-text", prompt="One")
            client.runs.create(model="sim-text", prompt="Two", previous_run_id=first.id)
            listed = list(client.runs.list(thread_id=first.thread_id, page_size=1))
        async with AsyncClient() as other:
            runs = other.runs.list(thread_id=first.thread_id, page_size=1)
            self.assertEqual([run.id async for run in runs], [run.id for run in listed])
        self.assertEqual((len(listed), listed[-1].id), (2, first.id))

    async def test_the_catalog_knows_models(self) -> None:
        tools = [Capability.CAPABILITY_TOOLS]
        with Client() as client:
            latest = client.get_latest_model("anthropic", capabilities=tools)
            assert latest is not None
            self.assertEqual(client.get_model_info(latest.id, provider="anthropic"), latest)
            models = list(client.list_models(provider="anthropic", capabilities=tools))
            self.assertIn(latest, models)
            self.assertIsNone(client.get_model_info("no such model"))
        async with AsyncClient() as other:
            self.assertEqual(await other.get_latest_model("anthropic", capabilities=tools), latest)
            found = [model async for model in other.list_models(provider="anthropic", capabilities=tools)]
            self.assertEqual(found, models)
            self.assertIsNone(await other.get_model_info("no such model"))

    async def test_texts_are_embedded_and_tokens_counted(self) -> None:
        request = Request(model="sim-text", messages=[user_message("Hello")])
        with Client() as client:
            embedded = client.embed(["a", "b"], model="sim-text", dimensions=8)
            self.assertEqual([len(each.values) for each in embedded.embeddings], [8, 8])
            count = client.count_tokens(request)
            self.assertGreater(count.input_tokens, 0)
            self.assertFalse(count.estimated)
            with self.assertRaises(InvalidRequestError):
                client.embed(["a"], model="sim-text", provider="anthropic")
        async with AsyncClient() as other:
            again = await other.embed(["a", "b"], model="sim-text", dimensions=8)
            self.assertEqual(list(again.embeddings), list(embedded.embeddings))
            self.assertEqual(await other.count_tokens(request), count)

    async def test_headers_are_sent_and_calls_are_told(self) -> None:
        calls: list[CallInfo] = []
        request = Request(model="sim-echo", messages=[user_message("secret")])
        with Client() as client, self.assertLogs("outrigger_client", "DEBUG") as logs:
            told = client.with_options(headers={"X-Request-Id": "mine-1"}, on_call=calls.append)
            told.complete(request, timeout=TIMEOUT)
            told.stream(request, timeout=TIMEOUT).result()
            with self.assertRaises(NotFoundError):
                told.runs.get("run_0")
        self.assertNotIn("secret", "".join(logs.output))
        async with AsyncClient() as other:
            later = other.with_options(headers={"X-Request-Id": "mine-1"}, on_call=calls.append)
            await later.complete(request, timeout=TIMEOUT)
            await later.stream(request, timeout=TIMEOUT).result()
        self.assertEqual({call.request_id for call in calls}, {"mine-1"})
        self.assertEqual(
            [(call.method, call.code) for call in calls],
            [
                ("Complete", "OK"),
                ("Stream", "OK"),
                ("GetRun", "NOT_FOUND"),
                ("Complete", "OK"),
                ("Stream", "OK"),
            ],
        )

    def results(self, run: Run) -> list[ToolResult]:
        """A result for each call that a run waits for."""
        return [
            ToolResult(tool_call_id=call.id, content=[text_part("drizzle")]) for call in run.required_results
        ]
