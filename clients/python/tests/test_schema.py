"""JSON Schema from type hints, and values as what the hints say."""

from __future__ import annotations

import datetime
import enum
import unittest
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, NewType, Optional, TypedDict, Union

import pydantic
from typing_extensions import NotRequired

from outrigger_client.schema import MismatchError, root_schema, shape_of


class Color(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


@dataclass
class Address:
    """Where somebody lives."""

    street: Annotated[str, "Street and number"]
    zip: str = "0000"


@dataclass
class Person:
    name: str
    address: Address
    tags: list[str] = field(default_factory=list)


@dataclass
class Node:
    value: int
    children: list[Node]


class Movie(TypedDict):
    title: str
    year: int


class Draft(TypedDict, total=False):
    title: str


class Mixed(TypedDict):
    a: int
    b: NotRequired[str]


class Pet(pydantic.BaseModel):
    name: str = pydantic.Field(description="What it listens to")
    age: int = pydantic.Field(ge=0)


class Owner(pydantic.BaseModel):
    pets: list[Pet]


UserId = NewType("UserId", int)

SCHEMAS: Sequence[tuple[Any, dict[str, Any]]] = [
    (str, {"type": "string"}),
    (int, {"type": "integer"}),
    (float, {"type": "number"}),
    (bool, {"type": "boolean"}),
    (None, {"type": "null"}),
    (Any, {}),
    (UserId, {"type": "integer"}),
    (list[int], {"type": "array", "items": {"type": "integer"}}),
    (list, {"type": "array", "items": {}}),
    (Sequence[str], {"type": "array", "items": {"type": "string"}}),
    (set[str], {"type": "array", "items": {"type": "string"}, "uniqueItems": True}),
    (tuple[int, ...], {"type": "array", "items": {"type": "integer"}}),
    (
        tuple[int, str],
        {
            "type": "array",
            "prefixItems": [{"type": "integer"}, {"type": "string"}],
            "minItems": 2,
            "maxItems": 2,
        },
    ),
    (dict[str, int], {"type": "object", "additionalProperties": {"type": "integer"}}),
    (dict, {"type": "object", "additionalProperties": True}),
    (Mapping[str, Any], {"type": "object", "additionalProperties": True}),
    (Optional[str], {"anyOf": [{"type": "string"}, {"type": "null"}]}),  # noqa: UP045
    (int | str, {"anyOf": [{"type": "integer"}, {"type": "string"}]}),
    (Union[int, None], {"anyOf": [{"type": "integer"}, {"type": "null"}]}),  # noqa: UP007
    (Literal["a", "b"], {"type": "string", "enum": ["a", "b"]}),
    (Literal[1, "b"], {"enum": [1, "b"]}),
    (Color, {"type": "string", "enum": ["red", "blue"]}),
    (Level, {"type": "integer", "enum": [1, 2]}),
    (datetime.date, {"type": "string", "format": "date"}),
    (uuid.UUID, {"type": "string", "format": "uuid"}),
    (Annotated[int, "How many"], {"type": "integer", "description": "How many"}),
    (Annotated[int, ["no", "text"]], {"type": "integer"}),
    (
        Address,
        {
            "type": "object",
            "description": "Where somebody lives.",
            "properties": {
                "street": {"type": "string", "description": "Street and number"},
                "zip": {"type": "string", "default": "0000"},
            },
            "required": ["street"],
            "additionalProperties": False,
        },
    ),
    (
        Movie,
        {
            "type": "object",
            "properties": {"title": {"type": "string"}, "year": {"type": "integer"}},
            "required": ["title", "year"],
            "additionalProperties": False,
        },
    ),
    (
        Draft,
        {
            "type": "object",
            "properties": {"title": {"type": "string"}},
            "required": [],
            "additionalProperties": False,
        },
    ),
]

DECODED: Sequence[tuple[Any, Any, Any]] = [
    (str, "a", "a"),
    (int, 3, 3),
    (int, 3.0, 3),
    (float, 3, 3.0),
    (bool, True, True),
    (None, None, None),
    (Any, {"a": [1]}, {"a": [1]}),
    (list[float], [1, 2.5], [1.0, 2.5]),
    (set[str], ["a", "a"], {"a"}),
    (tuple[int, str], [1, "a"], (1, "a")),
    (dict[str, Color], {"a": "red"}, {"a": Color.RED}),
    (int | str, "1", "1"),
    (Optional[Color], None, None),  # noqa: UP045
    (Level, 2, Level.HIGH),
    (Literal["a", 1], 1, 1),
    (
        datetime.datetime,
        "2026-01-02T03:04:05Z",
        datetime.datetime(2026, 1, 2, 3, 4, 5, tzinfo=datetime.timezone.utc),
    ),
    (datetime.date, "2026-01-02", datetime.date(2026, 1, 2)),
    (Person, {"name": "Ann", "address": {"street": "A 1"}}, Person("Ann", Address("A 1"))),
    (Movie, {"title": "Alien", "year": 1979}, {"title": "Alien", "year": 1979}),
    (Node, {"value": 1, "children": [{"value": 2, "children": []}]}, Node(1, [Node(2, [])])),
    (Owner, {"pets": [{"name": "Rex", "age": 3}]}, Owner(pets=[Pet(name="Rex", age=3)])),
]

MISMATCHES: Sequence[tuple[Any, Any, str]] = [
    (str, 1, "/: expected a string, found an integer"),
    (int, "1", "/: expected an integer, found a string"),
    (int, 1.5, "/: expected an integer, found a number"),
    (int, True, "/: expected an integer, found a boolean"),
    (float, False, "/: expected a number, found a boolean"),
    (bool, 1, "/: expected a boolean, found an integer"),
    (Color, "green", "/: expected one of 'red', 'blue'"),
    (Literal[1], True, "/: expected one of 1"),
    (list[int], [1, None], "/1: expected an integer, found null"),
    (tuple[int, int], [1], "/: expected 2 items, found 1"),
    (datetime.date, "soon", "/: expected a date: Invalid isoformat string: 'soon'"),
    (Person, {"name": "Ann", "address": {}}, "/address/street: required, but missing"),
    (Person, {"name": "Ann", "address": {"street": "A"}, "age": 3}, "/age: unknown property"),
    (
        int | Color,
        "green",
        "/: matches none of 2 types: /: expected an integer, found a string; /: expected one of 'red', 'blue'",
    ),
]


class SchemaTest(unittest.TestCase):
    """Each type hint has its schema, and decodes what the schema allows."""

    def test_each_hint_has_its_schema(self) -> None:
        for hint, expected in SCHEMAS:
            with self.subTest(hint=hint):
                self.assertEqual(root_schema(shape_of(hint)), expected)

    def test_values_become_what_the_hints_say(self) -> None:
        for hint, value, expected in DECODED:
            with self.subTest(hint=hint, value=value):
                decoded = shape_of(hint).decode(value, "")
                self.assertEqual(decoded, expected)
                self.assertIs(type(decoded), type(expected))

    def test_a_value_that_does_not_match_is_named_by_its_path(self) -> None:
        for hint, value, expected in MISMATCHES:
            with self.subTest(hint=hint, value=value):
                with self.assertRaises(MismatchError) as caught:
                    shape_of(hint).decode(value, "")
                self.assertEqual(str(caught.exception), expected)

    def test_a_dataclass_in_another_one_is_written_in_place(self) -> None:
        schema = root_schema(shape_of(Person))
        self.assertNotIn("$defs", schema)
        self.assertEqual(schema["properties"]["address"]["required"], ["street"])

    def test_a_type_that_contains_itself_is_a_definition(self) -> None:
        schema = root_schema(shape_of(Node))
        self.assertEqual(schema["type"], "object")
        self.assertEqual(schema["properties"]["children"]["items"], {"$ref": "#/$defs/Node"})
        self.assertEqual(schema["$defs"]["Node"]["properties"], schema["properties"])

    def test_the_definitions_of_a_nested_model_move_to_the_root(self) -> None:
        schema = root_schema(shape_of(list[Owner]))
        self.assertEqual(schema["items"]["properties"]["pets"]["items"], {"$ref": "#/$defs/Pet"})
        self.assertEqual(schema["$defs"]["Pet"]["properties"]["name"]["description"], "What it listens to")

    def test_a_model_checks_its_own_constraints(self) -> None:
        with self.assertRaises(MismatchError) as caught:
            shape_of(dict[str, list[Pet]]).decode({"pets": [{"age": -1}]}, "")
        self.assertEqual(
            str(caught.exception),
            "/pets/0/name: Field required; /pets/0/age: Input should be greater than or equal to 0",
        )

    def test_a_hint_that_cannot_be_resolved_is_named(self) -> None:
        @dataclass
        class Broken:
            value: Missing  # type: ignore[name-defined]  # noqa: F821

        with self.assertRaisesRegex(TypeError, "Broken cannot be resolved: name 'Missing' is not defined"):
            shape_of(Broken)

    def test_a_member_of_a_typed_dict_may_be_marked_as_optional(self) -> None:
        schema = root_schema(shape_of(Mixed))
        self.assertEqual(schema["required"], ["a"])
        self.assertEqual(schema["properties"]["b"], {"type": "string"})

    def test_a_type_without_a_form_in_json_is_refused(self) -> None:
        for hint in (bytes, complex, object(), dict[int, str]):
            with self.subTest(hint=hint), self.assertRaises(TypeError):
                shape_of(hint)
