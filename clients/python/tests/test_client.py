"""The connection and the arguments of calls, without a sidecar."""

from __future__ import annotations

import os
import tempfile
import unittest
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

import grpc

from outrigger_client import (
    AsyncClient,
    Client,
    GenerateResult,
    GenerationLimits,
    NetworkError,
    Request,
    RetryPolicy,
    __version__,
    document_part,
    image_part,
    text_part,
    tool,
    user_message,
)
from outrigger_client.channel import target_of
from outrigger_client.options import generation_options, object_spec
from outrigger_client.schema import shape_of
from outrigger_client.tools import tool_set
from outrigger_client.v1.generation_service_pb2 import ObjectFormat, RunToolsResponse
from outrigger_client.v1.message_pb2 import ROLE_SYSTEM, ROLE_USER
from outrigger_client.v1.request_pb2 import LOSS_POLICY_REFUSE, STATE_POLICY_TO_TEXT, ToolChoice
from tests.fake_sidecar import Peer, Play, assistant, fake_sidecar, finished, step_of

# Nothing listens there, and no program without privileges can.
CLOSED = "127.0.0.1:1"


@dataclass
class Point:
    x: int


@tool
def act() -> None:
    """Acts."""


def options(**arguments: Any) -> Any:
    return generation_options("m", tool_set(()), **arguments)


class ConnectionTest(unittest.IsolatedAsyncioTestCase):
    """How a client finds the sidecar."""

    def test_the_address_is_the_argument_else_the_variable_else_the_default(self) -> None:
        with mock.patch.dict(os.environ, {"OUTRIGGER_ADDRESS": "sidecar:1"}):
            self.assertEqual(target_of("other:2"), "other:2")
            self.assertEqual(target_of(None), "sidecar:1")
        with mock.patch.dict(os.environ):
            os.environ.pop("OUTRIGGER_ADDRESS", None)
            self.assertEqual(target_of(None), "localhost:6190")

    def test_an_address_with_a_scheme_of_http_is_refused(self) -> None:
        with self.assertRaisesRegex(ValueError, "expected host:port or unix:///path, found 'http://a:1'"):
            Client("http://a:1")

    async def test_a_sidecar_that_does_not_run_is_a_network_error(self) -> None:
        with Client(CLOSED) as client, self.assertRaises(NetworkError) as caught:
            client.complete(Request(model="m"))
        self.assertTrue(caught.exception.retryable)
        self.assertFalse(caught.exception.output_started)
        async with AsyncClient(CLOSED) as other:
            with self.assertRaises(NetworkError):
                await other.complete(Request(model="m"))

    async def test_waiting_for_a_sidecar_that_does_not_run_ends_in_time(self) -> None:
        with Client(CLOSED) as client, self.assertRaisesRegex(NetworkError, r"within 0.1 s"):
            client.wait_until_ready(0.1)
        async with AsyncClient(CLOSED) as other:
            with self.assertRaisesRegex(NetworkError, r"within 0.1 s"):
                await other.wait_until_ready(0.1)


class ChannelTest(unittest.IsolatedAsyncioTestCase):
    """What the channels of both clients have in common, against a server that plays the sidecar's part."""

    async def results(self, play: Play, address: str = "127.0.0.1:0", **options: Any) -> list[GenerateResult]:
        """What each client gets for a play."""
        arguments: Any = {"model": "m", "prompt": "Hi", "tools": [act], "timeout": 30}
        with fake_sidecar(play, address) as target, Client(target, **options) as client:
            first = client.generate(**arguments)
            async with AsyncClient(target) as other:
                return [first, await other.generate(**arguments)]

    async def test_the_access_key_is_sent_with_every_call(self) -> None:
        seen: list[str] = []

        def play(peer: Peer) -> Iterator[RunToolsResponse]:
            metadata = peer.context.invocation_metadata()
            seen.extend(str(value) for name, value in metadata if name == "authorization")
            return finished(step_of(assistant("hi")))

        with mock.patch.dict(os.environ, {"OUTRIGGER_ACCESS_KEY": "of-the-environment"}):
            await self.results(play)
            await self.results(play, access_key="of-the-argument")
        with mock.patch.dict(os.environ):
            os.environ.pop("OUTRIGGER_ACCESS_KEY", None)
            await self.results(play)
        sent = ["Bearer of-the-environment"] * 2 + ["Bearer of-the-argument", "Bearer of-the-environment"]
        self.assertEqual(seen, sent)

    async def test_a_unix_socket_is_an_address(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            found = await self.results(
                lambda _: finished(step_of(assistant("hi"))), f"unix://{folder}/socket"
            )
        self.assertEqual([result.text for result in found], ["hi", "hi"])

    async def test_the_user_agent_names_the_package_and_its_version(self) -> None:
        agents: list[str] = []

        def play(peer: Peer) -> Iterator[RunToolsResponse]:
            agents.extend(
                str(value) for key, value in peer.context.invocation_metadata() if key == "user-agent"
            )
            yield from finished(step_of(assistant("hi")))

        await self.results(play)
        self.assertEqual(len(agents), 2)
        for agent in agents:
            self.assertTrue(agent.startswith(f"outrigger-python/{__version__} "), agent)

    async def test_answers_over_four_mebibytes_arrive(self) -> None:
        text = "x" * (6 << 20)
        found = await self.results(lambda _: finished(step_of(assistant(text))))
        self.assertEqual([len(result.text) for result in found], [len(text)] * 2)

    async def test_interceptors_see_each_call(self) -> None:
        seen: list[str] = []

        class Interceptor(grpc.StreamStreamClientInterceptor):
            def intercept_stream_stream(self, continuation: Any, details: Any, requests: Any) -> Any:
                seen.append(details.method)
                return continuation(details, requests)

        await self.results(lambda _: finished(step_of(assistant("hi"))), interceptors=[Interceptor()])
        self.assertEqual(seen, ["/outrigger.v1.GenerationService/RunTools"])


class ArgumentsTest(unittest.TestCase):
    """Keyword arguments and the message that they become."""

    def test_dictionaries_are_messages(self) -> None:
        parts = [text_part("Look:"), image_part("https://example.com/a.png")]
        found = options(
            messages=[
                {"role": "system", "content": "Be brief."},
                {"role": "user", "content": parts, "name": "ada"},
                user_message("Now."),
            ]
        ).request.messages
        self.assertEqual(list(found[1].content), parts)
        self.assertEqual([message.role for message in found], [ROLE_SYSTEM, ROLE_USER, ROLE_USER])
        self.assertEqual((found[0].content[0].text, found[1].name), ("Be brief.", "ada"))

    def test_a_wrong_dictionary_is_named_with_what_was_expected(self) -> None:
        for message, problem in (
            ({"role": "human", "content": "Hi"}, r"messages\[0\]\.role: expected user, .*found 'human'"),
            ({"role": "user"}, r"messages\[0\]\.content: expected a text .*found NoneType"),
            ({"role": "user", "content": [{"type": "text"}]}, r"messages\[0\]\.content: expected a text"),
            ({"role": "user", "content": "Hi", "text": "x"}, r"messages\[0\]: unexpected text"),
            ("Hi", r"messages\[0\]: expected a Message or a dict, found str"),
        ):
            with self.subTest(message=message), self.assertRaisesRegex((TypeError, ValueError), problem):
                options(messages=[message])

    def test_files_are_parts(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            image, report = Path(folder, "a.png"), Path(folder, "report.pdf")
            image.write_bytes(b"png")
            report.write_bytes(b"pdf")
            part, document = image_part(image).image, document_part(report).document
        self.assertEqual((part.data, part.media_type), (b"png", "image/png"))
        self.assertEqual((document.data, document.media_type), (b"pdf", "application/pdf"))
        self.assertEqual(document.file_name, "report.pdf")

    def test_what_is_left_out_stays_unset(self) -> None:
        found = options(prompt="Hi")
        self.assertFalse(found.HasField("max_tool_rounds"))
        self.assertFalse(found.HasField("retry"))
        self.assertFalse(found.request.HasField("temperature"))
        self.assertFalse(found.request.HasField("tool_choice"))

    def test_zero_is_not_the_same_as_left_out(self) -> None:
        found = options(max_tool_rounds=0, temperature=0)
        self.assertTrue(found.HasField("max_tool_rounds"))
        self.assertTrue(found.request.HasField("temperature"))

    def test_seconds_and_names_become_what_the_contract_has(self) -> None:
        found = options(
            retry=RetryPolicy(base_delay=0.5, jitter=False),
            total_timeout=60,
            step_timeout=1.5,
            limits=GenerationLimits(max_steps=3),
            provider_options={"openai": {"b": 1, "a": [True]}},
            loss_policy="refuse",
            foreign_state="to_text",
            tool_choice=act,
        )
        self.assertEqual(found.retry.base_delay.ToMilliseconds(), 500)
        self.assertTrue(found.retry.HasField("jitter"))
        self.assertEqual(found.timeouts.total.ToSeconds(), 60)
        self.assertEqual(found.timeouts.per_step.ToMilliseconds(), 1500)
        self.assertFalse(found.timeouts.HasField("per_tool"))
        self.assertEqual(found.limits.max_steps, 3)
        self.assertEqual(found.request.provider_options_json["openai"], '{"b":1,"a":[true]}')
        self.assertEqual(found.request.loss_policy, LOSS_POLICY_REFUSE)
        self.assertEqual(found.request.foreign_state, STATE_POLICY_TO_TEXT)
        self.assertEqual(found.request.tool_choice, ToolChoice(mode=ToolChoice.MODE_NAMED, tool_name="act"))

    def test_an_unknown_argument_is_named(self) -> None:
        with self.assertRaisesRegex(TypeError, "unexpected argument temprature"):
            options(temprature=1)

    def test_a_word_that_is_none_of_the_choices_is_refused(self) -> None:
        for arguments in ({"loss_policy": "ignore"}, {"tool_choice": "always"}, {"foreign_state": "x"}):
            with self.subTest(arguments=arguments), self.assertRaises(ValueError):
                options(**arguments)

    def test_the_schema_of_an_object_is_derived_or_given(self) -> None:
        spec = object_spec("m", Point, prompt="Hi", name="point", strategy="tool")
        self.assertIn('"properties":{"x":{"type":"integer"}}', spec.format.schema_json)
        self.assertEqual((spec.format.name, spec.format.strategy), ("point", ObjectFormat.STRATEGY_TOOL))
        self.assertEqual(spec.options.prompt, "Hi")
        given = object_spec("m", {"type": "object"})
        self.assertEqual((given.format.schema_json, given.shape), ('{"type":"object"}', None))

    def test_an_object_is_an_object_and_takes_no_functions(self) -> None:
        self.assertEqual(shape_of(list[int]).schema({})["type"], "array")
        with self.assertRaisesRegex(TypeError, "expected a type whose JSON is an object"):
            object_spec("m", list[int])
        with self.assertRaisesRegex(ValueError, "functions cannot be combined with an object"):
            object_spec("m", Point, tools=[act])  # type: ignore[list-item]
