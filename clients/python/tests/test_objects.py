"""Objects, over a real sidecar with the simulator behind it."""

from __future__ import annotations

import asyncio
import unittest
from dataclasses import dataclass
from typing import Annotated, Any, Literal, TypedDict

import pydantic

from outrigger_client import (
    AbortError,
    AsyncClient,
    Client,
    InvalidRequestError,
    NoObjectGeneratedError,
    ObjectResult,
    ToolDefinition,
)
from outrigger_client.v1.tool_pb2 import HostedTool

TIMEOUT = 30
PROVIDERS = ("openai", "anthropic", "gemini", "compatible")


@dataclass
class Sailor:
    """A sailor."""

    name: str
    rank: Literal["captain", "mate"]
    knots: Annotated[list[str], "Knots that they can tie"]


class Boat(TypedDict):
    name: str
    crew: list[str]


class Harbour(pydantic.BaseModel):
    # Servers that enforce schemas by OpenAI's rules want objects to be closed.
    model_config = pydantic.ConfigDict(extra="forbid")

    name: str
    berths: int


class Impossible(pydantic.BaseModel):
    name: str

    @pydantic.field_validator("name")
    @classmethod
    def refuse(cls, name: str) -> str:
        """A rule that JSON Schema does not know."""
        raise ValueError("no name is good enough")


class ObjectTest(unittest.TestCase):
    """GenerateObject and StreamObject, with both clients."""

    def setUp(self) -> None:
        self.client = Client()
        self.addCleanup(self.client.close)

    def generate(self, schema: Any, **arguments: Any) -> ObjectResult[Any]:
        arguments = {"model": "sim-text", "prompt": "Invent one!", "timeout": TIMEOUT, **arguments}
        return self.client.generate_object(schema=schema, **arguments)

    def test_the_output_has_the_type_of_the_schema(self) -> None:
        for schema, expected in ((Sailor, Sailor), (Boat, dict), (Harbour, Harbour)):
            for provider in PROVIDERS:
                with self.subTest(schema=schema, provider=provider):
                    result = self.generate(schema, provider=provider)
                    self.assertIsInstance(result.output, expected)
                    self.assertEqual(result.stop_reason, "completed")
        self.assertIn(self.generate(Sailor).output.rank, ("captain", "mate"))

    def test_a_json_schema_gives_plain_values(self) -> None:
        schema = {"type": "object", "properties": {"depth": {"type": "integer"}}, "required": ["depth"]}
        self.assertIsInstance(self.generate(schema).output["depth"], int)

    def test_each_strategy_makes_the_model_write_the_object(self) -> None:
        for strategy in ("native", "tool"):
            with self.subTest(strategy=strategy):
                self.assertIsInstance(self.generate(Sailor, strategy=strategy, name="sailor").output, Sailor)

    def test_an_answer_that_is_cut_off_is_no_object(self) -> None:
        with self.assertRaises(NoObjectGeneratedError) as caught:
            self.generate(Sailor, model="sim-text:stop=length")
        self.assertTrue(caught.exception.violations)
        self.assertIn("{", caught.exception.text)
        self.assertIsNotNone(caught.exception.usage)

    def test_an_object_that_its_own_type_rejects_is_no_object(self) -> None:
        with self.assertRaises(NoObjectGeneratedError) as caught:
            self.generate(Impossible)
        self.assertEqual(caught.exception.violations, ("/name: Value error, no name is good enough",))
        self.assertIn('"name"', caught.exception.text)
        self.assertIsNotNone(caught.exception.usage)

    def test_a_schema_that_is_invalid_is_refused(self) -> None:
        with self.assertRaises(InvalidRequestError):
            self.generate({"type": "no such type"})

    def test_a_stream_yields_the_object_while_it_grows(self) -> None:
        stream = self.client.stream_object(
            model="sim-text", prompt="Invent one!", schema=Boat, timeout=TIMEOUT
        )
        partial = list(stream)
        output = stream.result().output
        self.assertTrue(partial)
        for value in partial:
            self.assertLessEqual(value.keys(), output.keys())
        self.assertEqual(list(partial[-1]), list(output))

    def test_leaving_a_stream_ends_it(self) -> None:
        stream = self.client.stream_object(model="sim-text:rate=20", prompt="Invent one!", schema=Boat)
        for _ in stream:
            break
        with self.assertRaises(AbortError):
            stream.result()

    def test_the_asynchronous_client_gives_the_same(self) -> None:
        async def run() -> tuple[Sailor, Sailor, int]:
            async with AsyncClient() as client:
                arguments: Any = {"model": "sim-text", "prompt": "Invent one!", "timeout": TIMEOUT}
                whole = await client.generate_object(schema=Sailor, **arguments)
                stream = client.stream_object(schema=Sailor, **arguments)
                count = len([partial async for partial in stream])
                return whole.output, (await stream.result()).output, count

        whole, streamed, count = asyncio.run(run())
        self.assertIsInstance(whole, Sailor)
        self.assertEqual(whole, streamed)
        self.assertGreater(count, 0)

    def test_a_tool_of_the_provider_can_be_combined_with_an_object(self) -> None:
        search = ToolDefinition(hosted=HostedTool(provider="openai", config_json='{"type":"web_search"}'))
        self.assertIsInstance(self.generate(Sailor, provider="openai", tools=[search]).output, Sailor)
