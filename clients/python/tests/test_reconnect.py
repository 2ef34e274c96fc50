"""A sidecar that is away, and comes back."""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
import time
import unittest
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from outrigger_client import (
    AbortError,
    AsyncClient,
    Client,
    ConfigurationError,
    InvalidRequestError,
    NetworkError,
    Request,
    tool,
    user_message,
)
from tests.fake_sidecar import assistant, fake_sidecar, finished, step_of

# So long that gRPC's default backoff would wait for seconds more.
OUTAGE_SECONDS = 10
# Bounds the time until a client reaches a sidecar that returned. Twice the promise, for busy machines.
RECONNECT_SECONDS = 2

REQUEST = Request(model="sim-echo", messages=[user_message("hello")])


@tool
def act() -> None:
    """Acts."""


def free_address() -> str:
    """An address at which nothing listens."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return f"127.0.0.1:{listener.getsockname()[1]}"


@contextmanager
def real_sidecar(address: str) -> Iterator[None]:
    """Runs `outrigger demo` with the command in OUTRIGGER_COMMAND, which has an argument a line."""
    admin = free_address()
    command = [*os.environ["OUTRIGGER_COMMAND"].split("\n"), "demo"]
    variables = {"OUTRIGGER_LISTEN": address, "OUTRIGGER_ADMIN_LISTEN": admin}
    process = subprocess.Popen(command, env={**os.environ, **variables}, stdout=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + 30
        while not is_ready(f"http://{admin}/readyz"):
            if time.monotonic() > deadline:
                raise AssertionError("the sidecar did not become ready")
            time.sleep(0.02)
        yield
    finally:
        process.kill()
        process.wait()


def is_ready(url: str) -> bool:
    """Whether the sidecar says that it is ready."""
    try:
        with urllib.request.urlopen(url, timeout=5):
            return True
    except (urllib.error.URLError, OSError):
        return False


class ReconnectTest(unittest.IsolatedAsyncioTestCase):
    """How clients find a sidecar again."""

    async def test_a_call_that_finds_no_sidecar_names_its_address(self) -> None:
        address = free_address()
        question = f"is the sidecar running at {address}\\?"
        with Client(address) as client:
            with self.assertRaisesRegex(NetworkError, question):
                client.complete(REQUEST)
            with self.assertRaisesRegex(NetworkError, question):
                client.stream(REQUEST).result()
        async with AsyncClient(address) as other:
            with self.assertRaisesRegex(NetworkError, question):
                await other.complete(REQUEST)
            with self.assertRaisesRegex(NetworkError, question):
                await other.stream(REQUEST).result()

    async def test_a_call_is_made_again_if_the_sidecar_starts_meanwhile(self) -> None:
        address = free_address()
        arguments: Any = {"model": "m", "prompt": "Hi", "tools": [act], "timeout": 30}
        with Client(address) as client:
            with self.assertRaises(NetworkError):
                client.generate(**arguments)
            with fake_sidecar(lambda _: finished(step_of(assistant("here"))), address):
                self.assertEqual(client.generate(**arguments).text, "here")
        address = free_address()
        async with AsyncClient(address) as other:
            with self.assertRaises(NetworkError):
                await other.generate(**arguments)
            with fake_sidecar(lambda _: finished(step_of(assistant("here"))), address):
                self.assertEqual((await other.generate(**arguments)).text, "here")

    @unittest.skipUnless("OUTRIGGER_COMMAND" in os.environ, "OUTRIGGER_COMMAND does not name the program")
    async def test_clients_reach_a_real_sidecar_that_returns(self) -> None:
        address = free_address()
        with Client(address) as client:
            async with AsyncClient(address) as other:
                with real_sidecar(address):
                    client.complete(REQUEST)
                    await other.complete(REQUEST)
                away_until = time.monotonic() + OUTAGE_SECONDS
                while time.monotonic() < away_until:
                    with self.assertRaises(NetworkError):
                        client.complete(REQUEST)
                    with self.assertRaises(NetworkError):
                        await other.complete(REQUEST)
                with real_sidecar(address):
                    await self.reaches(lambda: asyncio.to_thread(client.complete, REQUEST))
                    await self.reaches(lambda: other.complete(REQUEST))

    async def reaches(self, call: Any) -> None:
        """Repeats a call until it reaches the sidecar, which must be soon."""
        returned = time.monotonic()
        while True:
            try:
                await call()
                return
            except NetworkError:
                self.assertLess(time.monotonic() - returned, RECONNECT_SECONDS)


class MisuseTest(unittest.IsolatedAsyncioTestCase):
    """Mistakes that programs make with clients and streams."""

    async def test_a_closed_client_says_that_it_is_closed(self) -> None:
        client = Client(free_address())
        client.close()
        with self.assertRaisesRegex(ConfigurationError, "the client is closed"):
            client.complete(REQUEST)
        with self.assertRaisesRegex(ConfigurationError, "the client is closed"):
            client.stream(REQUEST)
        other = AsyncClient(free_address())
        await other.close()
        with self.assertRaisesRegex(ConfigurationError, "the client is closed"):
            await other.complete(REQUEST)

    async def test_a_stream_that_is_read_twice_says_so(self) -> None:
        with fake_sidecar(lambda _: finished(step_of(assistant("hi")))) as address:
            arguments: Any = {"model": "m", "prompt": "Hi", "tools": [act], "timeout": 30}
            with Client(address) as client:
                stream = client.stream_generate(**arguments)
                self.assertEqual(len(list(stream)), 1)
                with self.assertRaisesRegex(InvalidRequestError, "already read"):
                    list(stream)
                self.assertEqual(stream.result().text, "hi")
            async with AsyncClient(address) as other:
                later = other.stream_generate(**arguments)
                self.assertEqual(len([event async for event in later]), 1)
                with self.assertRaisesRegex(InvalidRequestError, "already read"):
                    [event async for event in later]
                self.assertEqual((await later.result()).text, "hi")

    def test_a_stream_that_was_left_has_no_result(self) -> None:
        def play(peer: Any) -> Iterator[Any]:
            yield from finished(step_of(assistant("hi")), step_of(assistant("hi")))

        with fake_sidecar(play) as address, Client(address) as client:
            with client.stream_generate(model="m", prompt="Hi", tools=[act], timeout=30) as stream:
                next(iter(stream))
            with self.assertRaises(AbortError):
                stream.result()
