"""Generations and the tool loop, over a real sidecar with the simulator behind it."""

from __future__ import annotations

import asyncio
import json
import logging
import random
import threading
import time
import unittest
from typing import Any

from outrigger_client import (
    AbortError,
    AsyncClient,
    Client,
    GenerateResult,
    GenerationLimits,
    InvalidRequestError,
    ModelEvent,
    RateLimitError,
    RequestTimeoutError,
    RetryPolicy,
    ServerError,
    Step,
    StepFinished,
    ToolContext,
    ToolDefinition,
    ToolError,
    ToolRefused,
    ToolStarted,
    tool,
    tool_result_message,
    user_message,
)
from outrigger_client.v1.message_pb2 import ROLE_ASSISTANT, ROLE_TOOL, ROLE_USER
from outrigger_client.v1.tool_pb2 import FunctionTool
from tests.test_schema import Color, Owner, Person

# A generous bound, in seconds, for what happens at once: the machine may be busy.
PROMPTLY = 10
TIMEOUT = 30
# An answer that takes far longer than any test waits.
LONG = "sim-long:tokens=1000,rate=20"
PROVIDERS = ("openai", "anthropic", "gemini", "compatible")


@tool
def get_weather(city: str) -> str:
    """Reports the weather of a city."""
    return f"{city}: 18 degrees"


@tool
async def get_tide(harbour: str) -> dict[str, Any]:
    """Reports the tide of a harbour."""
    await asyncio.sleep(0.01)
    return {"harbour": harbour, "metres": 1.5}


def failing(faults: str) -> str:
    """A model that fails as the faults say. The simulator counts `times` by model string, so it is made unique."""
    return f"sim-text:{faults},rate={random.randint(100_000, 999_999)}"


def texts_of(step: Step) -> list[str]:
    """The texts of a step's tool results."""
    return [result.content[0].text for result in step.tool_results]


class GenerationCases:
    """What holds for both clients."""

    def generate(self, **arguments: Any) -> GenerateResult:
        raise NotImplementedError

    @property
    def test(self) -> unittest.TestCase:
        assert isinstance(self, unittest.TestCase)
        return self

    def test_a_prompt_is_answered(self) -> None:
        result = self.generate(model="sim-text", prompt="Hello", system="Be brief.")
        self.test.assertIn("Hello", result.text)
        self.test.assertEqual((result.finish_reason, result.stop_reason), ("stop", "completed"))
        self.test.assertEqual([message.role for message in result.messages], [ROLE_ASSISTANT])
        self.test.assertEqual(len(result.attempts), 1)
        self.test.assertEqual(result.usage, result.total_usage)

    def test_tools_run_and_the_model_answers_from_their_results(self) -> None:
        for provider in PROVIDERS:
            with self.test.subTest(provider=provider):
                result = self.generate(
                    model="sim-tools:calls=2",
                    provider=provider,
                    prompt="How are the weather and the tide in Oslo?",
                    tools=[get_weather, get_tide],
                )
                self.test.assertEqual((len(result.steps), result.stop_reason), (2, "completed"))
                self.test.assertEqual(len(result.steps[0].tool_calls), 2)
                for text in texts_of(result.steps[0]):
                    self.test.assertIn(text, result.text)
                roles = [message.role for message in result.messages]
                self.test.assertEqual(roles, [ROLE_ASSISTANT, ROLE_TOOL, ROLE_TOOL, ROLE_ASSISTANT])

    def test_the_usage_of_all_steps_is_summed(self) -> None:
        result = self.generate(model="sim-tools", prompt="Weather?", tools=[get_weather])
        counts = [step.usage.total_tokens for step in result.steps if step.usage is not None]
        assert result.total_usage is not None
        self.test.assertEqual(len(counts), 2)
        self.test.assertEqual(result.total_usage.total_tokens, sum(counts))

    def test_results_are_in_the_order_of_their_calls_whichever_ends_first(self) -> None:
        ended: list[str] = []

        @tool
        def wait(context: ToolContext) -> str:
            """Waits less the later it is called."""
            with lock:
                turn = next(turns)
            time.sleep(0.3 - 0.1 * turn)
            ended.append(context.tool_call_id)
            return context.tool_call_id

        lock, turns = threading.Lock(), iter(range(3))
        step = self.generate(model="sim-tools:calls=3", prompt="Wait!", tools=[wait]).steps[0]
        ids = [call.id for call in step.tool_calls]
        self.test.assertEqual(texts_of(step), ids)
        self.test.assertEqual([result.tool_call_id for result in step.tool_results], ids)
        self.test.assertEqual(sorted(ended), sorted(ids))

    def test_a_failure_and_a_refusal_are_error_results_and_the_loop_goes_on(self) -> None:
        @tool
        def fail() -> None:
            """Fails."""
            raise ToolError("the mast is broken")

        @tool
        def refuse() -> None:
            """Is refused."""
            raise ToolRefused("the captain said no")

        for function, reason in ((fail, "the mast is broken"), (refuse, "the captain said no")):
            result = self.generate(model="sim-tools", prompt="Go!", tools=[function])
            self.test.assertTrue(result.steps[0].tool_results[0].failed)
            self.test.assertIn(reason, texts_of(result.steps[0])[0])
            self.test.assertEqual(result.stop_reason, "completed")

    def test_a_tool_that_does_not_answer_in_time_gets_an_error_result(self) -> None:
        running, cancelled = threading.Event(), threading.Event()

        @tool
        def wait(context: ToolContext) -> str:
            """Waits for a long time."""
            running.set()
            if context.wait(PROMPTLY):
                cancelled.set()
            return "too late"

        result = self.generate(model="sim-tools", prompt="Wait!", tools=[wait], tool_timeout=0.3)
        self.test.assertTrue(result.steps[0].tool_results[0].failed)
        self.test.assertNotIn("too late", texts_of(result.steps[0])[0])
        self.test.assertEqual(result.stop_reason, "completed")
        # On a busy machine the time may be over before the tool has begun.
        self.test.assertTrue(not running.is_set() or cancelled.wait(PROMPTLY))

    def test_rounds_of_tools_are_limited(self) -> None:
        for rounds, steps, stop_reason in (
            (0, 1, "tool_calls"),
            (1, 2, "max_tool_rounds"),
            (3, 4, "completed"),
        ):
            with self.test.subTest(rounds=rounds):
                result = self.generate(
                    model="sim-tools:rounds=3", prompt="Weather?", tools=[get_weather], max_tool_rounds=rounds
                )
                executed = [step for step in result.steps if step.tool_results]
                self.test.assertEqual(len(result.steps), steps)
                self.test.assertEqual(len(executed), rounds)
                self.test.assertIn(result.stop_reason, (stop_reason, "max_tool_rounds"))
                self.test.assertEqual(bool(result.tool_calls), rounds < 3)

    def test_a_condition_or_a_limit_ends_the_loop_early(self) -> None:
        for ends, stop_reason in (
            ({"stop_when": "steps.size() >= 2"}, "stop_when"),
            ({"limits": GenerationLimits(max_steps=2)}, "max_steps"),
        ):
            with self.test.subTest(stop_reason=stop_reason):
                result = self.generate(
                    model="sim-tools:rounds=9",
                    prompt="Weather?",
                    tools=[get_weather],
                    max_tool_rounds=9,
                    **ends,
                )
                self.test.assertEqual((len(result.steps), result.stop_reason), (2, stop_reason))

    def test_a_generation_that_failed_in_a_later_step_goes_on_from_there(self) -> None:
        executed: list[str] = []

        @tool
        def look_up(city: str) -> str:
            """Reports the weather."""
            executed.append(city)
            return "drizzle"

        arguments: Any = {"model": "sim-tools:rounds=3", "tools": [look_up], "max_tool_rounds": 9}
        history = [user_message("Weather in Oslo?")]
        with self.test.assertRaises(InvalidRequestError) as caught:
            # There is no tenth step, so that the second evaluation fails.
            condition = "steps.size() == 2 && steps[9].response.id == ''"
            self.generate(**arguments, messages=history, stop_when=condition)
        error = caught.exception
        self.test.assertEqual((len(error.steps), len(error.attempts)), (2, 2))
        assert error.usage is not None
        tokens = sum(step.response.usage.total_tokens for step in error.steps)
        self.test.assertEqual(error.usage.total_tokens, tokens)
        result = self.generate(**arguments, messages=[*history, *error.messages])
        self.test.assertEqual((len(result.steps), result.stop_reason), (2, "completed"))
        self.test.assertEqual(len(executed), 3)

    def test_an_invalid_condition_is_refused_before_anything_is_sent(self) -> None:
        with self.test.assertRaises(InvalidRequestError) as caught:
            self.generate(
                model="sim-tools", prompt="Weather?", tools=[get_weather], stop_when="steps.size( >"
            )
        self.test.assertIn("stop_when", str(caught.exception))

    def test_a_call_of_a_passive_tool_comes_back(self) -> None:
        definition = FunctionTool(name="ask_user", parameters_json='{"type":"object","properties":{}}')
        history = [user_message("Ask me!")]
        tools = [ToolDefinition(function=definition)]
        result = self.generate(model="sim-tools", messages=history, tools=tools)
        self.test.assertEqual((result.stop_reason, result.finish_reason), ("tool_calls", "tool_calls"))
        self.test.assertEqual([call.name for call in result.tool_calls], ["ask_user"])
        history.extend([*result.messages, tool_result_message(result.tool_calls[0], {"answer": 42})])
        self.test.assertIn(
            '{"answer":42}', self.generate(model="sim-tools", messages=history, tools=tools).text
        )

    def test_a_passive_tool_ends_a_loop_after_the_other_calls_of_its_step(self) -> None:
        passive = ToolDefinition(
            function=FunctionTool(name="ask_user", parameters_json='{"type":"object","properties":{}}')
        )
        result = self.generate(
            model="sim-tools:calls=2", prompt="Weather?", tools=[get_weather, passive], max_tool_rounds=5
        )
        self.test.assertEqual([call.name for call in result.tool_calls], ["get_weather", "ask_user"])
        self.test.assertEqual(len(result.tool_results), 1)
        self.test.assertEqual(result.stop_reason, "tool_calls")

    def test_a_tool_sees_the_conversation(self) -> None:
        seen: list[Any] = []

        @tool
        def look(context: ToolContext) -> str:
            """Looks."""
            seen.extend(context.messages)
            return context.tool_call_id

        result = self.generate(model="sim-tools", prompt="Look!", tools=[look])
        self.test.assertEqual([message.role for message in seen], [ROLE_USER, ROLE_ASSISTANT])
        self.test.assertEqual(seen[1], result.steps[0].response.message)

    def test_a_failed_call_of_the_model_is_retried(self) -> None:
        policy = RetryPolicy(max_retries=2, base_delay=0.01)
        result = self.generate(model=failing("status=500,times=2"), prompt="Hello", retry=policy)
        self.test.assertEqual([attempt.HasField("error") for attempt in result.attempts], [True, True, False])

    def test_without_retries_the_error_is_raised(self) -> None:
        with self.test.assertRaises(RateLimitError) as caught:
            self.generate(model="sim-text:status=429,retry_after=2", prompt="Hello", retry=0)
        self.test.assertEqual((caught.exception.retryable, caught.exception.retry_after), (True, 2.0))
        with self.test.assertRaises(ServerError):
            self.generate(model="sim-tools:status=500", prompt="Hello", retry=0, tools=[get_weather])

    def test_arguments_that_contradict_each_other_are_refused(self) -> None:
        with self.test.assertRaises(InvalidRequestError) as caught:
            self.generate(model="sim-text", prompt="Hello", messages=[user_message("Hello")])
        self.test.assertIn("prompt", str(caught.exception))

    def test_time_limits_end_a_generation(self) -> None:
        started = time.monotonic()
        for arguments in ({"timeout": 0.4}, {"total_timeout": 0.4}, {"step_timeout": 0.4, "retry": 0}):
            with self.test.subTest(arguments=arguments), self.test.assertRaises(RequestTimeoutError):
                self.generate(model=LONG, prompt="Hello", **arguments)
        self.test.assertLess(time.monotonic() - started, PROMPTLY)


class SyncGenerationTest(GenerationCases, unittest.TestCase):
    """Generations of Client."""

    def setUp(self) -> None:
        self.client = Client()
        self.addCleanup(self.client.close)

    def generate(self, **arguments: Any) -> GenerateResult:
        return self.client.generate(**{"timeout": TIMEOUT, **arguments})

    def test_a_stream_tells_each_step_and_adds_up_to_the_result(self) -> None:
        arguments: Any = {"model": "sim-tools:calls=2", "prompt": "Weather?", "tools": [get_weather]}
        events = list(stream := self.client.stream_generate(**arguments, timeout=TIMEOUT))
        result = stream.result()
        started = [event for event in events if isinstance(event, ToolStarted)]
        steps = [event.result for event in events if isinstance(event, StepFinished)]
        text = "".join(event.text for event in events if isinstance(event, ModelEvent) and event.step == 2)
        self.assertEqual([event.tool_call.id for event in started], [call.id for call in steps[0].tool_calls])
        self.assertEqual([step.proto for step in steps], [step.proto for step in result.steps])
        self.assertEqual(text, result.text)

    def test_a_stream_without_tools_has_the_same_events(self) -> None:
        stream = self.client.stream_generate(model="sim-text", prompt="Hello", timeout=TIMEOUT)
        self.assertEqual("".join(stream.text()), stream.result().text)

    def test_leaving_a_stream_within_a_tool_ends_it(self) -> None:
        running, cancelled = threading.Event(), threading.Event()

        @tool
        def wait(context: ToolContext) -> None:
            """Waits for a long time."""
            running.set()
            if context.wait(PROMPTLY):
                cancelled.set()

        stream = self.client.stream_generate(model="sim-tools", prompt="Wait!", tools=[wait])
        for event in stream:
            if isinstance(event, ToolStarted):
                self.assertTrue(running.wait(PROMPTLY))
                break
        self.assertTrue(cancelled.wait(PROMPTLY))
        with self.assertRaises(AbortError):
            stream.result()


class AsyncGenerationTest(GenerationCases, unittest.TestCase):
    """Generations of AsyncClient."""

    def generate(self, **arguments: Any) -> GenerateResult:
        async def run() -> GenerateResult:
            async with AsyncClient() as client:
                return await client.generate(**{"timeout": TIMEOUT, **arguments})

        return asyncio.run(run())

    def test_cancelling_the_task_ends_a_tool(self) -> None:
        async def run() -> bool:
            started = asyncio.Event()
            cancelled = False

            @tool
            async def wait() -> None:
                """Waits for a long time."""
                nonlocal cancelled
                started.set()
                try:
                    await asyncio.sleep(PROMPTLY)
                except asyncio.CancelledError:
                    cancelled = True
                    raise

            async with AsyncClient() as client:
                task = asyncio.create_task(client.generate(model="sim-tools", prompt="Wait!", tools=[wait]))
                await asyncio.wait_for(started.wait(), PROMPTLY)
                task.cancel()
                with self.assertRaises(asyncio.CancelledError):
                    await task
                await asyncio.sleep(0)
            return cancelled

        self.assertTrue(asyncio.run(run()))

    def test_many_loops_run_at_once_over_one_connection(self) -> None:
        async def run() -> list[GenerateResult]:
            async with AsyncClient() as client:
                calls = (
                    client.generate(
                        model="sim-tools", prompt=f"Weather {number}?", tools=[get_weather], timeout=TIMEOUT
                    )
                    for number in range(20)
                )
                return await asyncio.gather(*calls)

        results = asyncio.run(run())
        self.assertEqual([result.stop_reason for result in results], ["completed"] * 20)

    def test_no_call_is_lost_answered_twice_or_run_twice_whatever_tools_do(self) -> None:
        logging.getLogger("outrigger_client").setLevel(logging.CRITICAL)
        self.addCleanup(logging.getLogger("outrigger_client").setLevel, logging.NOTSET)
        choices = random.Random(7)

        async def run_one(client: AsyncClient) -> None:
            runs: list[str] = []

            @tool
            async def act(context: ToolContext) -> str:
                """Does something else each time."""
                runs.append(context.tool_call_id)
                await asyncio.sleep(choices.random() * 0.05)
                match choices.randrange(6):
                    case 0:
                        raise ToolError("it failed")
                    case 1:
                        raise ToolRefused("it was refused")
                    case 2:
                        raise ValueError("it broke")
                    case 3:
                        await asyncio.sleep(PROMPTLY)
                return context.tool_call_id

            result = await client.generate(
                model="sim-tools:calls=4,rounds=3",
                prompt="Act!",
                tools=[act],
                max_tool_rounds=3,
                tool_timeout=0.3,
                timeout=TIMEOUT,
            )
            called = [call.id for step in result.steps for call in step.tool_calls]
            answered = [entry.tool_call_id for step in result.steps for entry in step.tool_results]
            self.assertEqual((len(called), result.stop_reason), (12, "completed"))
            self.assertEqual(answered, called)
            self.assertEqual(len(runs), len(set(runs)))
            for step in result.steps:
                for entry in step.tool_results:
                    # On a busy machine the time of a call may be over before it has begun.
                    if not entry.failed:
                        self.assertEqual(entry.content[0].text, entry.tool_call_id)
                        self.assertIn(entry.tool_call_id, runs)

        async def run() -> None:
            async with AsyncClient() as client:
                await asyncio.gather(*(run_one(client) for _ in range(12)))

        asyncio.run(run())


class ArgumentsTest(unittest.TestCase):
    """Arguments that the model wrote reach the function as what its hints say."""

    def test_a_schema_of_nested_types_is_understood_on_both_sides(self) -> None:
        received: list[tuple[Person, Owner, list[Color]]] = []

        @tool
        def register(person: Person, owner: Owner, colors: list[Color], limit: int | None = None) -> str:
            """Registers a person."""
            received.append((person, owner, colors))
            return "registered"

        with Client() as client:
            for provider in PROVIDERS:
                result = client.generate(
                    model="sim-tools",
                    provider=provider,
                    prompt="Register!",
                    tools=[register],
                    timeout=TIMEOUT,
                )
                self.assertEqual(texts_of(result.steps[0]), ["registered"])
        self.assertEqual(len(received), len(PROVIDERS))
        for person, owner, colors in received:
            self.assertIsInstance(person, Person)
            self.assertIsInstance(person.address.street, str)
            self.assertIsInstance(owner, Owner)
            self.assertTrue(all(isinstance(color, Color) for color in colors))

    def test_the_arguments_of_a_call_are_kept_as_the_model_wrote_them(self) -> None:
        with Client() as client:
            result = client.generate(
                model="sim-tools", prompt="Weather in Oslo?", tools=[get_weather], timeout=TIMEOUT
            )
        self.assertEqual(json.loads(result.steps[0].tool_calls[0].arguments_json), {"city": "Oslo"})
