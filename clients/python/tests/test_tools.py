"""Functions as tools: what the model is told, and how arguments and results are converted."""

from __future__ import annotations

import json
import tempfile
import unittest
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import pydantic

from outrigger_client import (
    ContentPart,
    ToolContext,
    ToolDefinition,
    ToolError,
    audio_part,
    custom_tool,
    document_part,
    image_part,
    tool,
)
from outrigger_client.tools import tool_set
from outrigger_client.v1.message_pb2 import ToolCall
from outrigger_client.v1.tool_pb2 import FunctionTool, HostedTool
from outrigger_client.values import content_of, json_of


@dataclass
class Place:
    city: str
    country: str = "NO"


class Query(pydantic.BaseModel):
    text: str
    limit: int = 10


@tool
def get_weather(place: Place, days: Annotated[int, "How many days ahead"] = 1, unit: str = "C") -> str:
    """Forecasts the weather.

    Only for cities.

    Args:
        place: Where
            exactly.
        unit (str): C or F.

    Returns:
        A sentence.
    """
    return f"{place.city}/{place.country} {days} {unit}"


@tool
def search(query: Query, context: ToolContext) -> dict[str, Any]:
    """Searches."""
    return {"text": query.text, "limit": query.limit, "id": context.tool_call_id}


def context_of(tool_call: ToolCall) -> ToolContext:
    return ToolContext(tool_call, step=1, messages=(), timeout=None)


def run(function: Any, arguments: object) -> Any:
    call = ToolCall(id="c1", name=function.name, arguments_json=json.dumps(arguments))
    return function.run(call, context_of(call))


class ToolTest(unittest.TestCase):
    """A function and its signature are all that a tool needs."""

    def test_a_docstring_describes_the_tool_and_its_parameters(self) -> None:
        definition = get_weather.definition.function
        properties = json.loads(definition.parameters_json)["properties"]
        self.assertEqual(definition.name, "get_weather")
        self.assertEqual(definition.description, "Forecasts the weather.\n\nOnly for cities.")
        self.assertEqual(properties["place"]["description"], "Where exactly.")
        self.assertEqual(
            properties["days"], {"type": "integer", "description": "How many days ahead", "default": 1}
        )
        self.assertEqual(properties["unit"], {"type": "string", "description": "C or F.", "default": "C"})

    def test_a_parameter_with_a_default_is_optional(self) -> None:
        self.assertEqual(json.loads(get_weather.definition.function.parameters_json)["required"], ["place"])
        self.assertEqual(run(get_weather, {"place": {"city": "Oslo"}}), "Oslo/NO 1 C")

    def test_the_context_is_hidden_from_the_model_and_injected(self) -> None:
        properties = json.loads(search.definition.function.parameters_json)["properties"]
        self.assertEqual(list(properties), ["query"])
        self.assertEqual(run(search, {"query": {"text": "x"}}), {"text": "x", "limit": 10, "id": "c1"})

    def test_a_tool_can_still_be_called_as_a_function(self) -> None:
        self.assertEqual(get_weather(Place("Oslo"), unit="F"), "Oslo/NO 1 F")

    def test_a_tool_without_parameters_accepts_no_arguments_at_all(self) -> None:
        @tool(name="now", description="The time.", strict=True)
        def current_time() -> str:
            return "noon"

        definition = current_time.definition.function
        self.assertEqual(
            (definition.name, definition.description, definition.strict), ("now", "The time.", True)
        )
        self.assertEqual(current_time.run(ToolCall(name="now"), context_of(ToolCall())), "noon")

    def test_arguments_that_do_not_fit_the_hints_are_an_error_for_the_model(self) -> None:
        cases: list[tuple[object, str]] = [
            ({}, "invalid arguments: /place: required, but missing"),
            ({"place": {"city": 1}}, "invalid arguments: /place/city: expected a string, found an integer"),
            ([], "invalid arguments: /: expected an object, found an array"),
        ]
        for arguments, expected in cases:
            with self.subTest(arguments=arguments):
                with self.assertRaises(ToolError) as caught:
                    run(get_weather, arguments)
                self.assertEqual(str(caught.exception), expected)

    def test_arguments_that_are_no_json_are_an_error_for_the_model(self) -> None:
        with self.assertRaisesRegex(ToolError, "not valid JSON"):
            get_weather.run(ToolCall(arguments_json="{"), context_of(ToolCall()))

    def test_a_custom_tool_takes_free_text_also_where_it_comes_as_an_argument(self) -> None:
        @custom_tool(description="Runs SQL.")
        def run_sql(statement: str) -> str:
            return statement.upper()

        self.assertEqual(run_sql.definition.custom.name, "run_sql")
        self.assertEqual(run_sql.run(ToolCall(text="select 1"), context_of(ToolCall())), "SELECT 1")
        self.assertEqual(run(run_sql, {"input": "select 2"}), "SELECT 2")

    def test_functions_that_cannot_be_described_are_refused_with_the_reason(self) -> None:
        def without_hint(city) -> str:  # type: ignore[no-untyped-def]
            return str(city)

        def with_rest(*cities: str) -> str:
            return str(cities)

        def with_bytes(data: bytes) -> str:
            return str(data)

        for function, reason in (
            (without_hint, "city has no type hint"),
            (with_rest, r"cannot have the parameter \*cities"),
            (with_bytes, "data: .* has no form in JSON Schema"),
        ):
            with self.subTest(reason=reason), self.assertRaisesRegex(TypeError, reason):
                tool(function)

    def test_tools_are_sorted_into_executable_and_passive_ones(self) -> None:
        def plain(text: str) -> str:
            return text

        passive = ToolDefinition(function=FunctionTool(name="ask_user"))
        hosted = ToolDefinition(hosted=HostedTool(provider="openai", config_json='{"type":"web_search"}'))
        tools = tool_set([get_weather, plain, passive, hosted])
        self.assertEqual(list(tools.executable), ["get_weather", "plain"])
        self.assertEqual(tools.passive_names, ["ask_user"])
        self.assertEqual(len(tools.definitions), 4)

    def test_two_tools_of_one_name_are_refused(self) -> None:
        with self.assertRaisesRegex(ValueError, "two tools are named 'search'"):
            tool_set([search, search])


class ValueTest(unittest.TestCase):
    """What a tool returns becomes the content of its result."""

    def test_media_of_files_are_read_here(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "chart.png"
            path.write_bytes(b"pixel")
            image = image_part(path).image
            self.assertEqual((image.data, image.media_type), (b"pixel", "image/png"))
            self.assertEqual(image_part(path, media_type="image/webp").image.media_type, "image/webp")
            document = document_part(path).document
            self.assertEqual((document.data, document.file_name), (b"pixel", "chart.png"))
            self.assertEqual(audio_part(Path(folder) / "chart.png").audio.data, b"pixel")

    def test_texts_and_parts_stay_what_they_are(self) -> None:
        image = image_part("https://example.com/a.png")
        self.assertEqual(content_of("a"), [ContentPart(text="a")])
        self.assertEqual(content_of(image), [image])
        self.assertEqual(content_of([image, image]), [image, image])

    def test_other_values_become_json(self) -> None:
        cases: list[tuple[object, str]] = [
            (None, "null"),
            (1.5, "1.5"),
            ([], "[]"),
            ({"a": [True, "å"]}, '{"a":[true,"å"]}'),
            (Place("Oslo"), '{"city":"Oslo","country":"NO"}'),
            ([Query(text="x")], '[{"text":"x","limit":10}]'),
        ]
        for value, expected in cases:
            with self.subTest(value=value):
                self.assertEqual(json_of(value), expected)

    def test_values_without_a_form_in_json_are_refused(self) -> None:
        for value in (object(), float("nan"), b"bytes", 1j):
            with self.subTest(value=value), self.assertRaises((TypeError, ValueError)):
                json_of(value)
