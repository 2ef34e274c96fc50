"""Runs the checks of a framework at each wire API, and prints their results.

A program defines one function for each check, which takes a `Target`, and passes them to `main`. A function may be
asynchronous. The wire APIs are checked at the same time, and the checks of one in turn.
"""

import asyncio
import inspect
import json
import os
import sys
import traceback
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass

BASE_URL = os.environ["OUTRIGGER_BASE_URL"]
ORIGIN = BASE_URL.removesuffix("/v1")
"""Base URL for clients of other APIs than OpenAI's."""
API_KEY = "any"

API = sys.argv[1] if len(sys.argv) > 1 else "responses"
"""The API that the framework speaks."""

CHECK_TIMEOUT = 60
"""Longest time for one check, in seconds; on a busy machine too."""

QUESTION = "How is the weather in Oslo?"
RESULT = "11 degrees and rain"
NEXT_QUESTION = "And in Paris?"

FAILURES = [
    "reported a failure",
    # Relayed as the simulated provider wrote it.
    "The server had an error while processing your request",
    "Internal server error",
    "An internal error has occurred",
]
"""Words of the messages of failures that a provider reports."""


@dataclass(frozen=True)
class Target:
    """The models of one wire API."""

    api: str
    model: str
    """Reasons, calls tools, and answers with what they returned."""
    bound: str
    """The same, with reasoning that is bound to the conversation before it, if the API has such models."""
    failing: str
    """Reports a failure in the middle of an answer."""
    failing_call: str
    """Writes a sentence, and reports a failure in the middle of it, before its tool call."""
    echo: str
    """Repeats the last message."""
    failing_echo: str
    """Repeats the last message, and reports a failure in the middle."""
    agent: str
    """Makes the calls that the last message writes, and answers with what they returned."""


class Weather:
    """The function of a tool. It counts its calls."""

    def __init__(self) -> None:
        self.calls = 0

    def get_weather(self, city: str) -> str:
        """Returns the weather of a city.

        Args:
            city: The name of the city.
        """
        assert isinstance(city, str) and city, f"the city is {city!r}"
        self.calls += 1
        return RESULT


def check_answer(text: object, weather: Weather, calls: int = 1) -> None:
    """The tool was called, and the model has read what it returned."""
    assert weather.calls == calls, f"the tool was called {weather.calls} times, want {calls}"
    assert isinstance(text, str) and RESULT in text, f"the answer is {text!r}"


def check_deltas(deltas: list[str], text: object) -> None:
    """The text arrived in pieces, and no piece is missing."""
    assert len(deltas) > 2, f"there are {len(deltas)} deltas"
    assert isinstance(text, str) and "".join(deltas) == text, f"the deltas are {''.join(deltas)!r}, want {text!r}"


async def check_failure(deltas: AsyncIterator[object], after_output: bool = True) -> None:
    """The failure reached the program as an exception, after the part of the output that came before it."""
    count = 0
    try:
        async for _ in deltas:
            count += 1
    except Exception as error:
        assert any(words in str(error) for words in FAILURES), f"the exception is {error!r}"
        assert count > 0 or not after_output, f"{error!r} came before the text"
        return
    raise AssertionError("the stream ended as if it were complete")


def main(checks: list[Callable[[Target], object]]) -> None:
    targets = [Target(**each) for each in json.loads(os.environ["OUTRIGGER_TARGETS"])]
    passed = asyncio.run(run_all(targets, checks))
    sys.stdout.flush()
    # Some frameworks leave threads behind that would keep the program alive.
    os._exit(0 if passed else 1)


async def run_all(targets: list[Target], checks: list[Callable[[Target], object]]) -> bool:
    return all(await asyncio.gather(*(run_checks(target, checks) for target in targets)))


async def run_checks(target: Target, checks: list[Callable[[Target], object]]) -> bool:
    return all([await run(f"{target.api}/{check.__name__}", check, target) for check in checks])


async def run(name: str, check: Callable[[Target], object], target: Target) -> bool:
    try:
        if inspect.iscoroutinefunction(check):
            await asyncio.wait_for(check(target), CHECK_TIMEOUT)
        else:
            await asyncio.wait_for(asyncio.to_thread(check, target), CHECK_TIMEOUT)
    except Exception as error:
        traceback.print_exc()
        print(f"FAIL {name}: {type(error).__name__}: {' '.join(str(error).split())[:1000]}", flush=True)
        return False
    print(f"ok {name}", flush=True)
    return True
