"""The caller's side of the tool loop, against a server that plays the sidecar's side."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
import unittest
from collections.abc import Iterator
from typing import Any

import grpc

from outrigger_client import (
    AbortError,
    AsyncClient,
    Client,
    GenerateResult,
    RequestTimeoutError,
    ServerError,
    StepFinished,
    StreamError,
    ToolContext,
    ToolError,
    ToolRefused,
    ToolStarted,
    system_message,
    text_of,
    tool,
    user_message,
)
from outrigger_client.v1.error_pb2 import ERROR_KIND_SERVER, InferenceError
from outrigger_client.v1.generation_service_pb2 import RunToolsResponse, ToolOutput
from outrigger_client.v1.message_pb2 import ROLE_TOOL, ToolResult
from outrigger_client.v1.response_pb2 import Response
from outrigger_client.v1.stream_event_pb2 import Finish, StreamEvent
from outrigger_client.v1.tool_pb2 import FunctionTool
from outrigger_client.v1.tool_pb2 import Tool as ToolDefinition
from tests.fake_sidecar import Peer, assistant, call, execute, fake_sidecar, finished, step_of, text_of_output

# A generous bound, in seconds, for what happens at once: the machine may be busy.
PROMPTLY = 10

DONE = step_of(assistant("done"))


@tool
def double(value: int) -> int:
    """Doubles a number."""
    return value * 2


@tool
async def triple(value: int) -> int:
    """Triples a number."""
    await asyncio.sleep(0.01)
    return value * 3


def answer_of(output: ToolOutput) -> tuple[str | None, str]:
    """The kind and text of an output."""
    return output.WhichOneof("output"), text_of_output(output)


class LoopCases:
    """What holds for both clients."""

    def generate(self, address: str, **arguments: Any) -> GenerateResult:
        raise NotImplementedError

    def outputs(self, *calls: RunToolsResponse, **arguments: Any) -> dict[str, ToolOutput]:
        """Has the calls executed, and gives what the sidecar got for them."""
        received: dict[str, ToolOutput] = {}

        def play(peer: Peer) -> Iterator[RunToolsResponse]:
            yield from calls
            received.update(peer.outputs(len(calls)))
            yield from finished(DONE)

        with fake_sidecar(play) as address:
            result = self.generate(address, **arguments)
        test = self.test
        test.assertEqual((result.text, result.stop_reason), ("done", "completed"))
        return received

    @property
    def test(self) -> unittest.TestCase:
        assert isinstance(self, unittest.TestCase)
        return self

    def test_each_call_of_a_step_gets_its_own_result(self) -> None:
        found = self.outputs(
            execute(call("a", "double", '{"value":1}')),
            execute(call("b", "triple", '{"value":1}')),
            execute(call("c", "double", '{"value":5}')),
            tools=[double, triple],
        )
        self.test.assertEqual(
            {name: answer_of(output) for name, output in found.items()},
            {"a": ("result", "2"), "b": ("result", "3"), "c": ("result", "10")},
        )

    def test_exceptions_are_hidden_if_the_tool_or_the_client_says_so(self) -> None:
        def fail() -> str:
            raise RuntimeError("10.0.0.7 refused")

        @tool(hide_errors=True)
        def hidden() -> str:
            return fail()

        @tool(hide_errors=False)
        def shown() -> str:
            return fail()

        @tool
        def unset() -> str:
            return fail()

        calls = [execute(call(name, name)) for name in ("hidden", "shown", "unset")]
        calls.append(execute(call("wrong", "double", "{}")))
        tools = [hidden, shown, unset, double]
        neutral, text = ("failure", "the tool failed"), ("failure", "RuntimeError: 10.0.0.7 refused")
        with self.test.assertLogs("outrigger_client", logging.WARNING):
            found = self.outputs(*calls, tools=tools)
            strict = self.outputs(*calls, tools=tools, client={"hide_tool_errors": True})
        names = ("hidden", "shown", "unset")
        self.test.assertEqual([answer_of(found[name]) for name in names], [neutral, text, text])
        self.test.assertEqual([answer_of(strict[name]) for name in names], [neutral, text, neutral])
        self.test.assertIn("value", text_of_output(strict["wrong"]))

    def test_the_calls_of_a_step_run_at_once(self) -> None:
        meeting = threading.Barrier(3)

        @tool
        def meet() -> str:
            meeting.wait(timeout=PROMPTLY)
            return "met"

        found = self.outputs(*(execute(call(str(number), "meet")) for number in range(3)), tools=[meet])
        self.test.assertEqual([text_of_output(output) for output in found.values()], ["met"] * 3)

    def test_no_more_tools_run_at_once_than_the_limit_allows(self) -> None:
        lock = threading.Lock()
        running, most = 0, 0

        @tool
        def work() -> None:
            nonlocal running, most
            with lock:
                running += 1
                most = max(most, running)
            time.sleep(0.02)
            with lock:
                running -= 1

        calls = [execute(call(str(number), "work")) for number in range(8)]
        self.outputs(*calls, tools=[work], client={"max_concurrent_tools": 2})
        self.test.assertIn(most, (1, 2))

    def test_a_tool_that_raises_is_reported_to_the_model(self) -> None:
        @tool
        def fail() -> None:
            raise KeyError("city")

        @tool
        async def explain() -> None:
            raise ToolError("no such city")

        @tool
        def leave() -> None:
            raise SystemExit(3)

        logging.getLogger("outrigger_client").setLevel(logging.CRITICAL)
        self.test.addCleanup(logging.getLogger("outrigger_client").setLevel, logging.NOTSET)
        found = self.outputs(
            execute(call("a", "fail")),
            execute(call("b", "explain")),
            execute(call("c", "leave")),
            tools=[fail, explain, leave],
        )
        self.test.assertEqual(answer_of(found["a"]), ("failure", "KeyError: 'city'"))
        self.test.assertEqual(answer_of(found["b"]), ("failure", "no such city"))
        self.test.assertRegex(text_of_output(found["c"]), r"SystemExit\b.*3")

    def test_a_failure_that_the_developer_did_not_foresee_is_logged(self) -> None:
        @tool
        def fail() -> None:
            raise RuntimeError("broken")

        with self.test.assertLogs("outrigger_client", "WARNING") as logs:
            self.outputs(execute(call("a", "fail")), tools=[fail])
        self.test.assertIn("the tool fail failed", logs.output[0])

    def test_a_refusal_is_sent_as_a_refusal(self) -> None:
        @tool
        def delete_all() -> None:
            raise ToolRefused("the user said no")

        found = self.outputs(execute(call("a", "delete_all")), tools=[delete_all])
        self.test.assertEqual(answer_of(found["a"]), ("refusal", "the user said no"))

    def test_an_unknown_tool_and_invalid_arguments_are_error_results(self) -> None:
        found = self.outputs(
            execute(call("a", "missing")), execute(call("b", "double", '{"value":"x"}')), tools=[double]
        )
        self.test.assertEqual(answer_of(found["a"]), ("failure", "there is no tool named 'missing'"))
        self.test.assertEqual(
            answer_of(found["b"]),
            ("failure", "invalid arguments: /value: expected an integer, found a string"),
        )

    def test_a_result_that_is_no_json_is_an_error_result(self) -> None:
        @tool
        def give_object() -> object:
            return object()

        with self.test.assertLogs("outrigger_client", "WARNING"):
            found = self.outputs(execute(call("a", "give_object")), tools=[give_object])
        self.test.assertEqual(
            answer_of(found["a"]), ("failure", "TypeError: object cannot be written as JSON")
        )

    def test_a_tool_may_mark_its_own_result_as_an_error(self) -> None:
        @tool
        def find() -> ToolResult:
            return ToolResult(failed=True)

        found = self.outputs(execute(call("a", "find")), tools=[find])
        self.test.assertTrue(found["a"].result.failed)

    def test_a_call_is_repaired_by_the_function_for_it(self) -> None:
        problems: list[str] = []

        def repair(tool_call: Any, problem: str) -> Any:
            problems.append(problem)
            return {"value": 4} if tool_call.arguments_json == '{"value":"4"}' else None

        async def repair_later(tool_call: Any, problem: str) -> Any:
            return repair(tool_call, problem)

        for function in (repair, repair_later):
            found = self.outputs(
                execute(call("a", "double", '{"value":"4"}'), problem="/value: no integer"),
                execute(call("b", "double", "{"), problem="no JSON"),
                tools=[double],
                repair=function,
            )
            self.test.assertEqual(found["a"].repaired_call.arguments_json, '{"value":4}')
            self.test.assertEqual(answer_of(found["b"]), ("failure", "no JSON"))
        self.test.assertEqual(sorted(problems), ["/value: no integer"] * 2 + ["no JSON"] * 2)

    def test_a_call_with_a_problem_is_not_executed_without_a_function_for_repairs(self) -> None:
        asked = execute(call("a", "double", '{"value":4}'), problem="/value: too large")
        found = self.outputs(asked, tools=[double])
        self.test.assertEqual(answer_of(found["a"]), ("failure", "/value: too large"))

    def test_a_slow_tool_learns_that_its_time_is_over(self) -> None:
        running, cancelled = threading.Event(), threading.Event()

        @tool
        def wait(context: ToolContext) -> str:
            running.set()
            if context.wait(PROMPTLY):
                cancelled.set()
            return "late"

        @tool
        async def sleep() -> str:
            await asyncio.sleep(PROMPTLY)
            return "late"

        slow = execute(call("a", "wait"))
        slow.execute.timeout.FromMilliseconds(50)
        slower = execute(call("b", "sleep"))
        slower.execute.timeout.FromMilliseconds(50)
        found = self.outputs(slow, slower, tools=[wait, sleep])
        # On a busy machine the time may be over before the tool has begun.
        self.test.assertTrue(not running.is_set() or cancelled.wait(PROMPTLY))
        for output in found.values():
            self.test.assertEqual(answer_of(output), ("failure", "the tool did not answer in time"))

    def test_a_call_whose_time_is_over_before_a_thread_is_free_is_not_run(self) -> None:
        ran: list[str] = []

        @tool
        def wait(context: ToolContext) -> None:
            ran.append(context.tool_call_id)
            time.sleep(0.2)

        late = execute(call("b", "wait"))
        late.execute.timeout.FromMilliseconds(50)
        found = self.outputs(
            execute(call("a", "wait")), late, tools=[wait], client={"max_concurrent_tools": 1}
        )
        self.test.assertEqual(ran, ["a"])
        self.test.assertEqual(answer_of(found["b"]), ("failure", "the tool did not answer in time"))

    def test_a_tool_gets_the_conversation_up_to_its_call(self) -> None:
        seen: list[ToolContext] = []

        @tool
        def look(context: ToolContext) -> str:
            seen.append(context)
            return "seen"

        first = assistant("looking", call("a", "look"))
        second = assistant("again", call("b", "look"))
        result = ToolResult(tool_call_id="a")

        def play(peer: Peer) -> Iterator[RunToolsResponse]:
            self.test.assertFalse(peer.start.omit_events)
            for step, message in enumerate((first, second), 1):
                finish = Finish(response=Response(message=message))
                yield RunToolsResponse(step=step, event=StreamEvent(finish=finish))
                yield execute(message.content[1].tool_call, step)
                peer.output()
                if step == 1:
                    yield next(finished(step_of(message, result)))
            yield from finished(step_of(first, result), step_of(second), DONE)

        with fake_sidecar(play) as address:
            self.generate(address, system="Be brief.", messages=[user_message("Look!")], tools=[look])
        self.test.assertEqual([context.tool_call_id for context in seen], ["a", "b"])
        self.test.assertEqual([context.step for context in seen], [1, 2])
        start = [system_message("Be brief."), user_message("Look!"), first]
        self.test.assertEqual(list(seen[0].messages), start)
        self.test.assertEqual(list(seen[1].messages[:3]), start)
        self.test.assertEqual([message.role for message in seen[1].messages[3:]], [ROLE_TOOL, second.role])

    def test_the_request_says_which_tools_are_passive_and_leaves_out_events(self) -> None:
        passive = ToolDefinition(function=FunctionTool(name="ask_user"))

        def play(peer: Peer) -> Iterator[RunToolsResponse]:
            start = peer.start
            self.test.assertEqual(list(start.passive_tools), ["ask_user"])
            self.test.assertTrue(start.omit_events)
            self.test.assertFalse(start.repair_calls)
            self.test.assertEqual(start.options.max_tool_rounds, 5)
            self.test.assertEqual(start.options.timeouts.per_tool.ToMilliseconds(), 1500)
            self.test.assertEqual(start.options.retry.max_retries, 0)
            yield from finished(DONE)

        with fake_sidecar(play) as address:
            self.generate(
                address, tools=[double, passive], max_tool_rounds=5, tool_timeout=1.5, retry=0, prompt="Hi"
            )

    def test_an_output_that_was_rejected_changes_nothing(self) -> None:
        def play(peer: Peer) -> Iterator[RunToolsResponse]:
            yield execute(call("a", "double", '{"value":1}'))
            peer.output()
            rejected = RunToolsResponse()
            rejected.rejected_output.tool_call_id = "a"
            yield rejected
            yield RunToolsResponse()  # A kind of message that this version does not know.
            yield from finished(DONE)

        with fake_sidecar(play) as address:
            self.test.assertEqual(self.generate(address, tools=[double]).text, "done")

    def test_a_loop_that_ends_without_its_result_is_an_error(self) -> None:
        def play(peer: Peer) -> Iterator[RunToolsResponse]:
            yield next(finished(DONE))

        with fake_sidecar(play) as address, self.test.assertRaises(StreamError) as caught:
            self.generate(address, tools=[double])
        self.test.assertTrue(caught.exception.output_started)

    def test_a_connection_that_breaks_within_a_loop_is_an_error_of_the_stream(self) -> None:
        def play(peer: Peer) -> Iterator[RunToolsResponse]:
            yield next(finished(DONE))
            peer.context.abort(grpc.StatusCode.UNAVAILABLE, "going away")

        with fake_sidecar(play) as address, self.test.assertRaisesRegex(StreamError, "going away") as caught:
            self.generate(address, tools=[double])
        self.test.assertEqual(caught.exception.messages, [DONE.response.message])

    def test_an_error_of_the_loop_is_raised_as_its_kind(self) -> None:
        def play(peer: Peer) -> Iterator[RunToolsResponse]:
            failure = InferenceError(kind=ERROR_KIND_SERVER, message="overloaded", retryable=True)
            failure.retry_after.FromSeconds(7)
            yield RunToolsResponse(error=failure)

        with fake_sidecar(play) as address, self.test.assertRaisesRegex(ServerError, "overloaded") as caught:
            self.generate(address, tools=[double])
        self.test.assertEqual((caught.exception.retryable, caught.exception.retry_after), (True, 7.0))

    def test_a_deadline_ends_the_loop_and_its_tools(self) -> None:
        running, cancelled = threading.Event(), threading.Event()

        @tool
        def wait(context: ToolContext) -> None:
            running.set()
            if context.wait(PROMPTLY):
                cancelled.set()

        def play(peer: Peer) -> Iterator[RunToolsResponse]:
            yield execute(call("a", "wait"))
            peer.output()

        with fake_sidecar(play) as address, self.test.assertRaises(RequestTimeoutError):
            self.generate(address, tools=[wait], timeout=0.5)
        # On a busy machine the time may be over before the tool has begun.
        self.test.assertTrue(not running.is_set() or cancelled.wait(PROMPTLY))


class SyncLoopTest(LoopCases, unittest.TestCase):
    """The loop of Client."""

    def generate(self, address: str, *, client: Any = None, **arguments: Any) -> GenerateResult:
        with Client(address, **(client or {})) as opened:
            return opened.generate(model="m", **{"timeout": PROMPTLY, **arguments})

    def test_leaving_the_stream_cancels_the_call_and_its_tools(self) -> None:
        ended = threading.Event()
        running = [threading.Event(), threading.Event()]
        cancelled = [threading.Event(), threading.Event()]

        @tool
        def wait(context: ToolContext) -> None:
            running[0].set()
            if context.wait(PROMPTLY):
                cancelled[0].set()

        @tool
        async def sleep() -> None:
            running[1].set()
            try:
                await asyncio.sleep(PROMPTLY)
            except asyncio.CancelledError:
                cancelled[1].set()
                raise

        def play(peer: Peer) -> Iterator[RunToolsResponse]:
            peer.context.add_callback(ended.set)
            yield execute(call("a", "wait"))
            yield execute(call("b", "sleep"))
            peer.output()

        with fake_sidecar(play) as address, Client(address) as client:
            stream = client.stream_generate(model="m", tools=[wait, sleep])
            started = []
            for event in stream:
                started.append(event)
                if len(started) == 2:
                    self.assertTrue(all(event.wait(PROMPTLY) for event in running))
                    break
            self.assertTrue(ended.wait(PROMPTLY))
            self.assertTrue(all(event.wait(PROMPTLY) for event in cancelled))
            self.assertTrue(all(isinstance(event, ToolStarted) for event in started))
            with self.assertRaises(AbortError):
                stream.result()

    def test_another_thread_can_cancel_the_stream(self) -> None:
        def play(peer: Peer) -> Iterator[RunToolsResponse]:
            yield execute(call("a", "double", '{"value":1}'))
            peer.outputs(2)

        with fake_sidecar(play) as address, Client(address) as client:
            stream = client.stream_generate(model="m", tools=[double])
            threading.Timer(0.1, stream.cancel).start()
            with self.assertRaises(AbortError):
                stream.result()

    def test_a_stream_tells_what_happens_in_each_step(self) -> None:
        message = assistant("calling", call("a", "double", '{"value":1}'))

        def play(peer: Peer) -> Iterator[RunToolsResponse]:
            yield execute(message.content[1].tool_call)
            step = step_of(message, peer.output().result)
            yield next(finished(step))
            yield from finished(step, DONE)

        with (
            fake_sidecar(play) as address,
            Client(address) as client,
            client.stream_generate(model="m", tools=[double]) as stream,
        ):
            kinds = [type(event) for event in stream]
            result = stream.result()
        self.assertEqual(kinds, [ToolStarted, StepFinished, StepFinished])
        self.assertEqual([text_of(step.response) for step in result.steps], ["calling", "done"])
        self.assertEqual(result.steps[0].tool_results[0].content[0].text, "2")
        self.assertEqual(len(result.messages), 3)


class AsyncLoopTest(LoopCases, unittest.TestCase):
    """The loop of AsyncClient."""

    def generate(self, address: str, *, client: Any = None, **arguments: Any) -> GenerateResult:
        async def run() -> GenerateResult:
            async with AsyncClient(address, **(client or {})) as opened:
                return await opened.generate(model="m", **{"timeout": PROMPTLY, **arguments})

        return asyncio.run(run())

    def test_cancelling_the_task_cancels_the_call_and_its_tools(self) -> None:
        ended, running, cancelled = threading.Event(), threading.Event(), threading.Event()

        @tool
        def wait(context: ToolContext) -> None:
            running.set()
            if context.wait(PROMPTLY):
                cancelled.set()

        def play(peer: Peer) -> Iterator[RunToolsResponse]:
            peer.context.add_callback(ended.set)
            yield execute(call("a", "wait"))
            yield execute(call("b", "sleep"))
            peer.output()

        async def run(address: str) -> bool:
            started = asyncio.Event()
            stopped = False

            @tool
            async def sleep() -> None:
                nonlocal stopped
                started.set()
                try:
                    await asyncio.sleep(PROMPTLY)
                except asyncio.CancelledError:
                    stopped = True
                    raise

            async with AsyncClient(address) as client:
                task = asyncio.create_task(client.generate(model="m", tools=[wait, sleep]))
                await started.wait()
                await asyncio.to_thread(running.wait, PROMPTLY)
                task.cancel()
                with self.assertRaises(asyncio.CancelledError):
                    await task
                await asyncio.sleep(0)
                return stopped

        with fake_sidecar(play) as address:
            self.assertTrue(asyncio.run(run(address)))
            self.assertTrue(ended.wait(PROMPTLY))
            self.assertTrue(cancelled.wait(PROMPTLY))

    def test_a_stream_that_nobody_reads_ends_when_it_is_dropped(self) -> None:
        ended = threading.Event()

        def play(peer: Peer) -> Iterator[RunToolsResponse]:
            peer.context.add_callback(ended.set)
            yield execute(call("a", "double", '{"value":1}'))
            peer.outputs(2)

        async def run(address: str) -> int:
            async with AsyncClient(address) as client:
                stream = client.stream_generate(model="m", tools=[double])
                await asyncio.sleep(0.1)
                del stream
                await asyncio.to_thread(ended.wait, PROMPTLY)
                for _ in range(100 * PROMPTLY):
                    if len(asyncio.all_tasks()) == 1:
                        break
                    await asyncio.sleep(0.01)
                return len(asyncio.all_tasks())

        with fake_sidecar(play) as address:
            self.assertEqual(asyncio.run(run(address)), 1)
        self.assertTrue(ended.is_set())

    def test_leaving_the_stream_cancels_the_call(self) -> None:
        ended = threading.Event()

        def play(peer: Peer) -> Iterator[RunToolsResponse]:
            peer.context.add_callback(ended.set)
            yield execute(call("a", "double", '{"value":1}'))
            peer.outputs(2)

        async def run(address: str) -> None:
            async with AsyncClient(address) as client:
                stream = client.stream_generate(model="m", tools=[double])
                async for event in stream:
                    self.assertIsInstance(event, ToolStarted)
                    break
                await asyncio.to_thread(ended.wait, PROMPTLY)
                with self.assertRaises(AbortError):
                    await stream.result()

        with fake_sidecar(play) as address:
            asyncio.run(run(address))
        self.assertTrue(ended.is_set())
