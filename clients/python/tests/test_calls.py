"""Single calls of a model, over a real sidecar with the simulator behind it."""

from __future__ import annotations

import asyncio
import json
import os
import threading
import time
import unittest
from pathlib import Path

import grpc

import outrigger_client
from outrigger_client import (
    AbortError,
    AsyncClient,
    AuthenticationError,
    Client,
    ConfigurationError,
    InvalidRequestError,
    NetworkError,
    NotFoundError,
    OutriggerError,
    QuotaExceededError,
    RateLimitError,
    Request,
    RequestTimeoutError,
    ServerError,
    StreamError,
    developer_message,
    image_part,
    reasoning_of,
    text_of,
    text_part,
    tool_calls_of,
    user_message,
)

# A generous bound, in seconds, for what happens at once: the machine may be busy.
PROMPTLY = 10
TIMEOUT = 30
# An answer that takes far longer than any test waits.
LONG = "sim-long:tokens=1000,rate=20"


def ask(model: str, text: str = "Hello?") -> Request:
    return Request(model=model, messages=[user_message(text)])


@unittest.skipUnless(
    "OUTRIGGER_TLS_ADDR" in os.environ, "OUTRIGGER_TLS_ADDR does not name a sidecar with TLS"
)
class TlsTest(unittest.IsolatedAsyncioTestCase):
    """A sidecar that asks for certificates: `ca.crt`, `client.crt` and `client.key` in a folder."""

    def setUp(self) -> None:
        folder = Path(os.environ["OUTRIGGER_TLS_FOLDER"])
        files = ("ca.crt", "client.crt", "client.key")
        self.authority, self.certificate, self.key = ((folder / file).read_bytes() for file in files)
        self.address = os.environ["OUTRIGGER_TLS_ADDR"]

    async def test_both_clients_show_their_certificate(self) -> None:
        credentials = grpc.ssl_channel_credentials(self.authority, self.key, self.certificate)
        with Client(self.address, tls=credentials) as client:
            self.assertTrue(text_of(client.complete(ask("sim-text"), timeout=TIMEOUT)))
        async with AsyncClient(self.address, tls=credentials) as client:
            self.assertTrue(text_of(await client.complete(ask("sim-text"), timeout=TIMEOUT)))

    def test_a_caller_without_a_certificate_is_refused(self) -> None:
        credentials = grpc.ssl_channel_credentials(self.authority)
        with Client(self.address, tls=credentials) as client, self.assertRaises(NetworkError):
            client.complete(ask("sim-text"), timeout=TIMEOUT)


class CallTest(unittest.IsolatedAsyncioTestCase):
    """Complete and Stream, with both clients."""

    def setUp(self) -> None:
        self.client = Client()
        self.addCleanup(self.client.close)

    async def asyncSetUp(self) -> None:
        self.async_client = AsyncClient()
        self.addAsyncCleanup(self.async_client.close)

    async def test_a_stream_gives_the_response_of_a_whole_answer(self) -> None:
        request = ask("sim-reasoning", "Think!")
        whole = self.client.complete(request, timeout=TIMEOUT)
        streamed = self.client.stream(request, timeout=TIMEOUT).result()
        later = await self.async_client.stream(request, timeout=TIMEOUT).result()
        self.assertEqual(text_of(streamed), text_of(whole))
        self.assertEqual(text_of(later), text_of(await self.async_client.complete(request)))
        self.assertEqual(streamed.usage, whole.usage)

    async def test_the_answer_of_the_provider_can_be_had_as_it_was(self) -> None:
        request = Request(model="sim-echo", messages=[developer_message("Hello")], include_raw=True)
        with Client() as client:
            raw = client.complete(request, timeout=TIMEOUT).raw_json
        async with AsyncClient() as other:
            again = await other.complete(request, timeout=TIMEOUT)
        self.assertEqual(json.loads(raw)["object"], "response")
        self.assertEqual(json.loads(again.raw_json)["object"], "response")
        self.assertEqual((reasoning_of(again), list(tool_calls_of(again))), ("", []))

    async def test_the_text_of_a_stream_adds_up_to_that_of_the_response(self) -> None:
        stream = self.client.stream(ask("sim-text"), timeout=TIMEOUT)
        self.assertEqual("".join(stream.text()), text_of(stream.result()))
        later = self.async_client.stream(ask("sim-text"), timeout=TIMEOUT)
        self.assertEqual("".join([text async for text in later.text()]), text_of(await later.result()))

    async def test_each_kind_of_failure_is_an_error_of_its_class(self) -> None:
        for faults, expected in (
            ("status=429,retry_after=2", RateLimitError),
            ("status=429,code=insufficient_quota", QuotaExceededError),
            ("status=401", AuthenticationError),
            ("status=500", ServerError),
            ("drop=1", NetworkError),
            ("cut_events=5", StreamError),
        ):
            with self.subTest(faults=faults):
                with self.assertRaises(expected) as caught:
                    self.client.stream(ask(f"sim-text:{faults}"), timeout=TIMEOUT).result()
                self.assertEqual(caught.exception.output_started, expected is StreamError)
                with self.assertRaises(expected):
                    await self.async_client.stream(ask(f"sim-text:{faults}"), timeout=TIMEOUT).result()
        with self.assertRaises(NotFoundError):
            self.client.complete(ask("no-such-model"), timeout=TIMEOUT)

    async def test_a_rate_limit_says_when_to_come_back(self) -> None:
        with self.assertRaises(RateLimitError) as caught:
            self.client.complete(ask("sim-text:status=429,retry_after=2"), timeout=TIMEOUT)
        self.assertEqual((caught.exception.retryable, caught.exception.retry_after), (True, 2.0))
        self.assertEqual((caught.exception.provider, caught.exception.http_status_code), ("openai", 429))

    async def test_an_invalid_request_names_its_field(self) -> None:
        with self.assertRaises(InvalidRequestError) as caught:
            await self.async_client.complete(Request(model="sim-text"), timeout=TIMEOUT)
        self.assertEqual([violation.field for violation in caught.exception.field_violations], ["messages"])

    async def test_a_stream_that_fails_yields_its_error_event_and_raises(self) -> None:
        kinds = []
        with self.assertRaises(ServerError):
            for event in self.client.stream(ask("sim-text:error_after=5"), timeout=TIMEOUT):
                kinds.append(event.WhichOneof("event"))
        self.assertEqual((kinds[0], kinds[-1]), ("stream_start", "error"))

    async def test_a_deadline_ends_a_call_in_time(self) -> None:
        started = time.monotonic()
        with self.assertRaises(RequestTimeoutError):
            self.client.complete(ask(LONG), timeout=0.3)
        with self.assertRaises(RequestTimeoutError):
            await self.async_client.complete(ask(LONG), timeout=0.3)
        self.assertLess(time.monotonic() - started, PROMPTLY)

    async def test_leaving_a_stream_ends_its_call(self) -> None:
        stream = self.client.stream(ask(LONG))
        for text in stream.text():
            self.assertTrue(text)
            break
        with self.assertRaises(AbortError):
            stream.result()
        with self.client.stream(ask(LONG)) as left:
            pass
        with self.assertRaises(AbortError):
            left.result()

    async def test_cancelling_a_stream_raises_where_it_is_read(self) -> None:
        stream = self.client.stream(ask(LONG))
        threading.Timer(0.2, stream.cancel).start()
        with self.assertRaises(AbortError):
            stream.result()
        later = self.async_client.stream(ask(LONG))
        asyncio.get_running_loop().call_later(0.2, later.cancel)
        with self.assertRaises(AbortError):
            await later.result()

    async def test_cancelling_a_task_cancels_its_call(self) -> None:
        task = asyncio.create_task(self.async_client.complete(ask(LONG)))
        await asyncio.sleep(0.2)
        task.cancel()
        with self.assertRaises(asyncio.CancelledError):
            await task

    async def test_one_client_serves_many_threads_and_tasks(self) -> None:
        answers = await asyncio.gather(
            *(asyncio.to_thread(self.client.complete, ask("sim-echo", f"sync {n}")) for n in range(8)),
            *(self.async_client.complete(ask("sim-echo", f"async {n}")) for n in range(8)),
        )
        expected = [f"sync {n}" for n in range(8)] + [f"async {n}" for n in range(8)]
        self.assertEqual([text_of(answer) for answer in answers], expected)

    async def test_messages_over_four_mebibytes_pass(self) -> None:
        image = image_part(bytes(6 << 20), media_type="image/png")
        request = Request(model="sim-text", messages=[user_message([text_part("What is it?"), image])])
        try:
            self.client.complete(request, timeout=TIMEOUT)
        except OutriggerError as error:
            self.fail(f"a large request was refused: {error}")

    async def test_a_closed_client_makes_no_call(self) -> None:
        self.client.close()
        with self.assertRaises(ConfigurationError):
            self.client.complete(ask("sim-text"))


class VersionTest(unittest.TestCase):
    """What identifies the package."""

    def test_the_installed_package_has_the_version_of_its_metadata(self) -> None:
        from importlib.metadata import version

        self.assertEqual(version("outrigger-client"), outrigger_client.__version__)
